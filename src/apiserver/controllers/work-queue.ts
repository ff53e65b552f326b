/**
 * A queue of keys to look at. A key that is added again while it waits is looked at once; one that is added while it is
 * being looked at is looked at once more afterwards, never twice at the same time. What fails is tried again, later each
 * time, until it succeeds: handlers compare what is with what should be, so nothing is lost by waiting.
 */
import { isInsufficientStorage } from '../../kube/status/predicates.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'

/** Soon enough for a conflict to pass unnoticed, then seldom enough to do no harm. */
export const FIRST_RETRY_MS = 50
export const MAX_RETRY_MS = 60_000
/** Keys looked at side by side: enough to keep the store's group commit busy, few enough to leave room for requests. */
export const MAX_PARALLEL_KEYS = 8

/** Looks at one key. The milliseconds it returns are when to look again although nothing changed. */
export type KeyHandler = (key: string, signal: AbortSignal) => Promise<number | undefined>

export interface WorkQueueOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly handle: KeyHandler
}

export class WorkQueue {
  readonly #options: WorkQueueOptions
  readonly #stopped = new AbortController()
  /** In the order of arrival. */
  readonly #waiting = new Set<string>()
  readonly #active = new Map<string, Promise<void>>()
  readonly #failures = new Map<string, number>()
  /** Cancels the appointment of a key that is to be looked at later. */
  readonly #later = new Map<string, () => void>()

  constructor(options: WorkQueueOptions) {
    this.#options = options
  }

  add(key: string): void {
    if (this.#stopped.signal.aborted) return
    this.#cancelLater(key)
    this.#waiting.add(key)
    this.#fill()
  }

  addLater(key: string, delayMs: number): void {
    if (this.#stopped.signal.aborted) return
    this.#cancelLater(key)
    this.#later.set(
      key,
      this.#options.clock.schedule(delayMs, () => this.add(key)),
    )
  }

  /** Takes nothing more and resolves when what is under way has ended; handlers see their signal abort. */
  async stop(): Promise<void> {
    this.#stopped.abort(new Error('the controller stops'))
    this.#waiting.clear()
    for (const cancel of this.#later.values()) cancel()
    this.#later.clear()
    await Promise.all(this.#active.values())
  }

  #fill(): void {
    for (const key of this.#waiting) {
      if (this.#active.size >= MAX_PARALLEL_KEYS) return
      if (this.#active.has(key)) continue
      this.#active.set(key, this.#look(key))
    }
  }

  async #look(key: string): Promise<void> {
    // A turn later, so that a key that is added several times in one go is looked at once.
    await Promise.resolve()
    this.#waiting.delete(key)
    const againMs = await this.#outcome(key)
    this.#active.delete(key)
    if (againMs !== undefined && !this.#waiting.has(key) && !this.#later.has(key)) this.addLater(key, againMs)
    this.#fill()
  }

  async #outcome(key: string): Promise<number | undefined> {
    try {
      const againMs = await this.#options.handle(key, this.#stopped.signal)
      this.#failures.delete(key)
      return againMs
    } catch (error) {
      if (this.#stopped.signal.aborted) return undefined
      const failures = (this.#failures.get(key) ?? 0) + 1
      this.#failures.set(key, failures)
      const retryMs = Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS)
      // No fault of the program: where it happened in it helps nobody who is to make room.
      const cause = isInsufficientStorage(error) ? { why: (error as Error).message } : { err: error }
      this.#options.logger.warn({ key, failures, retryMs, ...cause }, 'could not be brought in order; trying again')
      return retryMs
    }
  }

  #cancelLater(key: string): void {
    this.#later.get(key)?.()
    this.#later.delete(key)
  }
}
