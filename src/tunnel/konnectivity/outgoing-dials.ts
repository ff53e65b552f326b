/** Dials that wait for the peer's answer. */
import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../runtime/clock.ts'
import { OpenError } from '../open-error.ts'
import type { SentPacket } from './packet-port.ts'
import { DIAL_PROTOCOL } from './service.ts'

export interface DialOptions {
  /** `host:port` as the peer shall see it. */
  readonly address: string
  readonly deadlineMs: number
  readonly signal?: AbortSignal | undefined
}

export interface OutgoingDialsOptions {
  readonly clock: Clock
  send(packet: SentPacket): void
}

interface PendingDial {
  resolve(connection: Duplex): void
  reject(error: OpenError): void
}

export class OutgoingDials {
  readonly #options: OutgoingDialsOptions
  readonly #pending = new Map<bigint, PendingDial>()

  constructor(options: OutgoingDialsOptions) {
    this.#options = options
  }

  get count(): number {
    return this.#pending.size
  }

  dial({ address, deadlineMs, signal }: DialOptions): Promise<Duplex> {
    const random = positiveInt64()
    return new Promise((resolve, reject) => {
      const giveUp = (error: OpenError): void => {
        this.take(random)?.reject(error)
        this.#options.send({ type: 'dial-close', random })
      }
      const onAbort = (): void => giveUp(new OpenError('timeout', `nobody waits for ${address} any more`))
      const cancelTimer = this.#options.clock.schedule(deadlineMs, () =>
        giveUp(new OpenError('timeout', `no answer from ${address} within ${deadlineMs} ms`)),
      )
      const settled = (): void => {
        cancelTimer()
        signal?.removeEventListener('abort', onAbort)
      }
      this.#pending.set(random, {
        resolve: (connection) => {
          settled()
          resolve(connection)
        },
        reject: (error) => {
          settled()
          reject(error)
        },
      })
      this.#options.send({ type: 'dial-request', protocol: DIAL_PROTOCOL, address, random })
      if (signal?.aborted === true) onAbort()
      else signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  /** The dial that this answer is for, which then waits no more. */
  take(random: bigint): PendingDial | undefined {
    const pending = this.#pending.get(random)
    this.#pending.delete(random)
    return pending
  }

  failAll(error: OpenError): void {
    for (const random of [...this.#pending.keys()]) this.take(random)?.reject(error)
  }
}

/** Not zero, which the wire cannot tell from absent, and without the sign, which Go would print. */
function positiveInt64(): bigint {
  return (randomBytes(8).readBigUInt64BE() >> 1n) | 1n
}
