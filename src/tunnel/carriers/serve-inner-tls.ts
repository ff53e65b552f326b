/** TLS as the server of a session, on the bytes of a WebSocket. */
import type { Duplex } from 'node:stream'
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls'
import { TLS_CONTEXT } from '../../network/tls/context-options.ts'
import { type ServerTlsOptions, secureAsServer } from '../../network/tls/server-tls.ts'
import { SESSION_PROTOCOL } from '../../protocol/versions.ts'
import type { Clock } from '../../runtime/clock.ts'

export interface InnerTlsOptions {
  readonly clock: Clock
  readonly limitMs: number
  /** For clients that name no server; absent: they cannot come in. */
  readonly secureContext: SecureContext | undefined
  /** For clients that name a server. */
  readonly SNICallback: ServerTlsOptions['SNICallback']
}

/**
 * Rejects where there is no handshake in time, or one for something else than a session; so it does when the stream is
 * destroyed. The client's certificate is asked for and not judged.
 */
export async function serveInnerTls(stream: Duplex, options: InnerTlsOptions): Promise<TLSSocket> {
  const { secureContext, SNICallback, clock, limitMs } = options
  const socket = await secureAsServer(stream, {
    clock,
    limitMs,
    secureContext: () => secureContext ?? createSecureContext(TLS_CONTEXT),
    SNICallback,
    protocols: [SESSION_PROTOCOL],
  })
  if (socket.alpnProtocol === SESSION_PROTOCOL) return socket
  socket.destroy()
  stream.destroy()
  throw new Error(`the client does not ask for ${SESSION_PROTOCOL} in its TLS in the WebSocket`)
}
