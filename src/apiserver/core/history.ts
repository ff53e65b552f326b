/**
 * Forgets history that nobody should need any more. Watches resume and pages continue in the history, so it reaches back
 * for minutes; without an end it would fill the disk.
 */

import type { Part } from '../../process/lifecycle.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Store } from '../storage/store.ts'

/** How far back a client may resume; as long as etcd keeps history under a kube-apiserver. */
export const HISTORY_MS = 300_000
/** How often a revision is marked for later; the history is that much longer than promised. */
export const HISTORY_MARK_MS = 30_000

interface Mark {
  readonly atMs: number
  readonly revision: number
}

export class HistoryKeeper implements Part {
  readonly name = 'history'
  readonly #store: Store
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #historyMs: number
  #marks: Mark[] = []

  constructor(store: Store, clock: Clock, logger: Logger, historyMs = HISTORY_MS) {
    this.#store = store
    this.#clock = clock
    this.#logger = logger
    this.#historyMs = historyMs
  }

  async start() {
    const stopped = new AbortController()
    await this.mark()
    const running = this.#run(stopped.signal)
    return {
      stop: async () => {
        stopped.abort()
        await running
      },
    }
  }

  /** Notes the present revision, and forgets what is older than the history. */
  async mark(): Promise<void> {
    const nowMs = this.#clock.monotonicMs()
    const old = this.#marks.filter(({ atMs }) => nowMs - atMs >= this.#historyMs)
    const newest = old.at(-1)
    this.#marks = this.#marks.filter((mark) => !old.includes(mark))
    this.#marks.push({ atMs: nowMs, revision: await this.#store.revision() })
    if (newest !== undefined) await this.#store.compact(newest.revision)
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#clock.sleep(HISTORY_MARK_MS, signal)
        await this.mark()
      } catch (error) {
        if (signal.aborted) return
        this.#logger.warn({ err: error }, 'history could not be compacted; it will be tried again')
      }
    }
  }
}
