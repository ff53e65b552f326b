/**
 * GET /v1/tunnel: an HTTP/1.1 connection becomes the carrier of a session. The peer is checked before the upgrade, so that a
 * refusal is an ordinary answer. Only the certificate of the TLS connection counts; where a proxy ends that connection, the
 * edge makes a second one inside the WebSocket, and its certificate is the one that is checked.
 */
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { Carrier } from '../../tunnel/carrier.ts'
import { Refusal } from '../refusal.ts'
import type { HubConnection, OpenConnection, Peer } from '../serving/connection.ts'
import { refusalResponse } from '../serving/http-message.ts'
import type { UpgradeRoute } from '../serving/http-settings.ts'
import { sendBare } from '../serving/http1.ts'
import type { SessionHost } from './session-host.ts'

export const TUNNEL_PATH = '/v1/tunnel'

export interface InnerTls {
  /** Whether the request announces a TLS connection inside the WebSocket. */
  isAskedFor(request: IncomingMessage): boolean
  /** Upgrades, and does the handshake as a server, within a time limit of its own. Rejects where either fails. */
  accept(connection: HubConnection, request: IncomingMessage, head: Buffer): Promise<{ peer: Peer; carrier: Carrier }>
}

export interface TunnelUpgradeOptions {
  readonly host: SessionHost
  /** Answers 101. Throws, before it has answered, where the request is not right; the client is told the message. */
  readonly acceptWebSocket: (request: IncomingMessage, socket: TLSSocket, head: Buffer) => Carrier
  readonly innerTls?: InnerTls
}

export function tunnelUpgrade({ host, acceptWebSocket, innerTls }: TunnelUpgradeOptions): UpgradeRoute {
  return {
    path: TUNNEL_PATH,
    handle: (connection, request, head) => {
      if (innerTls?.isAskedFor(request) === true) return adoptInner(host, innerTls, connection, request, head)
      const { socket } = connection
      return host.whenChecked(connection, {
        accepted: (peer) =>
          host.begin(
            peer,
            connection,
            upgraded(() => acceptWebSocket(request, socket, head)),
          ),
        refused: (refusal) => sendBare(socket, refusalResponse(explained(refusal))),
      })
    },
  }
}

function upgraded(accept: () => Carrier): Carrier {
  try {
    return accept()
  } catch (error) {
    throw new Refusal('bad-request', (error as Error).message, { cause: error })
  }
}

/** Who presents no certificate here has usually met a proxy on the way. */
function explained(refusal: Refusal): Refusal {
  if (refusal.code !== 'certificate-missing') return refusal
  return new Refusal(
    refusal.code,
    `${refusal.message}; where a proxy on the way ends TLS, the certificate gets lost: use causeway edge --inner-tls`,
  )
}

function adoptInner(
  host: SessionHost,
  innerTls: InnerTls,
  connection: HubConnection,
  request: IncomingMessage,
  head: Buffer,
): OpenConnection {
  const { socket } = connection
  let adopted: OpenConnection = { drain: () => socket.destroy() }
  const adopt = async (): Promise<void> => {
    const { peer, carrier } = await innerTls.accept(connection, request, head)
    adopted = host.adopt({ ...connection, peer }, carrier)
  }
  adopt().catch(() => socket.destroy())
  return { drain: () => adopted.drain() }
}
