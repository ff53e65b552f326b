/** TLS as the client, on a connection that exists already: the one way to it, and with it somebody has said whom to believe. */
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect, type TLSSocket } from 'node:tls'
import { TLS_CONTEXT } from './context-options.ts'
import { guardedTls } from './guarded-socket.ts'
import { readableTlsError } from './tls-error.ts'

/** In PEM. */
export interface ClientPair {
  readonly certificatePem: string
  readonly keyPem: string
}

/**
 * Whom to believe: one who shows a certificate for the host by one of the CAs (in PEM; without them, those that the world
 * trusts), one whom the judge lets pass, which throws otherwise, or for a stated reason anybody.
 */
export type ServerVerification =
  | { readonly by: 'ca'; readonly caPem: string | undefined }
  | { readonly by: 'judge'; readonly judge: (socket: TLSSocket) => void }
  | { readonly by: 'nobody'; readonly because: string }

export interface ClientTlsOptions {
  /** A name or an address. Only a name is told to the server. */
  readonly host: string
  readonly protocols: readonly string[]
  readonly pair: ClientPair | undefined
  readonly verification: ServerVerification
  readonly signal: AbortSignal
}

/** The server's certificate is not one to be believed by the CAs; `reason` is OpenSSL's word for why. */
export class UntrustedServerError extends Error {
  override readonly name = 'UntrustedServerError'
  readonly reason: string

  constructor(reason: string, cause: Error) {
    super(cause.message, { cause })
    this.reason = reason
  }
}

/** Rejects with what failed or with the reason of the signal; then both ends of the connection are destroyed. */
export async function secureAsClient(carrier: Duplex, options: ClientTlsOptions): Promise<TLSSocket> {
  const { signal, verification } = options
  signal.throwIfAborted()
  const socket = guardedTls(carrier, {
    peer: 'server',
    turn: () => undefined,
    begin: (beneath) => begin(beneath, options),
  })
  // Stays: whoever takes it over listens too, and an error in between must not end the process.
  socket.on('error', () => {})
  try {
    await secured(socket, signal)
    if (verification.by === 'judge') verification.judge(socket)
    return socket
  } catch (error) {
    socket.destroy()
    carrier.destroy()
    throw error
  }
}

function begin(carrier: Duplex, { host, protocols, pair, verification }: ClientTlsOptions): TLSSocket {
  const ca = verification.by === 'ca' ? verification.caPem : undefined
  return connect({
    socket: carrier,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(pair === undefined ? {} : { cert: pair.certificatePem, key: pair.keyPem }),
    ...(ca === undefined ? {} : { ca }),
    ALPNProtocols: [...protocols],
    ...TLS_CONTEXT,
    rejectUnauthorized: verification.by === 'ca',
  })
}

function secured(socket: TLSSocket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (action: () => void): void => {
      signal.removeEventListener('abort', onAbort)
      socket.off('close', onClose).off('error', onError)
      action()
    }
    const onAbort = (): void => settle(() => reject(signal.reason as Error))
    const onClose = (): void => settle(() => reject(new Error('the connection was closed during the TLS handshake')))
    const onError = (error: Error): void => {
      const reason = socket.authorizationError as unknown
      settle(() =>
        reject(typeof reason === 'string' ? new UntrustedServerError(reason, error) : readableTlsError(error)),
      )
    }
    signal.addEventListener('abort', onAbort, { once: true })
    socket.once('close', onClose).once('error', onError)
    socket.once('secureConnect', () => settle(resolve))
  })
}
