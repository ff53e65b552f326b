/** What is kept: the store, measured, and all its objects in memory, which follow it by one watch. */
import type { Registry } from 'prom-client'
import type { Part } from '../process/lifecycle.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../telemetry/logger.ts'
import { ObjectCache } from './core/object-cache.ts'
import { addObjectMetrics } from './metrics/object-metrics.ts'
import { measuredStore } from './metrics/store-metrics.ts'
import type { Store } from './storage/store.ts'

/** How long the cache waits before it follows a store again that went away. */
const storeRetryMs = 1_000

export interface StoreOptions {
  readonly store: Store
  readonly clock: Clock
  readonly logger: Logger
  readonly registry: Registry
}

export interface KeptObjects {
  readonly store: Store
  /** Empty until the part of `objectsPart` has started. */
  readonly cache: ObjectCache
}

export function composeStore({ store: given, clock, logger, registry }: StoreOptions): KeptObjects {
  const store = measuredStore(given, clock, registry)
  const cache = new ObjectCache(store, logger)
  addObjectMetrics(registry, cache)
  return { store, cache }
}

/** Loads the objects before anybody may ask for one, tells `loaded`, and follows the store from then on. */
export function objectsPart(cache: ObjectCache, clock: Clock, loaded: () => void): Part {
  return {
    name: 'objects',
    async start(_signal, fail) {
      await cache.load()
      loaded()
      const stopped = new AbortController()
      const running = cache.run(stopped.signal, (signal) => clock.sleep(storeRetryMs, signal)).catch(fail)
      return {
        async stop() {
          stopped.abort()
          await running
        },
      }
    },
  }
}
