/**
 * A watch that outlives its connection: it knows up to which revision everything has been delivered, and a new stream
 * begins right behind it. Etcd answers in whole revisions, apart from what it splits into fragments on our request.
 */
import { Backoff, type BackoffSteps } from '../../../runtime/backoff.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { CompactedError, StoreUnavailableError } from '../store-errors.ts'
import type { EtcdClient, EtcdStream } from './client.ts'
import type { Output } from './codec.ts'
import { type EVENT, WATCH, type WATCH_REQUEST, type WATCH_RESPONSE } from './messages.ts'

/** The first wait is at most this long: a lost connection is often back at once. */
const MIN_BACKOFF_MS = 100
/** No wait is longer: watchers should hear of a recovered etcd within seconds. */
const MAX_BACKOFF_MS = 5_000

const WATCH_BACKOFF: BackoffSteps = { firstMs: MIN_BACKOFF_MS, maxMs: MAX_BACKOFF_MS }

export type EtcdEvent = Output<typeof EVENT>

/** All events up to `revision` that have not been delivered before. */
export interface EtcdEvents {
  readonly events: readonly EtcdEvent[]
  readonly revision: number
}

export interface WatchedRange {
  readonly key: Buffer
  readonly rangeEnd: Buffer
}

type Stream = EtcdStream<typeof WATCH_REQUEST, typeof WATCH_RESPONSE>

export interface EtcdWatchOptions {
  readonly client: EtcdClient
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly progressIntervalMs: number
}

export class EtcdWatch {
  readonly #client: EtcdClient
  readonly #clock: Clock
  readonly #random: () => number
  readonly #range: WatchedRange
  readonly #progressIntervalMs: number
  /** Everything up to here has been delivered. */
  #position: number

  constructor({ client, clock, random, progressIntervalMs }: EtcdWatchOptions, range: WatchedRange, after: number) {
    this.#client = client
    this.#clock = clock
    this.#random = random
    this.#range = range
    this.#position = after
    this.#progressIntervalMs = progressIntervalMs
  }

  /**
   * Ends when the signal aborts. Throws CompactedError, also when `checkReach` does, which is asked before each stream
   * whether the changes behind a revision are still all there; and StoreUnavailableError when the client is closed.
   */
  async *run(checkReach: (revision: number) => Promise<void>, signal: AbortSignal): AsyncGenerator<EtcdEvents, void> {
    const backoff = new Backoff(this.#random, WATCH_BACKOFF)
    while (!signal.aborted) {
      try {
        await checkReach(this.#position)
        for await (const events of this.#stream(signal)) {
          backoff.reset()
          yield events
        }
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof CompactedError) throw error
        if (this.#client.closed) throw new StoreUnavailableError('the store is closed')
      }
      // An abort ends the wait, and the loop sees it.
      await this.#clock.sleep(backoff.next(this.#clock.monotonicMs()), signal).catch(() => undefined)
    }
  }

  /** One stream, from its making to its end, whatever ends it. */
  async *#stream(signal: AbortSignal): AsyncGenerator<EtcdEvents, void> {
    const stream = await this.#client.open(WATCH)
    const cancel = (): void => stream.cancel()
    signal.addEventListener('abort', cancel)
    const stopAsking = this.#askForProgress(stream)
    try {
      stream.write({
        create: {
          ...this.#range,
          startRevision: this.#position + 1,
          progressNotify: true,
          prevKv: true,
          fragment: true,
        },
      })
      if (signal.aborted) return
      yield* this.#read(stream)
    } finally {
      stopAsking()
      signal.removeEventListener('abort', cancel)
      stream.cancel()
    }
  }

  async *#read(stream: Stream): AsyncGenerator<EtcdEvents, void> {
    let events: EtcdEvent[] = []
    for await (const value of stream) {
      const response = value as Output<typeof WATCH_RESPONSE>
      if (response.compactRevision > 0) throw new CompactedError(response.compactRevision)
      if (response.canceled) return
      if (response.created) {
        stream.write({ progress: {} })
        continue
      }
      events.push(...response.events)
      if (response.fragment) continue
      const delivered = this.#advance(events, response.header?.revision ?? 0)
      events = []
      if (delivered !== undefined) yield delivered
    }
  }

  /**
   * A response with events speaks for the revisions up to its last event. Only one without, which is a report of progress,
   * speaks for all up to the revision in its header.
   */
  #advance(events: readonly EtcdEvent[], headerRevision: number): EtcdEvents | undefined {
    const fresh = events.filter((event) => revisionOf(event) > this.#position)
    const last = fresh.at(-1)
    const revision = last === undefined ? headerRevision : revisionOf(last)
    if (revision <= this.#position || (last === undefined && events.length > 0)) return undefined
    this.#position = revision
    return { events: fresh, revision }
  }

  #askForProgress(stream: Stream): () => void {
    let cancel: () => void
    const ask = (): void => {
      cancel = this.#clock.schedule(this.#progressIntervalMs, ask)
      stream.write({ progress: {} })
    }
    cancel = this.#clock.schedule(this.#progressIntervalMs, ask)
    return () => cancel()
  }
}

export function revisionOf(event: EtcdEvent): number {
  return event.kv?.modRevision ?? 0
}
