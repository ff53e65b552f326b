/**
 * What answers wait for in memory: clients that read. Each connection of a listener has an account of the bytes it has yet to
 * take. Above its limit nothing more is served on it, and when the listener has more than its limit, on none; what waits on a
 * connection that makes no headway is cut, at once where others wait for its memory. The same goes for each stream of a
 * connection that holds requests back: they may be those of others. A slow client that reads on is left alone.
 */
import type { Clock } from '../../runtime/clock.ts'
import { Headway } from '../../runtime/headway.ts'
import { HeldRequests } from './held-requests.ts'
import {
  MAX_UNSENT_ANSWER_BYTES,
  MAX_UNSENT_BYTES_PER_CONNECTION,
  MIN_READ_BYTES,
  STALLED_READER_BYTES,
  STALLED_READER_CHECK_MS,
  STALLED_READER_MS,
  STALLED_READER_UNDER_PRESSURE_MS,
} from './limits.ts'
import type { Job, Lane } from './serving-order.ts'

export interface UnsentAnswersOptions {
  readonly clock: Clock
  /** A connection, or streams of one, were cut because their client does not read. */
  readonly stalled: (unsentBytes: number) => void
  /** Fewer than the default, for tests. */
  readonly maxBytes?: number | undefined
}

/** Who is to read the answers of one connection. */
export interface AnswerReader {
  /** Ends what waits on the connection. */
  cut(): void
  /** Called at each check while requests wait for the memory: ends the answers that have stopped for too long, and says how many bytes that were. */
  cutStalled(nowMs: number): number
}

export class UnsentAnswers {
  readonly #options: UnsentAnswersOptions
  readonly #maxBytes: number
  readonly #accounts = new Set<UnsentAccount>()
  /** Accounts that hold requests back. */
  readonly #waiting = new Set<UnsentAccount>()
  #bytes = 0
  #isCheckPlanned = false

  constructor(options: UnsentAnswersOptions) {
    this.#options = options
    this.#maxBytes = options.maxBytes ?? MAX_UNSENT_ANSWER_BYTES
  }

  get bytes(): number {
    return this.#bytes
  }

  get hasRoom(): boolean {
    return this.#bytes < this.#maxBytes
  }

  /** For a new connection; its requests are served in its lane. */
  open(lane: Lane, reader: AnswerReader): UnsentAccount {
    const account = new UnsentAccount(this, lane, reader)
    this.#accounts.add(account)
    return account
  }

  nowMs(): number {
    return this.#options.clock.monotonicMs()
  }

  /** Negative where it has been taken. */
  changed(account: UnsentAccount, bytes: number): void {
    this.#bytes += bytes
    if (bytes > 0) this.#planCheck()
    else this.#goOn(account)
  }

  wait(account: UnsentAccount): void {
    this.#waiting.add(account)
    this.#planCheck()
  }

  closed(account: UnsentAccount): void {
    this.#accounts.delete(account)
    this.#waiting.delete(account)
  }

  /** Who has read is served at once; the others at the next check, for looking at all of them each time would cost too much. */
  #goOn(account: UnsentAccount): void {
    if (this.#waiting.has(account) && account.goOn()) this.#waiting.delete(account)
  }

  #planCheck(): void {
    if (this.#isCheckPlanned) return
    this.#isCheckPlanned = true
    this.#options.clock.schedule(STALLED_READER_CHECK_MS, () => this.#check())
  }

  #check(): void {
    this.#isCheckPlanned = false
    if (this.#bytes > 0 || this.#waiting.size > 0) this.#planCheck()
    const nowMs = this.nowMs()
    for (const account of this.#accounts)
      if (account.isStalled(nowMs, STALLED_READER_MS, STALLED_READER_BYTES)) this.#cut(account)
    if (!this.hasRoom) this.#makeRoom(nowMs)
    for (const account of [...this.#waiting]) if (account.isFull) this.#cutStalled(account, nowMs)
    for (const each of [...this.#waiting]) this.#goOn(each)
  }

  /** Others wait: whoever holds most without reading goes first, and reading one answer is no excuse for not reading the rest. */
  #makeRoom(nowMs: number): void {
    for (const account of [...this.#accounts].toSorted((one, other) => other.bytes - one.bytes)) {
      if (this.hasRoom) return
      if (account.isStalled(nowMs, STALLED_READER_UNDER_PRESSURE_MS, 1)) this.#cut(account)
      else this.#cutStalled(account, nowMs)
    }
  }

  #cut(account: UnsentAccount): void {
    this.#options.stalled(account.bytes)
    account.reader.cut()
  }

  #cutStalled(account: UnsentAccount, nowMs: number): void {
    const bytes = account.reader.cutStalled(nowMs)
    if (bytes > 0) this.#options.stalled(bytes)
  }
}

/** What the client of one connection has yet to take, and the requests that wait for it. */
export class UnsentAccount {
  readonly #all: UnsentAnswers
  readonly #lane: Lane
  readonly reader: AnswerReader
  readonly #held = new HeldRequests()
  #isReleasing = false
  #bytes = 0
  #readBytes = 0
  #isClosed = false
  readonly #headway = new Headway(0, 0, MIN_READ_BYTES)

  constructor(all: UnsentAnswers, lane: Lane, reader: AnswerReader) {
    this.#all = all
    this.#lane = lane
    this.reader = reader
  }

  get bytes(): number {
    return this.#bytes
  }

  /** The connection has as much as one may have. */
  get isFull(): boolean {
    return this.#bytes >= MAX_UNSENT_BYTES_PER_CONNECTION
  }

  /** Waits for its client from now on. */
  add(bytes: number): void {
    if (this.#isClosed || bytes === 0) return
    if (this.#bytes === 0) this.#headway.restart(this.#readBytes, this.#all.nowMs())
    this.#bytes += bytes
    this.#all.changed(this, bytes)
  }

  /** Has been taken, or is not sent any more. */
  taken(bytes: number): void {
    if (this.#isClosed || bytes === 0) return
    this.#bytes -= bytes
    this.#readBytes += bytes
    this.#all.changed(this, -bytes)
  }

  /** Serves a request in its turn, when there is room for its answer. Where callers share the connection they take turns. */
  whenRoom(serve: Job, caller = ''): void {
    this.#lane.add(() => {
      if (this.#held.isEmpty && this.#hasRoom) {
        serve()
        return
      }
      this.#held.add(caller, serve)
      this.#all.wait(this)
    })
  }

  /** Serves what was held back, one after another, as long as there is room; true if nothing is left. */
  goOn(): boolean {
    if (this.#held.isEmpty) return true
    if (this.#isReleasing || !this.#hasRoom) return false
    this.#isReleasing = true
    this.#lane.add(() => {
      this.#isReleasing = false
      if (this.#hasRoom) this.#held.takeNext()?.()
      this.goOn()
    })
    return false
  }

  /** Nothing of `minBytes` or more has become appreciably less for so long. */
  isStalled(nowMs: number, durationMs: number, minBytes: number): boolean {
    if (this.#bytes < minBytes) return false
    return this.#headway.stoodMs(this.#readBytes, nowMs) >= durationMs
  }

  close(): void {
    if (this.#isClosed) return
    const bytes = this.#bytes
    this.#isClosed = true
    this.#held.clear()
    this.#bytes = 0
    this.#all.closed(this)
    if (bytes > 0) this.#all.changed(this, -bytes)
  }

  get #hasRoom(): boolean {
    return !this.isFull && this.#all.hasRoom
  }
}
