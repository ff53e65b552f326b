/** The connection to a stock konnectivity server: mutual TLS, verified by the CA of that server. */
import { isIP } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import type { ListenAddress } from '../../network/listen.ts'
import type { Clock } from '../../runtime/clock.ts'

/** For the connection and its handshake together. */
export const KONNECTIVITY_CONNECT_TIMEOUT_MS = 20_000

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

export function connectToServer({ server, tls, clock, signal }: ServerSocketOptions): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const { host, port } = server
    const socket = connect({
      host,
      port,
      cert: tls.certificatePem,
      key: tls.privateKeyPem,
      ca: tls.caPem,
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['h2'],
      ...(isIP(host) === 0 && { servername: host }),
    })
    socket.setNoDelay(true)
    const giveUp = (reason: Error): void => {
      socket.destroy(reason)
    }
    const onAbort = (): void => giveUp(signal.reason as Error)
    const cancelTimer = clock.schedule(KONNECTIVITY_CONNECT_TIMEOUT_MS, () =>
      giveUp(new Error(`no TLS connection within ${KONNECTIVITY_CONNECT_TIMEOUT_MS} ms`)),
    )
    const settled = (): void => {
      cancelTimer()
      signal.removeEventListener('abort', onAbort)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    socket.once('secureConnect', () => {
      settled()
      if (socket.alpnProtocol === 'h2') resolve(socket)
      else giveUp(new Error('the server does not speak HTTP/2 (ALPN h2), so it is no konnectivity server'))
    })
    socket.on('error', (error) => {
      settled()
      reject(error)
    })
  })
}
