/** Get and list: answered from memory, as of now or as of a revision that the client names. */

import { formatContinueToken, parseContinueToken } from '../../kube/collection/continue-token.ts'
import { type CollectionOptions, namedRevision } from '../../kube/collection/options.ts'
import type { ListMeta } from '../../kube/objects.ts'
import { tooLargeResourceVersion } from '../../kube/status/availability-errors.ts'
import { resourceExpired } from '../../kube/status/request-errors.ts'
import { notFound } from '../../kube/status/resource-errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Turns } from '../../runtime/turns.ts'
import { Item } from '../objects/item.ts'
import { collectionPrefix, keyOf, type Resource } from '../objects/resource.ts'
import type { RequestContext } from '../request/handler.ts'
import type { Store } from '../storage/store.ts'
import { CompactedError, FutureRevisionError } from '../storage/store-errors.ts'
import type { ObjectCache } from './object-cache.ts'
import { type Selection, selectionOf, selectsEverything } from './selection.ts'

/** How long a reader waits for a revision that the store has not reached; API servers wait as long. */
const FUTURE_REVISION_WAIT_MS = 3_000

/** How many entries of the past are read at once. */
const HISTORY_PAGE_ENTRIES = 500

export interface ListedItems {
  readonly items: readonly Item[]
  readonly metadata: ListMeta
}

export class Reader {
  readonly #store: Store
  readonly #cache: ObjectCache
  readonly #clock: Clock

  constructor(store: Store, cache: ObjectCache, clock: Clock) {
    this.#store = store
    this.#cache = cache
    this.#clock = clock
  }

  async get(resource: Resource, namespace: string, name: string, context: RequestContext): Promise<Item> {
    await this.catchUp(context.query.first('resourceVersion') ?? '', context.signal)
    const item = this.#cache.collection(resource.keyPrefix).get(keyOf(resource, namespace, name))
    if (item === undefined) throw notFound(resource.groupResource, name)
    return item
  }

  async list(
    resource: Resource,
    namespace: string,
    options: CollectionOptions,
    signal: AbortSignal,
  ): Promise<ListedItems> {
    const selection = selectionOf(resource.kind, options.labels, options.fields)
    if (options.continueToken !== '') return await this.#nextPage(resource, namespace, options, selection, signal)
    if (options.resourceVersionMatch === 'Exact') {
      const revision = namedRevision(options.resourceVersion) ?? 0
      return await this.#listAt(resource, namespace, options, selection, { revision, after: '' }, signal)
    }
    await this.catchUp(options.resourceVersion, signal)
    return await this.#listPresent(resource, namespace, options, selection, '', signal)
  }

  async #listPresent(
    resource: Resource,
    namespace: string,
    options: CollectionOptions,
    selection: Selection,
    after: string,
    signal: AbortSignal,
  ): Promise<ListedItems> {
    const collection = this.#cache.collection(resource.keyPrefix)
    const prefix = collectionPrefix(resource, namespace)
    const { revision } = collection
    const items = collection.list(prefix, after)
    if (selectsEverything(selection)) return page(items, items.length, revision, prefix, options, selection)
    const selected: Item[] = []
    const turns = new Turns(this.#clock)
    for (const item of items) {
      if (turns.isOver) await this.#others(turns, signal)
      if (selection(item)) selected.push(item)
      // One more than is shown: nobody is told how many there are.
      if (options.limit > 0 && selected.length > options.limit) break
    }
    return page(selected, selected.length, revision, prefix, options, selection)
  }

  async #others(turns: Turns, signal: AbortSignal): Promise<void> {
    await turns.next()
    signal.throwIfAborted()
  }

  /** The present, at least as new as the client asked; "0" is content with what is in memory. */
  async catchUp(resourceVersion: string, signal: AbortSignal): Promise<void> {
    if (resourceVersion === '0') return
    const wanted = namedRevision(resourceVersion)
    if (wanted === undefined) {
      await this.#waitFor(await this.#store.revision(), signal)
      return
    }
    if (this.#cache.revision >= wanted) return
    const late = new AbortController()
    const timer = this.#clock.sleep(FUTURE_REVISION_WAIT_MS, late.signal).then(
      () => late.abort(tooLargeResourceVersion(wanted, this.#cache.revision, 1)),
      () => {},
    )
    try {
      await this.#waitFor(wanted, AbortSignal.any([signal, late.signal]))
    } finally {
      late.abort()
      await timer
    }
  }

  /** One change may be what many wait for: they go on one after another, in turns. */
  async #waitFor(revision: number, signal: AbortSignal): Promise<void> {
    if (this.#cache.revision >= revision) return
    await this.#cache.waitFor(revision, signal)
    await this.#others(new Turns(this.#clock), signal)
  }

  async #nextPage(
    resource: Resource,
    namespace: string,
    options: CollectionOptions,
    selection: Selection,
    signal: AbortSignal,
  ): Promise<ListedItems> {
    const { revision, lastKey } = parseContinueToken(options.continueToken)
    const after = collectionPrefix(resource, namespace) + lastKey
    if (revision < 0) return await this.#listPresent(resource, namespace, options, selection, after, signal)
    return await this.#listAt(resource, namespace, options, selection, { revision, after }, signal)
  }

  /** A snapshot of the past comes from the store, page by page; nothing is held open in between. */
  async #listAt(
    resource: Resource,
    namespace: string,
    options: CollectionOptions,
    selection: Selection,
    { revision, after }: { revision: number; after: string },
    signal: AbortSignal,
  ): Promise<ListedItems> {
    const prefix = collectionPrefix(resource, namespace)
    try {
      const { items, remaining } = await this.#read(prefix, { revision, after }, options.limit, selection, signal)
      return page(items, items.length + remaining, revision, prefix, options, selection)
    } catch (error) {
      if (error instanceof FutureRevisionError) throw tooLargeResourceVersion(revision, error.currentRevision, 1)
      if (!(error instanceof CompactedError)) throw error
      if (after === '') throw resourceExpired(`The resourceVersion for the provided list is too old.`)
      const token = formatContinueToken({ revision: -1, lastKey: after.slice(prefix.length) })
      throw resourceExpired(
        'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
        token,
      )
    }
  }

  /** Some at a time: what is long ago takes long to read. Stops when it is plain that there are more than `limit`. */
  async #read(
    prefix: string,
    { revision, after }: { revision: number; after: string },
    limit: number,
    selection: Selection,
    signal: AbortSignal,
  ): Promise<{ items: Item[]; remaining: number }> {
    const turns = new Turns(this.#clock)
    const items: Item[] = []
    let position = after
    for (;;) {
      const options = { revision, limit: HISTORY_PAGE_ENTRIES, after: position || undefined }
      const { entries, remaining } = await this.#store.list(prefix, options)
      for (const entry of entries) {
        if (turns.isOver) await this.#others(turns, signal)
        const item = Item.fromEntry(entry)
        if (selection(item)) items.push(item)
      }
      const wanted = limit + (selectsEverything(selection) ? 0 : 1)
      if (remaining === 0 || (limit > 0 && items.length >= wanted)) return { items, remaining }
      position = entries.at(-1)?.key ?? position
      await this.#others(turns, signal)
    }
  }
}

function page(
  items: readonly Item[],
  total: number,
  revision: number,
  prefix: string,
  { limit }: CollectionOptions,
  selection: Selection,
): ListedItems {
  const resourceVersion = String(revision)
  if (limit <= 0 || total <= limit) return { items, metadata: { resourceVersion } }
  const shown = items.slice(0, limit)
  const lastKey = (shown.at(-1) as Item).key.slice(prefix.length)
  const metadata = { resourceVersion, continue: formatContinueToken({ revision, lastKey }) }
  // With a selector nobody knows what is left without looking; API servers do not say either.
  return {
    items: shown,
    metadata: selectsEverything(selection) ? { ...metadata, remainingItemCount: total - limit } : metadata,
  }
}
