/** A store that tells how long it takes: the same for all, so that LMDB and etcd can be compared. */
import { Histogram, type Registry } from 'prom-client'
import type { Clock } from '../../runtime/clock.ts'
import { decorateStore } from '../storage/decorate-store.ts'
import type { Store } from '../storage/store.ts'
import { StoreUnavailableError } from '../storage/store-errors.ts'

/** From a write that only waits for memory to a disk that is in trouble. */
const storeBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

type Operation = 'get' | 'list' | 'commit' | 'compact'

export function measuredStore(store: Store, clock: Clock, registry: Registry): Store {
  const durations = new Histogram({
    name: 'causeway_apiserver_store_duration_seconds',
    help: 'Time that the store takes: a commit includes the wait until it is on disk.',
    labelNames: ['operation', 'result'],
    buckets: storeBuckets,
    registers: [registry],
  })
  const measure = async <T>(operation: Operation, work: () => Promise<T>): Promise<T> => {
    const startedMs = clock.monotonicMs()
    let result = 'done'
    try {
      return await work()
    } catch (error) {
      result = error instanceof StoreUnavailableError ? 'unavailable' : 'error'
      throw error
    } finally {
      durations.observe({ operation, result }, (clock.monotonicMs() - startedMs) / 1000)
    }
  }
  return decorateStore(store, {
    get: (key, options) => measure('get', () => store.get(key, options)),
    list: (prefix, options) => measure('list', () => store.list(prefix, options)),
    commit: (transaction) => measure('commit', () => store.commit(transaction)),
    compact: (revision) => measure('compact', () => store.compact(revision)),
  })
}
