/**
 * Keeps a local view of one collection equal to the server's, and says what changed. This is the shell: it performs
 * what the core (core.ts) decides and brings back what happened.
 *
 * The consumer sets the pace: while it works on a change, nothing further is read from the server.
 */
import { type Clock, systemClock } from '../../runtime/clock.ts'
import type { CallOptions, ListQuery, WatchQuery } from '../client/options.ts'
import type { KubeList, Versioned, WatchEvent } from '../objects.ts'
import { ReflectorCore, type ReflectorCoreOptions } from './core.ts'
import type { FailureKind } from './failure.ts'
import type { Action, Input, Step } from './protocol.ts'
import type { Change } from './view.ts'

/** An open watch. Closing it makes a pending read end. */
export interface WatchSource<T extends Versioned> extends AsyncIterable<WatchEvent<T>> {
  close(): void
}

/** Where the objects come from; a `ResourceClient` is one. */
export interface ReflectorSource<T extends Versioned> {
  list(query: ListQuery, call: CallOptions): Promise<KubeList<T>>
  watch(query: WatchQuery, call: CallOptions): Promise<WatchSource<T>>
}

export type Notification<T extends Versioned> =
  | Change<T>
  /** The view is complete, for the first time or again after a new snapshot; its changes came before. */
  | { readonly type: 'synced' }
  /** The view stays as it is, perhaps out of date, and the reflector goes on trying. */
  | { readonly type: 'failed'; readonly kind: FailureKind; readonly error: unknown; readonly retryInMs: number }

export interface ReflectorListener<T extends Versioned> {
  added?(object: T): void
  updated?(object: T, previous: T): void
  deleted?(object: T, stale: boolean): void
  synced?(): void
  failed?(error: unknown, retryInMs: number, kind: FailureKind): void
}

export interface ReflectorOptions<T extends Versioned> extends ReflectorCoreOptions<T> {
  readonly clock?: Clock
  /** Hears of each step in the turn in which the view changes; `steps` gives it a moment later. */
  readonly taken?: (step: Step<T>) => void
}

export class Reflector<T extends Versioned> {
  readonly #source: ReflectorSource<T>
  readonly #clock: Clock
  readonly #core: ReflectorCore<T>
  readonly #taken: (step: Step<T>) => void
  #running = false
  #synced = false

  constructor(source: ReflectorSource<T>, options: ReflectorOptions<T> = {}) {
    this.#source = source
    this.#clock = options.clock ?? systemClock
    this.#core = new ReflectorCore(options)
    this.#taken = options.taken ?? (() => {})
  }

  /** The present view by `namespace/name` or `name`. */
  get objects(): ReadonlyMap<string, T> {
    return this.#core.objects
  }

  /** The version at which the view is complete: with the objects, enough to restore the reflector later. */
  get resourceVersion(): string {
    return this.#core.version
  }

  /** Whether a snapshot was completed in this life. */
  get synced(): boolean {
    return this.#synced
  }

  /** Takes a whole list that came by another way. Not while it runs: once it does, only its watch moves it. */
  adopt(objects: readonly T[], resourceVersion: string): readonly Change<T>[] {
    if (this.#running) throw new Error('this reflector is running already')
    return this.#core.adopt(objects, resourceVersion)
  }

  /** Runs until the signal aborts, and then returns. */
  async run(listener: ReflectorListener<T>, signal: AbortSignal): Promise<void> {
    for await (const notification of this.notifications(signal)) tell(listener, notification)
  }

  /** The notifications as a sequence. Ends when the signal aborts or the loop is left; a new one goes on from there. */
  async *notifications(signal: AbortSignal): AsyncGenerator<Notification<T>, void, undefined> {
    for await (const step of this.steps(signal)) yield* announcements(step)
  }

  /** What is told, with all that changed at once kept together: a new snapshot is one step, and so is each event. Ends as `notifications` does. */
  async *steps(signal: AbortSignal): AsyncGenerator<Step<T>, void, undefined> {
    if (this.#running) throw new Error('this reflector is running already')
    this.#running = true
    const link = new Link(this.#source, this.#clock, signal)
    try {
      let step = this.#core.start()
      for (;;) {
        this.#synced ||= step.synced === true
        this.#taken(step)
        yield step
        // What the core has taken in is told above; what it has not taken in, it will ask for again.
        if (signal.aborted) return
        const input = await link.perform(step.next, this.#core.patienceMs)
        if (signal.aborted) return
        step = this.#core.handle(input, this.#clock.monotonicMs())
      }
    } finally {
      link.close()
      this.#running = false
    }
  }
}

/** Performs actions one at a time and keeps the open watch between them. */
class Link<T extends Versioned> {
  readonly #source: ReflectorSource<T>
  readonly #clock: Clock
  readonly #call: CallOptions & { readonly signal: AbortSignal }
  #open: { readonly watch: WatchSource<T>; readonly events: AsyncIterator<WatchEvent<T>> } | undefined

  constructor(source: ReflectorSource<T>, clock: Clock, signal: AbortSignal) {
    this.#source = source
    this.#clock = clock
    // The core has its own patience with servers that say "later".
    this.#call = { signal, maxRetries: 0 }
  }

  /** Never rejects: whatever goes wrong is something that happened. */
  async perform(action: Action, patienceMs: number | undefined): Promise<Input<T>> {
    try {
      if (action.do === 'read') return await this.#read(patienceMs)
      this.close()
      if (action.do === 'list') return { type: 'page', list: await this.#source.list(action.query, this.#call) }
      if (action.do === 'wait') {
        await this.#clock.sleep(action.delayMs, this.#call.signal)
        return { type: 'waited' }
      }
      const watch = await this.#source.watch(action.query, this.#call)
      this.#open = { watch, events: watch[Symbol.asyncIterator]() }
      return await this.#read(patienceMs)
    } catch (error) {
      return { type: 'failed', error }
    }
  }

  close(): void {
    this.#open?.watch.close()
    this.#open = undefined
  }

  async #read(patienceMs: number | undefined): Promise<Input<T>> {
    if (this.#open === undefined) throw new Error('no watch is open')
    const { watch, events } = this.#open
    let silent = false
    const endSilence = (): void => {
      silent = true
      watch.close()
    }
    const cancel = patienceMs === undefined ? undefined : this.#clock.schedule(patienceMs, endSilence)
    try {
      const next = await events.next()
      if (silent) return { type: 'silent' }
      return next.done === true ? { type: 'ended' } : { type: 'event', event: next.value }
    } catch (error) {
      return silent ? { type: 'silent' } : { type: 'failed', error }
    } finally {
      cancel?.()
    }
  }
}

function* announcements<T extends Versioned>(step: Step<T>): Generator<Notification<T>, void, undefined> {
  yield* step.changes
  if (step.synced === true) yield { type: 'synced' }
  if (step.failure === undefined) return
  const retryInMs = step.next.do === 'wait' ? step.next.delayMs : 0
  const { kind, error } = step.failure
  yield { type: 'failed', kind, error, retryInMs }
}

function tell<T extends Versioned>(listener: ReflectorListener<T>, notification: Notification<T>): void {
  switch (notification.type) {
    case 'added':
      listener.added?.(notification.object)
      break
    case 'updated':
      listener.updated?.(notification.object, notification.previous)
      break
    case 'deleted':
      listener.deleted?.(notification.object, notification.stale)
      break
    case 'synced':
      listener.synced?.()
      break
    case 'failed':
      listener.failed?.(notification.error, notification.retryInMs, notification.kind)
      break
  }
}
