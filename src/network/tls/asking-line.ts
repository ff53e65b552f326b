/**
 * The line of those who want to ask the kernel again whether bytes of a handshake have come, after more asking than a handshake
 * needs. All of them together ask so often a second and no more, an address after the other: peers that begin handshakes and
 * leave them there take longer to be asked after, the more of them there are, and nobody pays for their number.
 */
import type { Clock } from '../../runtime/clock.ts'
import { TokenBucket } from '../../runtime/token-bucket.ts'

/** Of all handshakes of a process that take their time: a hundredth of a core. 250 of them are asked after as often as they like. */
const LATE_HANDSHAKE_ASKS_PER_SECOND = 500
/** How long the line stands still where all was asked that may be: one timer for a handful of them. */
export const LATE_HANDSHAKE_ROUND_MS = 20

type Ask = () => void

export class AskingLine {
  readonly #clock: Clock
  readonly #bucket: TokenBucket
  /** The address that asked last stands last. None is empty. */
  readonly #byAddress = new Map<string, Set<Ask>>()
  #isResting = false

  constructor(clock: Clock, asksPerSecond = LATE_HANDSHAKE_ASKS_PER_SECOND) {
    this.#clock = clock
    const perRound = Math.max(1, (asksPerSecond * LATE_HANDSHAKE_ROUND_MS) / 1000)
    this.#bucket = new TokenBucket(asksPerSecond, clock.monotonicMs(), perRound)
  }

  get length(): number {
    let length = 0
    for (const asks of this.#byAddress.values()) length += asks.size
    return length
  }

  /** Calls `ask` once, at once where nobody waits; the returned function leaves the line. */
  enter(address: string, ask: Ask): () => void {
    const asks = this.#byAddress.get(address) ?? new Set()
    asks.add(ask)
    this.#byAddress.set(address, asks)
    if (!this.#isResting) this.#askSome()
    return () => this.#leave(address, ask)
  }

  #leave(address: string, ask: Ask): void {
    const asks = this.#byAddress.get(address)
    if (asks?.delete(ask) === true && asks.size === 0) this.#byAddress.delete(address)
  }

  #askSome(): void {
    for (;;) {
      const [first] = this.#byAddress
      if (first === undefined) return
      if (!this.#bucket.take(this.#clock.monotonicMs())) {
        this.#rest()
        return
      }
      const [address, asks] = first
      const [ask] = asks
      // To the end, if more of that address are there.
      this.#byAddress.delete(address)
      if (ask !== undefined && asks.delete(ask) && asks.size > 0) this.#byAddress.set(address, asks)
      ask?.()
    }
  }

  #rest(): void {
    this.#isResting = true
    const goOn = (): void => {
      this.#isResting = false
      this.#askSome()
    }
    // A process waits for its handshakes as for all it reads.
    void this.#clock.sleep(LATE_HANDSHAKE_ROUND_MS).then(goOn)
  }
}
