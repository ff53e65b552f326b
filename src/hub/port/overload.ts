/** Keeps those who fail over and over, and those who come all at once, from keeping the hub busy. */

import { BoundedMap } from '../../runtime/bounded-map.ts'
import type { Clock } from '../../runtime/clock.ts'
import { TokenBucket } from '../../runtime/token-bucket.ts'
import { Refusal } from '../refusal.ts'

/** Failures an address may have in a row. A site whose edges all start with a stale token stays below. */
export const FAILURE_BURST = 60
/** Failures of an address in each second, once the burst is used up. */
export const FAILURES_PER_SECOND = 1
/** Addresses remembered; beyond it the one that failed longest ago is forgotten. */
const MAX_FAILING_ADDRESSES = 10_000
/** Joins worked on at a time: they wait for the API server, whose own limits are of this size. */
const MAX_JOINS_IN_FLIGHT = 64
/**
 * Joins that wait for their turn, with their whole request in memory; the rest is asked to come back. A hub on a busy core
 * lets a hundred in each second, so the last of them is answered long before an edge gives up.
 */
const MAX_JOINS_QUEUED = 1_000
/** Long enough for a full queue to empty. */
const OVERLOADED_RETRY_AFTER_SECONDS = 10

export interface FailureLimits {
  readonly burst: number
  readonly perSecond: number
  readonly maxAddresses: number
}

const failureLimits: FailureLimits = {
  burst: FAILURE_BURST,
  perSecond: FAILURES_PER_SECOND,
  maxAddresses: MAX_FAILING_ADDRESSES,
}

/** A token bucket for each address, emptied by failures only: success is never held against anybody. */
export class FailureLimiter {
  readonly #clock: Clock
  readonly #limits: FailureLimits
  readonly #buckets: BoundedMap<string, TokenBucket>

  constructor(clock: Clock, limits: Partial<FailureLimits> = {}) {
    this.#clock = clock
    this.#limits = { ...failureLimits, ...limits }
    this.#buckets = new BoundedMap(this.#limits.maxAddresses)
  }

  get addresses(): number {
    return this.#buckets.size
  }

  isExhausted(source: string): boolean {
    return this.#waitMsOf(source) > 0
  }

  /** Refuses an address that has used up its failures. */
  check(source: string): void {
    const waitMs = this.#waitMsOf(source)
    if (waitMs === 0) return
    const retryAfterSeconds = Math.ceil(waitMs / 1000)
    throw new Refusal('too-many-failures', 'too many attempts from this address have failed; wait before the next', {
      retryAfterSeconds,
    })
  }

  failed(source: string): void {
    const { burst, perSecond } = this.#limits
    const nowMs = this.#clock.monotonicMs()
    const bucket = this.#buckets.get(source) ?? new TokenBucket(perSecond, nowMs, burst)
    bucket.take(nowMs)
    this.#buckets.set(source, bucket)
  }

  #waitMsOf(source: string): number {
    return this.#buckets.get(source)?.waitMs(this.#clock.monotonicMs()) ?? 0
  }
}

/** Bounded concurrency with a bounded queue, first come first served. */
export class WorkGate {
  readonly #maxInFlight: number
  readonly #maxQueued: number
  readonly #queue = new Set<() => void>()
  #inFlight = 0

  constructor(maxInFlight = MAX_JOINS_IN_FLIGHT, maxQueued = MAX_JOINS_QUEUED) {
    this.#maxInFlight = maxInFlight
    this.#maxQueued = maxQueued
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get queued(): number {
    return this.#queue.size
  }

  /** Whoever leaves (`signal`) while in the queue gives up the place; work that has begun goes on to its end. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#enter(signal)
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  #enter(signal: AbortSignal): Promise<void> {
    if (this.#inFlight < this.#maxInFlight) {
      this.#inFlight++
      return Promise.resolve()
    }
    if (this.#queue.size >= this.#maxQueued) return Promise.reject(overloaded())
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = (): void => {
        this.#queue.delete(begin)
        reject(new Refusal('bad-request', 'the request broke off'))
      }
      this.#queue.add(begin)
      signal.addEventListener('abort', giveUp, { once: true })
      if (signal.aborted) giveUp()
    })
  }

  /** The place goes straight to the next in the queue, so that nobody can slip in between. */
  #leave(): void {
    const [next] = this.#queue
    if (next === undefined) {
      this.#inFlight--
      return
    }
    this.#queue.delete(next)
    next()
  }
}

function overloaded(): Refusal {
  return new Refusal('overloaded', 'too many nodes are joining at this moment; try again', {
    retryAfterSeconds: OVERLOADED_RETRY_AFTER_SECONDS,
  })
}
