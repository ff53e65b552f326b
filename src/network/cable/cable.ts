/**
 * The cable between an edge and the network, to be pulled and put back on a machine where nobody may touch real ones: whoever
 * dials through it finds a network that swallows everything while it is cut, and one that is slow where a delay is set.
 */
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../runtime/clock.ts'
import type { ListenAddress } from '../listen.ts'
import { connectTcp } from '../tcp.ts'
import { CabledStream, type CableState } from './cabled-stream.ts'

/** The slowest links there are take less than half of this; beyond it nothing on them works. */
export const MAX_CABLE_DELAY_MS = 10_000

/** A connection that is there; rejects when there is none, and as soon as the signal aborts. */
export type DialTcp = (target: ListenAddress, signal: AbortSignal) => Promise<Duplex>

export interface CableChange {
  readonly isCut: boolean
  /** What each piece takes longer, in each direction. */
  readonly delayMs: number
}

export interface CableStatus {
  readonly state: 'whole' | 'cut'
  readonly since: string
  readonly delayMs: number
  /** Those that ended on a cut cable included: the far end does not know yet. */
  readonly connections: number
  /** What is to happen to it. */
  readonly next: { readonly state: 'whole' | 'cut'; readonly at: string; readonly delayMs: number } | undefined
}

interface Scheduled extends CableChange {
  readonly atMs: number
  readonly cancel: () => void
}

export class Cable {
  readonly #clock: Clock
  readonly #streams = new Set<CabledStream>()
  readonly #onWhole = new Set<() => void>()
  #state: CableState = { isCut: false, delayMs: 0 }
  #sinceMs: number
  #scheduled: Scheduled | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#sinceMs = clock.nowMs()
  }

  get status(): CableStatus {
    const { isCut, delayMs } = this.#state
    const next = this.#scheduled
    return {
      state: nameOf(isCut),
      since: new Date(this.#sinceMs).toISOString(),
      delayMs,
      connections: this.#streams.size,
      next: next && { state: nameOf(next.isCut), at: new Date(next.atMs).toISOString(), delayMs: next.delayMs },
    }
  }

  /** Now or after that time; takes the place of what was to happen before. */
  change({ isCut, delayMs }: CableChange, afterMs = 0): void {
    this.#scheduled?.cancel()
    this.#scheduled = undefined
    if (afterMs <= 0) {
      this.#apply({ isCut, delayMs })
      return
    }
    const cancel = this.#clock.schedule(afterMs, () => {
      this.#scheduled = undefined
      this.#apply({ isCut, delayMs })
    })
    this.#scheduled = { isCut, delayMs, atMs: this.#clock.nowMs() + afterMs, cancel }
  }

  /** While the cable is cut a dial is neither answered nor refused: it goes on when the cable is whole, as a real one does. */
  readonly dial: DialTcp = async (target, signal) => {
    await this.#whole(signal)
    const socket = await connectTcp(target, signal, { allowHalfOpen: true })
    try {
      // The question to the far end and its answer.
      const { delayMs } = this.#state
      if (delayMs > 0) await this.#clock.sleep(2 * delayMs, signal)
      await this.#whole(signal)
    } catch (error) {
      socket.destroy()
      throw error
    }
    return this.#carry(socket)
  }

  /** Ends all connections. */
  close(): void {
    this.#scheduled?.cancel()
    for (const stream of [...this.#streams]) stream.tear()
  }

  #carry(socket: Socket): Duplex {
    const stream: CabledStream = new CabledStream({
      socket,
      state: () => this.#state,
      clock: this.#clock,
      onOver: () => this.#streams.delete(stream),
    })
    this.#streams.add(stream)
    return stream
  }

  #apply({ isCut, delayMs }: CableChange): void {
    if (isCut !== this.#state.isCut) this.#sinceMs = this.#clock.nowMs()
    this.#state = { isCut, delayMs }
    for (const stream of [...this.#streams]) stream.move()
    if (!isCut) for (const proceed of [...this.#onWhole]) proceed()
  }

  async #whole(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!this.#state.isCut) return
    await new Promise<void>((resolve, reject) => {
      const settle = (action: () => void): void => {
        this.#onWhole.delete(proceed)
        signal.removeEventListener('abort', giveUp)
        action()
      }
      const proceed = (): void => settle(resolve)
      const giveUp = (): void => settle(() => reject(signal.reason as Error))
      this.#onWhole.add(proceed)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }
}

function nameOf(isCut: boolean): 'whole' | 'cut' {
  return isCut ? 'cut' : 'whole'
}
