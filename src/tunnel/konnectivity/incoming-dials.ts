/** Dials of the peer: each is answered once, whatever becomes of it, unless the peer has given it up. */
import type { Duplex } from 'node:stream'
import type { Guard } from '../../process/safety-net.ts'
import { OpenError, openErrorFrom } from '../open-error.ts'
import { dialErrorText } from './dial-text.ts'
import type { DialRequest } from './packet.ts'
import type { SentPacket } from './packet-port.ts'
import { DIAL_PROTOCOL } from './service.ts'

/** Reaches `address` (`host:port`, not checked); gives up when the signal aborts. Rejects with an `OpenError`. */
export type Answer = (address: string, signal: AbortSignal) => Promise<Duplex>

export interface IncomingDialsOptions {
  readonly answer: Answer | undefined
  /** Only the first dial is answered with a connection. */
  readonly isSingleUse: boolean
  readonly guard: Guard
  hasRoom(): boolean
  send(packet: SentPacket): void
  /** Makes the target a connection of the link and returns its identifier. Nothing is sent before the next turn. */
  connect(target: Duplex): number
  /** A dial has ended without a connection. */
  failed(): void
  /** A dial has come to nothing by the peer's doing: it gave the dial up, or might have known that it leads nowhere. */
  fruitless(): void
}

export class IncomingDials {
  readonly #options: IncomingDialsOptions
  readonly #pending = new Map<bigint, AbortController>()
  #isUsed = false

  constructor(options: IncomingDialsOptions) {
    this.#options = options
  }

  get count(): number {
    return this.#pending.size
  }

  request(request: DialRequest): void {
    const { address, random } = request
    const refusal = this.#refusalOf(request)
    if (refusal instanceof OpenError) this.#refuse(address, random, refusal)
    else this.#options.guard(() => this.#serve(address, random, refusal))
  }

  /** The peer gives it up; false if there is no such dial, or none any more. */
  cancel(random: bigint): boolean {
    if (!this.#drop(random)) return false
    this.#options.fruitless()
    return true
  }

  cancelAll(): void {
    for (const random of [...this.#pending.keys()]) this.#drop(random)
  }

  #drop(random: bigint): boolean {
    const control = this.#pending.get(random)
    if (control === undefined) return false
    this.#pending.delete(random)
    control.abort()
    this.#options.failed()
    return true
  }

  #refusalOf({ protocol, random }: DialRequest): OpenError | Answer {
    const { answer, isSingleUse } = this.#options
    if (answer === undefined) return new OpenError('denied', 'this end takes no dials')
    if (protocol !== DIAL_PROTOCOL) return new OpenError('invalid', 'protocol not supported')
    if (this.#pending.has(random)) return new OpenError('invalid', 'two dials with the same number')
    if (isSingleUse && this.#isUsed) return new OpenError('invalid', 'this call has its connection already')
    if (!this.#options.hasRoom()) return new OpenError('overloaded', 'as many connections as this link may have')
    return answer
  }

  async #serve(address: string, random: bigint, answer: Answer): Promise<void> {
    this.#isUsed = true
    const control = new AbortController()
    this.#pending.set(random, control)
    try {
      const target = await answer(address, control.signal)
      if (control.signal.aborted) target.destroy()
      else this.#connect(random, target)
    } catch (error) {
      if (control.signal.aborted) return
      this.#pending.delete(random)
      this.#refuse(address, random, openErrorFrom(error))
    }
  }

  #connect(random: bigint, target: Duplex): void {
    const connectId = this.#options.connect(target)
    this.#pending.delete(random)
    this.#options.send({ type: 'dial-response', random, connectId, error: '' })
  }

  #refuse(address: string, random: bigint, error: OpenError): void {
    this.#options.send({ type: 'dial-response', random, connectId: 0, error: dialErrorText(address, error) })
    this.#options.failed()
    if (error.code === 'denied' || error.code === 'invalid') this.#options.fruitless()
  }
}
