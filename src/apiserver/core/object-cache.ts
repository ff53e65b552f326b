/**
 * All collections, kept equal to the store by one watch over everything. A reader who must see at least some revision
 * waits for it here; so does a writer, before it answers, so that whoever hears of a write can also read it.
 */
import type { Logger } from '../../telemetry/logger.ts'
import { Item } from '../objects/item.ts'
import type { Change, Store } from '../storage/store.ts'
import { StoreUnavailableError } from '../storage/store-errors.ts'
import { Collection } from './collection.ts'

interface Waiter {
  readonly revision: number
  readonly resolve: () => void
}

export class ObjectCache {
  readonly #store: Store
  readonly #logger: Logger
  readonly #collections = new Map<string, Collection>()
  #revision = 0
  #waiters: Waiter[] = []

  constructor(store: Store, logger: Logger) {
    this.#store = store
    this.#logger = logger
  }

  get revision(): number {
    return this.#revision
  }

  /** The collection of all keys that start with `group/resource/`; empty ones exist too. */
  collection(keyPrefix: string): Collection {
    let collection = this.#collections.get(keyPrefix)
    if (collection === undefined) {
      collection = new Collection([], this.#revision)
      this.#collections.set(keyPrefix, collection)
    }
    return collection
  }

  /** Loads everything; resolves when the cache can be read. `run` keeps it current from there. */
  async load(): Promise<void> {
    const { entries, revision } = await this.#store.list('')
    const items = new Map<string, Item[]>()
    for (const entry of entries) {
      const prefix = prefixOf(entry.key)
      const known = items.get(prefix)
      const item = Item.fromEntry(entry)
      if (known === undefined) items.set(prefix, [item])
      else known.push(item)
    }
    for (const [prefix, list] of items) this.#collections.set(prefix, new Collection(list, revision))
    this.#revision = revision
  }

  /** Follows the store until the signal aborts. A store that goes away for a while is followed again where it was left. */
  async run(signal: AbortSignal, pause: (signal: AbortSignal) => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const { changes, revision } of this.#store.watch('', this.#revision, signal)) {
          this.#apply(changes, revision)
        }
      } catch (error) {
        if (signal.aborted) return
        if (!(error instanceof StoreUnavailableError)) throw error
        this.#logger.warn({ err: error }, 'the store is unavailable; trying again')
        await pause(signal)
      }
    }
  }

  /** Resolves once the cache has seen this revision; rejects with the signal's reason. */
  waitFor(revision: number, signal: AbortSignal): Promise<void> {
    if (this.#revision >= revision) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const waiter = { revision, resolve: () => finish(resolve) }
      const finish = (settle: () => void): void => {
        signal.removeEventListener('abort', onAbort)
        settle()
      }
      const onAbort = (): void => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter)
        reject(signal.reason as Error)
      }
      if (signal.aborted) onAbort()
      else {
        signal.addEventListener('abort', onAbort, { once: true })
        this.#waiters.push(waiter)
      }
    })
  }

  #apply(changes: readonly Change[], revision: number): void {
    const byPrefix = new Map<string, Change[]>()
    for (const change of changes) {
      const prefix = prefixOf(change.key)
      const known = byPrefix.get(prefix)
      if (known === undefined) byPrefix.set(prefix, [change])
      else known.push(change)
    }
    for (const prefix of byPrefix.keys()) this.collection(prefix)
    for (const [prefix, collection] of this.#collections) {
      collection.apply({ changes: byPrefix.get(prefix) ?? [], revision })
    }
    this.#revision = revision
    this.#wake()
  }

  #wake(): void {
    if (this.#waiters.length === 0) return
    const due = this.#waiters.filter((waiter) => waiter.revision <= this.#revision)
    this.#waiters = this.#waiters.filter((waiter) => waiter.revision > this.#revision)
    for (const waiter of due) waiter.resolve()
  }
}

/** The first two parts of a key, with the slash: `apps/deployments/`. */
function prefixOf(key: string): string {
  return key.slice(0, key.indexOf('/', key.indexOf('/') + 1) + 1)
}
