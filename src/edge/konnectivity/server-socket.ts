/** The connection to a stock konnectivity server: mutual TLS, verified by the CA of that server. */
import type { TLSSocket } from 'node:tls'
import { dialTcp } from '../../kube/client/connector.ts'
import type { ListenAddress } from '../../network/listen.ts'
import { secureAsClient } from '../../network/tls/client-tls.ts'
import type { Clock } from '../../runtime/clock.ts'
import { within } from '../../tunnel/carriers/deadline.ts'

/** For the connection and its handshake together. */
const KONNECTIVITY_CONNECT_TIMEOUT_MS = 20_000

/** In PEM. */
export interface ServerTls {
  readonly certificatePem: string
  readonly privateKeyPem: string
  /** Who may sign for the server. */
  readonly caPem: string
}

export interface ServerSocketOptions {
  readonly server: ListenAddress
  readonly tls: ServerTls
  readonly clock: Clock
  readonly signal: AbortSignal
}

export async function connectToServer({ server, tls, clock, signal }: ServerSocketOptions): Promise<TLSSocket> {
  const { host, port } = server
  const { certificatePem, privateKeyPem: keyPem, caPem } = tls
  const late = (): Error => new Error(`no TLS connection within ${KONNECTIVITY_CONNECT_TIMEOUT_MS} ms`)
  return await within({ clock, signal }, KONNECTIVITY_CONNECT_TIMEOUT_MS, late, async (patience) => {
    const socket = await secureAsClient(await dialTcp({ host, port }, patience), {
      host,
      protocols: ['h2'],
      pair: { certificatePem, keyPem },
      verification: { by: 'ca', caPem },
      signal: patience,
    })
    if (socket.alpnProtocol === 'h2') return socket
    socket.destroy()
    throw new Error('the server does not speak HTTP/2 (ALPN h2), so it is no konnectivity server')
  })
}
