/**
 * TLS as the server: the one way in which a connection becomes a secured one here. Clients are asked for a certificate, and
 * whether it means anything is for the caller to judge; this only sees to it that asking costs little. TLS begins with the
 * client's first byte, so that connections which say nothing take no more than a place, and handshakes take turns.
 */
import type { Duplex } from 'node:stream'
import { type SecureContext, TLSSocket, type TLSSocketOptions } from 'node:tls'
import type { Clock } from '../../runtime/clock.ts'
import { turnFor } from '../../runtime/turns.ts'
import { guardedTls } from './guarded-socket.ts'

export interface ServerTlsOptions {
  readonly clock: Clock
  /** For everything from the connection to the end of its handshake. */
  readonly limitMs: number
  /**
   * For clients that name no server, and without the callback for all. Asked when the handshake begins. Every context is made with
   * `TLS_CONTEXT`.
   */
  readonly secureContext: () => SecureContext
  readonly SNICallback?: TLSSocketOptions['SNICallback'] | undefined
  readonly protocols?: readonly string[] | undefined
}

/** Rejects where there is no handshake in time, with both ends of the connection destroyed. Destroying the carrier ends it. */
export function secureAsServer(carrier: Duplex, options: ServerTlsOptions): Promise<TLSSocket> {
  const { clock, limitMs } = options
  return new Promise((resolve, reject) => {
    let socket: TLSSocket | undefined
    const cancel = clock.schedule(limitMs, () => fail(new Error(`no TLS handshake within ${limitMs / 1000} s`)))
    const settle = (): void => {
      cancel()
      carrier.off('data', onFirstBytes).off('end', onGone).off('close', onGone).off('error', fail)
      // Whoever takes it over hears of its end.
      socket?.off('close', onGone).off('error', fail)
      socket?.on('error', () => {})
    }
    const fail = (error: Error): void => {
      settle()
      socket?.destroy()
      carrier.on('error', () => {}).destroy()
      reject(error)
    }
    const onGone = (): void => fail(socket?.errored ?? new Error('the client left during its TLS handshake'))
    const onFirstBytes = (bytes: Buffer): void => {
      carrier.off('data', onFirstBytes)
      try {
        const begun = begin(carrier, options, bytes)
        socket = begun.on('error', fail).once('close', onGone)
        begun.once('secure', () => {
          settle()
          // As Node's own TLS server does: its HTTP/2 would wait for the event of a client.
          ;(begun as { secureConnecting?: boolean }).secureConnecting = false
          resolve(begun)
        })
      } catch (error) {
        fail(error as Error)
      }
    }
    carrier.on('data', onFirstBytes).on('end', onGone).on('close', onGone).on('error', fail)
    if (carrier.destroyed) onGone()
  })
}

function begin(carrier: Duplex, options: ServerTlsOptions, early: Buffer): TLSSocket {
  const { clock, secureContext, SNICallback, protocols } = options
  return guardedTls(
    carrier,
    {
      peer: 'client',
      turn: () => turnFor(clock),
      begin: (beneath) =>
        new TLSSocket(beneath, {
          isServer: true,
          secureContext: secureContext(),
          ...(SNICallback === undefined ? {} : { SNICallback }),
          ...(protocols === undefined ? {} : { ALPNProtocols: [...protocols] }),
          requestCert: true,
          // Every certificate is let in as far as the caller's checks, which say what is wrong with it.
          rejectUnauthorized: false,
        }),
    },
    early,
  )
}
