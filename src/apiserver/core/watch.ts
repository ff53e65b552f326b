/**
 * One watch: initial events if they are wanted, then every change that concerns the client, then bookmarks so that it can
 * resume. An object that enters or leaves the selection appears and disappears, whatever really happened to it.
 */

import { type CollectionOptions, namedRevision } from '../../kube/collection/options.ts'
import { Turns } from '../../runtime/turns.ts'
import { Item } from '../objects/item.ts'
import type { Store } from '../storage/store.ts'
import type { Collection, ItemChange } from './collection.ts'
import type { Selection } from './selection.ts'
import { WatchClient, type WatchClientParts } from './watch-client.ts'

/** How often a watch that wants bookmarks gets one: about as often as from a kube-apiserver. */
export const BOOKMARK_INTERVAL_MS = 60_000
/** A watch without a timeout of its own ends after a random time between this and twice as much. */
const MIN_WATCH_TIMEOUT_MS = 1_800_000

export interface WatchParts extends WatchClientParts {
  readonly collection: Collection
  readonly prefix: string
  readonly selection: Selection
  /** Without the selectors: they may be long, and a watch lives long. */
  readonly options: Omit<CollectionOptions, 'labels' | 'fields'>
  readonly store: Store
  /** Draws from [0, 1), to spread the ends of watches. */
  readonly random: () => number
}

export class Watch {
  readonly #parts: WatchParts
  readonly #client: WatchClient
  readonly #turns: Turns
  /** The client knows of everything up to here. Nothing can be said before it has its initial events. */
  #toldRevision: number | undefined
  /** Of the last event: one bookmark further back would make the client hear again what it was told. */
  #sentRevision = 0
  /** Whether the watch has taken in everything that the collection knows of. */
  #isUpToDate = false

  constructor(parts: WatchParts) {
    this.#parts = parts
    this.#client = new WatchClient(parts)
    this.#turns = new Turns(parts.clock)
  }

  /** Runs until the signal aborts or the time is up, and ends the stream. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, options, queue } = this.#parts
    const ended = new AbortController()
    const running = AbortSignal.any([signal, ended.signal])
    const cancelTimeout = clock.schedule(watchTimeoutMs(options.timeoutSeconds, random), () => ended.abort())
    const stopBookmarks = options.allowBookmarks ? this.#bookmarkNowAndThen() : () => {}
    try {
      await this.#follow(running)
      if (options.allowBookmarks && !signal.aborted) this.#bookmark()
    } catch (error) {
      // Whatever was under way when it ended.
      if (!running.aborted) this.#client.fail(error, options.resourceVersion)
    } finally {
      cancelTimeout()
      stopBookmarks()
    }
    queue.end()
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { collection, options } = this.#parts
    const from = namedRevision(options.resourceVersion)
    const wantsInitial = options.sendInitialEvents ?? from === undefined
    // Many watches may begin in one breath.
    if (wantsInitial) await this.#turns.next()
    const { position, revision } = collection
    if (wantsInitial) await this.#sendInitial(revision, signal)
    if (signal.aborted) return
    if (wantsInitial || from === undefined) {
      this.#toldRevision = revision
      await this.#followCollection(position, signal)
      return
    }
    this.#toldRevision = from
    // Too far back for the memory: this one follows the store by itself.
    if (from < collection.recentFrom) await this.#followStore(from, signal)
    else await this.#followCollection(collection.positionAfter(from), signal)
  }

  async #sendInitial(revision: number, signal: AbortSignal): Promise<void> {
    const { collection, prefix, selection, options } = this.#parts
    for (const item of collection.list(prefix)) {
      if (this.#turns.isOver) await this.#turns.next()
      if (signal.aborted) return
      if (selection(item)) await this.#client.send({ type: 'ADDED', item, revision: item.revision }, signal)
    }
    if (options.sendInitialEvents === true && options.allowBookmarks) {
      this.#client.bookmark(revision, { annotations: { 'k8s.io/initial-events-end': 'true' } })
    }
  }

  /** Reads the changes at its own pace: nobody waits for this watcher, and it waits for nobody. */
  async #followCollection(start: number, signal: AbortSignal): Promise<void> {
    const { collection } = this.#parts
    let wake: () => void = () => {}
    const stop = collection.listen({ changed: () => wake() })
    signal.addEventListener('abort', () => wake(), { once: true })
    try {
      for (let position = start; !signal.aborted; position++) {
        let change = collection.changeAt(position)
        if (change === undefined && !collection.hasForgotten(position)) {
          this.#isUpToDate = true
          await new Promise<void>((resolve) => {
            wake = resolve
          })
          this.#isUpToDate = false
          // Many watchers wake at once, and each has its turn.
          await this.#turns.next()
          change = collection.changeAt(position)
        }
        if (signal.aborted) return
        if (change === undefined) return await this.#followStore(this.#toldRevision ?? 0, signal)
        await this.#tell(change, signal)
        const isLastOfRevision = collection.changeAt(position + 1)?.revision !== change.revision
        this.#toldRevision = isLastOfRevision ? change.revision : change.revision - 1
        if (this.#turns.isOver) await this.#turns.next()
      }
    } finally {
      stop()
    }
  }

  async #followStore(from: number, signal: AbortSignal): Promise<void> {
    const { store, prefix } = this.#parts
    for await (const { changes, revision: reached } of store.watch(prefix, from, signal)) {
      for (const { entry, previous, revision } of changes) {
        const after = entry === undefined ? undefined : Item.fromEntry(entry)
        const before = previous === undefined ? undefined : Item.fromEntry(previous)
        await this.#tell({ revision, before, after }, signal)
        if (this.#turns.isOver) await this.#turns.next()
        if (signal.aborted) return
      }
      this.#toldRevision = reached
    }
  }

  async #tell({ revision, before, after }: ItemChange, signal: AbortSignal): Promise<void> {
    const { prefix, selection } = this.#parts
    if (!(after ?? before)?.key.startsWith(prefix)) return
    this.#sentRevision = revision
    const wasSelected = before !== undefined && selection(before)
    const isSelected = after !== undefined && selection(after)
    if (isSelected) await this.#client.send({ type: wasSelected ? 'MODIFIED' : 'ADDED', item: after, revision }, signal)
    // The last state that the client could see, under the version at which it went away.
    else if (wasSelected) await this.#client.send({ type: 'DELETED', item: before, revision }, signal)
  }

  #bookmark(): void {
    if (this.#toldRevision === undefined) return
    // Who began at a version that the collection has yet to come to is not told an older one.
    const known = this.#isUpToDate ? this.#parts.collection.revision : 0
    const revision = Math.max(known, this.#toldRevision)
    if (revision >= this.#sentRevision) this.#client.bookmark(revision)
  }

  #bookmarkNowAndThen(): () => void {
    let cancel: () => void = () => {}
    const again = (): void => {
      cancel = this.#parts.clock.schedule(BOOKMARK_INTERVAL_MS, () => {
        again()
        this.#bookmark()
      })
    }
    again()
    return () => cancel()
  }
}

function watchTimeoutMs(seconds: number | undefined, random: () => number): number {
  if (seconds !== undefined && seconds > 0) return seconds * 1000
  return MIN_WATCH_TIMEOUT_MS * (1 + random())
}
