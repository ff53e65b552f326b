/**
 * GET /v1/tunnel: an HTTP/1.1 connection becomes the carrier of a session. The peer is checked before the upgrade, so that a
 * refusal is an ordinary answer. Only the certificate of the TLS connection counts; where a proxy ends that connection, the
 * edge makes a second one inside the WebSocket, and its certificate is the one that is checked.
 */

import type { IncomingMessage } from 'node:http'
import { HUB_PATHS } from '../../protocol/requests.ts'
import { INNER_TLS_PROTOCOL } from '../../protocol/versions.ts'
import type { Clock } from '../../runtime/clock.ts'
import {
  acceptInnerTls,
  acceptWebSocket,
  requestedProtocol,
  UpgradeRequestError,
} from '../../tunnel/carriers/accept-websocket.ts'
import { SocketCarrier } from '../../tunnel/socket-carrier.ts'
import type { HubConnection, OpenConnection } from '../port/connection.ts'
import { refusalResponse } from '../port/http-message.ts'
import type { UpgradeRoute } from '../port/http-settings.ts'
import { sendBare } from '../port/http1.ts'
import { Refusal } from '../refusal.ts'
import type { InnerTls } from './inner-tls.ts'
import type { SessionHost } from './session-host.ts'

export interface WebsocketSessionsOptions {
  readonly host: SessionHost
  readonly innerTls: InnerTls
  readonly clock: Clock
}

export function websocketSessions(options: WebsocketSessionsOptions): UpgradeRoute {
  const { host, clock } = options
  return {
    path: HUB_PATHS.tunnel,
    handle: (connection, request, head) => {
      const refused = (refusal: Refusal): void => sendBare(connection.socket, refusalResponse(refusal))
      try {
        if (requestedProtocol(request) === INNER_TLS_PROTOCOL) return adoptInner(options, connection, request, head)
      } catch (error) {
        refused(refusalOf(error))
        return { drain: () => connection.socket.destroy() }
      }
      return host.whenChecked(connection, {
        accepted: (peer) => host.begin(peer, connection, upgraded(connection, request, head, clock)),
        refused,
      })
    },
  }
}

function upgraded(
  { socket }: HubConnection,
  request: IncomingMessage,
  head: Buffer,
  clock: Clock,
): ReturnType<typeof acceptWebSocket> {
  try {
    return acceptWebSocket(request, socket, head, clock)
  } catch (error) {
    throw refusalOf(error)
  }
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof UpgradeRequestError) return new Refusal('bad-request', error.message, { cause: error })
  return new Refusal('internal', 'the connection could not be upgraded', { cause: error })
}

function adoptInner(
  { host, innerTls, clock }: WebsocketSessionsOptions,
  outer: HubConnection,
  request: IncomingMessage,
  head: Buffer,
): OpenConnection {
  const stream = acceptInnerTls(request, outer.socket, head, clock)
  let adopted: OpenConnection = { drain: () => stream.destroy() }
  const adopt = async (): Promise<void> => {
    const inner = await innerTls.accept(outer, stream)
    const description = `websocket+tls ${outer.peer.address}:${outer.socket.remotePort}`
    adopted = host.adopt(inner, new SocketCarrier(inner.socket, description))
  }
  adopt().catch(() => outer.socket.destroy())
  return { drain: () => adopted.drain() }
}
