/**
 * Hands changes, as they become durable, to everybody who watches. A subscription queues what its reader has not taken
 * yet, within a limit: a reader that falls behind loses its queue, is told so, and reads on from the history instead.
 * However slow the readers are, the memory they hold is bounded, and no writer waits for them.
 */
import type { Clock } from '../../runtime/clock.ts'
import type { Change, ChangeBatch } from './store.ts'
import { StoreUnavailableError } from './store-errors.ts'

/** What a reader may have waiting before it must read from the history: seconds of a busy store. */
export const MAX_QUEUED_CHANGES = 1_000
/** How often a watch hears that nothing under its prefix has changed, while other things did. */
export const PROGRESS_INTERVAL_MS = 5_000

export type Taken = { readonly type: 'batch'; readonly batch: ChangeBatch } | { readonly type: 'fell-behind' }

/** Where a store publishes its changes and watches subscribe to them. */
export class WatchHub {
  readonly #clock: Clock
  readonly #byPrefix = new Map<string, Set<Subscription>>()
  #revision: number
  #closed = false
  #cancelProgress: (() => void) | undefined

  constructor(clock: Clock, revision: number) {
    this.#clock = clock
    this.#revision = revision
  }

  /** The latest revision whose changes have been published. A subscription made now gets all that come after it. */
  get revision(): number {
    return this.#revision
  }

  /** Whole revisions, in order; all of them durable. */
  publish(changes: readonly Change[], revision: number): void {
    this.#revision = revision
    for (const [prefix, subscriptions] of this.#byPrefix) {
      const matching = changes.filter((change) => change.key.startsWith(prefix))
      if (matching.length === 0) continue
      const batch = { changes: matching, revision }
      for (const subscription of subscriptions) subscription.push(batch)
    }
  }

  subscribe(prefix: string): Subscription {
    if (this.#closed) throw closedError()
    const subscription = new Subscription(this.#revision, () => this.#remove(prefix, subscription))
    const existing = this.#byPrefix.get(prefix)
    if (existing === undefined) this.#byPrefix.set(prefix, new Set([subscription]))
    else existing.add(subscription)
    this.#cancelProgress ??= this.#scheduleProgress()
    return subscription
  }

  close(): void {
    this.#closed = true
    for (const subscriptions of this.#byPrefix.values()) {
      for (const subscription of subscriptions) subscription.fail(closedError())
    }
    this.#byPrefix.clear()
    this.#stopProgress()
  }

  #remove(prefix: string, subscription: Subscription): void {
    const subscriptions = this.#byPrefix.get(prefix)
    subscriptions?.delete(subscription)
    if (subscriptions?.size === 0) this.#byPrefix.delete(prefix)
    if (this.#byPrefix.size === 0) this.#stopProgress()
  }

  #scheduleProgress(): () => void {
    return this.#clock.schedule(PROGRESS_INTERVAL_MS, () => {
      this.#cancelProgress = this.#scheduleProgress()
      for (const subscriptions of this.#byPrefix.values()) {
        for (const subscription of subscriptions) subscription.reportProgress(this.#revision)
      }
    })
  }

  #stopProgress(): void {
    this.#cancelProgress?.()
    this.#cancelProgress = undefined
  }
}

/** One watch: what it has not taken yet, up to `MAX_QUEUED_CHANGES`. */
export class Subscription {
  /** Everything after this revision is delivered. */
  readonly startRevision: number
  readonly #onCancel: () => void
  #queue: ChangeBatch[] = []
  #queuedChanges = 0
  #fellBehind = false
  #failure: Error | undefined
  #reachedRevision: number
  #wake: (() => void) | undefined

  constructor(startRevision: number, onCancel: () => void) {
    this.startRevision = startRevision
    this.#reachedRevision = startRevision
    this.#onCancel = onCancel
  }

  /** The next batch, when there is one; undefined as soon as the signal aborts. One caller at a time. */
  async take(signal: AbortSignal): Promise<Taken | undefined> {
    for (;;) {
      if (signal.aborted) return undefined
      if (this.#failure !== undefined) throw this.#failure
      if (this.#fellBehind) return { type: 'fell-behind' }
      const batch = this.#queue.shift()
      if (batch !== undefined) {
        this.#queuedChanges -= batch.changes.length
        return { type: 'batch', batch }
      }
      await this.#somethingHappens(signal)
    }
  }

  cancel(): void {
    this.#onCancel()
  }

  push(batch: ChangeBatch): void {
    this.#reachedRevision = batch.revision
    if (this.#fellBehind) return
    this.#queue.push(batch)
    this.#queuedChanges += batch.changes.length
    // A single batch, however large, is always taken: it is in memory already, and reading it again would not shrink it.
    if (this.#queuedChanges > MAX_QUEUED_CHANGES && this.#queue.length > 1) {
      this.#fellBehind = true
      this.#queue = []
    }
    this.#wake?.()
  }

  /** Says how far the store is, unless the reader knows that or has something else to read first. */
  reportProgress(revision: number): void {
    if (this.#reachedRevision < revision && this.#queue.length === 0) this.push({ changes: [], revision })
  }

  fail(error: Error): void {
    this.#failure = error
    this.#wake?.()
  }

  #somethingHappens(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake)
        this.#wake = undefined
        resolve()
      }
      this.#wake = wake
      signal.addEventListener('abort', wake)
    })
  }
}

function closedError(): StoreUnavailableError {
  return new StoreUnavailableError('the store is closed')
}
