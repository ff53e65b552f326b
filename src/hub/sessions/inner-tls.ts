/**
 * TLS inside a WebSocket, for edges behind a proxy that ends the TLS around it. The same contexts, the same choice of the
 * cluster by name and the same checks as on the port itself; of the connection around it only the address is kept.
 */
import type { Duplex } from 'node:stream'
import type { SecureContext, TLSSocket } from 'node:tls'
import { presentedCertificates } from '../../identity/peer.ts'
import type { Clock } from '../../runtime/clock.ts'
import { serveInnerTls } from '../../tunnel/carriers/serve-inner-tls.ts'
import type { ChooseDoor, HubConnection } from '../port/connection.ts'
import { HANDSHAKE_TIMEOUT_MS, serverNameOf } from '../port/hub-listener.ts'
import { TlsContexts } from '../port/tls-context.ts'
import { Refusal } from '../refusal.ts'

export interface InnerTlsOptions {
  readonly choose: ChooseDoor
  readonly clock: Clock
}

export class InnerTls {
  readonly #options: InnerTlsOptions
  readonly #contexts = new TlsContexts()

  constructor(options: InnerTlsOptions) {
    this.#options = options
  }

  /** The connection within; rejects, and destroys the stream, where the handshake fails or takes too long. */
  async accept(outer: HubConnection, stream: Duplex): Promise<HubConnection> {
    try {
      const socket = await this.#handshake(stream)
      const door = this.#options.choose(serverNameOf(socket))
      if (door instanceof Refusal) throw door
      return { socket, door, peer: { ...outer.peer, certificates: presentedCertificates(socket) } }
    } catch (error) {
      stream.destroy()
      throw error
    }
  }

  #handshake(stream: Duplex): Promise<TLSSocket> {
    const { clock, choose } = this.#options
    const unnamed = choose(undefined)
    return serveInnerTls(stream, {
      clock,
      limitMs: HANDSHAKE_TIMEOUT_MS,
      // Where unnamed clients are refused, those that name their cluster still come in.
      secureContext: unnamed instanceof Refusal ? undefined : this.#contexts.for(unnamed),
      SNICallback: (name, done) => {
        try {
          done(null, this.#contextFor(name))
        } catch (error) {
          done(error as Error)
        }
      },
    })
  }

  #contextFor(name: string): SecureContext {
    const door = this.#options.choose(name)
    if (door instanceof Refusal) throw door
    return this.#contexts.for(door)
  }
}
