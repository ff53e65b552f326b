/** Requests that wait for a stream, first come first served: bounded in number and in time. */
import type { Cancellation } from '../../http/server/ending.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type PoolName, UpstreamError } from './upstream.ts'

/** Requests of one pool that wait for a stream; each holds a client. */
const MAX_WAITING_REQUESTS = 1_024
/** By then the streams in use are watches, and the client does better to come again later. */
export const MAX_STREAM_WAIT_MS = 20_000

export interface WaitingRequestsOptions {
  readonly pool: PoolName
  readonly clock: Clock
  readonly maxWaiting?: number | undefined
}

interface Waiter<T> {
  readonly settle: (outcome: { readonly served: T } | { readonly refused: Error }) => void
}

export class WaitingRequests<T> {
  readonly #options: WaitingRequestsOptions
  readonly #waiters = new Set<Waiter<T>>()

  constructor(options: WaitingRequestsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#waiters.size
  }

  /** Resolves when `serve` has its turn; rejects with an `UpstreamError`, or with the reason of the signal. */
  add(signal: Cancellation): Promise<T> {
    const { pool, clock, maxWaiting = MAX_WAITING_REQUESTS } = this.#options
    if (signal.aborted) return Promise.reject(signal.reason)
    if (this.#waiters.size >= maxWaiting)
      return Promise.reject(overloaded(`${maxWaiting} requests already wait for a connection of the pool ${pool}`))
    return new Promise<T>((resolve, reject) => {
      const settle: Waiter<T>['settle'] = (outcome) => {
        this.#waiters.delete(waiter)
        cancelTimer()
        signal.removeEventListener('abort', onAbort)
        if ('served' in outcome) resolve(outcome.served)
        else reject(outcome.refused)
      }
      const waiter = { settle }
      const onAbort = (): void => settle({ refused: signal.reason as Error })
      const cancelTimer = clock.schedule(MAX_STREAM_WAIT_MS, () =>
        settle({
          refused: overloaded(`no stream of the pool ${pool} came free within ${MAX_STREAM_WAIT_MS / 1000} s`),
        }),
      )
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiters.add(waiter)
    })
  }

  serve(value: T): void {
    for (const waiter of this.#waiters) {
      waiter.settle({ served: value })
      return
    }
  }

  refuseAll(error: Error): void {
    for (const waiter of [...this.#waiters]) waiter.settle({ refused: error })
  }
}

function overloaded(what: string): UpstreamError {
  return new UpstreamError('overloaded', what)
}
