/**
 * TLS as the server, on the bytes of a WebSocket. A TLS server that listens could do it too, but does not say which of the
 * streams it was given a socket came from; here the caller keeps what it knows of the connection around it.
 */
import type { Duplex } from 'node:stream'
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls'
import { SESSION_PROTOCOL } from '../../protocol/versions.ts'
import type { Clock } from '../../runtime/clock.ts'

export interface InnerTlsOptions {
  readonly clock: Clock
  readonly limitMs: number
  /** For clients that name no server; absent: they cannot come in. */
  readonly secureContext?: SecureContext | undefined
  /** For those that do; as of a TLS server. */
  readonly SNICallback: (serverName: string, done: (error: Error | null, context?: SecureContext) => void) => void
}

/**
 * Rejects where there is no handshake in time, or one for something else than a session; so it does when the stream is
 * destroyed. The client's certificate is asked for and not judged.
 */
export async function serveInnerTls(stream: Duplex, options: InnerTlsOptions): Promise<TLSSocket> {
  const { secureContext = createSecureContext(), SNICallback, clock, limitMs } = options
  const socket = new TLSSocket(stream, {
    isServer: true,
    secureContext,
    SNICallback,
    ALPNProtocols: [SESSION_PROTOCOL],
    requestCert: true,
    rejectUnauthorized: false,
  })
  const late = new Error(`no TLS handshake in the WebSocket within ${limitMs / 1000} s`)
  const cancel = clock.schedule(limitMs, () => socket.destroy(late))
  try {
    await secured(socket, stream)
    if (socket.alpnProtocol === SESSION_PROTOCOL) return socket
    throw new Error(`the client does not ask for ${SESSION_PROTOCOL} in its TLS in the WebSocket`)
  } catch (error) {
    socket.destroy()
    stream.destroy()
    throw error
  } finally {
    cancel()
  }
}

function secured(socket: TLSSocket, stream: Duplex): Promise<void> {
  return new Promise((resolve, reject) => {
    // Before the handshake nobody reads the socket, and so the end of what it runs on would not show.
    const leave = (): void => void socket.destroy()
    stream.once('end', leave).once('close', leave)
    socket.once('secure', () => {
      stream.off('end', leave).off('close', leave)
      resolve()
    })
    // Stays: whoever takes the socket over listens too, and an error in between must not end the process.
    socket.on('error', reject)
    socket.once('close', () => reject(new Error('the client left during its TLS handshake in the WebSocket')))
  })
}
