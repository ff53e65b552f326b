/** The hub's end of the WebSocket carrier: turns an HTTP upgrade into a carrier, or into bytes for a TLS server within. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { INNER_TLS_PROTOCOL, type TunnelProtocol, WEBSOCKET_PROTOCOL } from '../../protocol/versions.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Carrier } from '../carrier.ts'
import { SocketCarrier } from '../socket-carrier.ts'
import { WEBSOCKET_OPTIONS, WebSocketStream } from './websocket-stream.ts'

/** The request is no WebSocket handshake we understand. Nothing has been sent: the caller answers. */
export class UpgradeRequestError extends Error {
  override readonly name = 'UpgradeRequestError'
  readonly status = 400
}

/** What the client wants to speak: the one of ours that it names first. */
export function requestedProtocol(request: IncomingMessage): TunnelProtocol {
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
  const chosen = offered.find((name) => name === WEBSOCKET_PROTOCOL || name === INNER_TLS_PROTOCOL)
  if (chosen !== undefined) return chosen
  throw new UpgradeRequestError(
    `this path speaks the subprotocols ${WEBSOCKET_PROTOCOL} and ${INNER_TLS_PROTOCOL} only`,
  )
}

/** A carrier for a session. The caller has already found out, from the TLS of `socket`, who the edge is. */
export function acceptWebSocket(request: IncomingMessage, socket: Duplex, head: Buffer, clock: Clock): Carrier {
  const stream = accept(request, socket, head, { protocol: WEBSOCKET_PROTOCOL, clock })
  return new SocketCarrier(stream, `websocket ${remoteOf(request)}`)
}

/**
 * Bytes on which the edge begins a TLS handshake: to be handed to `secureAsServer` (src/network/tls) with the
 * same contexts and checks as the hub's port. The socket that comes out of it belongs in a `SocketCarrier`.
 */
export function acceptInnerTls(request: IncomingMessage, socket: Duplex, head: Buffer, clock: Clock): Duplex {
  return accept(request, socket, head, { protocol: INNER_TLS_PROTOCOL, clock })
}

const servers: Readonly<Record<TunnelProtocol, WebSocketServer>> = {
  [WEBSOCKET_PROTOCOL]: serverFor(WEBSOCKET_PROTOCOL),
  [INNER_TLS_PROTOCOL]: serverFor(INNER_TLS_PROTOCOL),
}

/** A server that holds no connections and listens nowhere: it only knows the handshake. */
function serverFor(protocol: TunnelProtocol): WebSocketServer {
  return new WebSocketServer({
    ...WEBSOCKET_OPTIONS,
    noServer: true,
    clientTracking: false,
    handleProtocols: (offered) => offered.has(protocol) && protocol,
  })
}

function accept(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  { protocol, clock }: { readonly protocol: TunnelProtocol; readonly clock: Clock },
): WebSocketStream {
  const server = servers[protocol]
  let stream: WebSocketStream | undefined
  let fault: Error | undefined
  const onFault = (error: Error): void => {
    fault = error
  }
  // With a listener the library sends no answer of its own. All of this happens before handleUpgrade returns.
  server.on('wsClientError', onFault)
  try {
    server.handleUpgrade(request, socket, head, (webSocket: WebSocket) => {
      stream = new WebSocketStream(webSocket, socket, clock)
    })
  } finally {
    server.off('wsClientError', onFault)
  }
  if (stream !== undefined) return stream
  throw new UpgradeRequestError(fault?.message ?? 'the client has gone')
}

function remoteOf({ socket }: IncomingMessage): string {
  return `${socket.remoteAddress ?? 'unknown'}:${socket.remotePort ?? 0}`
}
