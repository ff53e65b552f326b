/**
 * One watch: initial events if they are wanted, then every change that concerns the client, then bookmarks so that it can
 * resume. An object that enters or leaves the selection appears and disappears, whatever really happened to it.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { ApiError, resourceExpired, toHttp } from '../../kube/status/index.ts'
import type { Clock } from '../../telemetry/clock.ts'
import type { Store } from '../storage/store.ts'
import { CompactedError, FutureRevisionError, StoreUnavailableError } from '../storage/store-errors.ts'
import type { Collection, ItemChange } from './collection.ts'
import { Item } from './item.ts'
import { type CollectionOptions, namedRevision } from './list-options.ts'
import { encodedFrame, eventFrame, type ItemEvent, type OutputContext } from './output.ts'
import type { Selection } from './selection.ts'
import type { WatchQueue } from './watch-queue.ts'

/** About as often as a kube-apiserver. */
export const BOOKMARK_INTERVAL_MS = 60_000
/** A watch without a timeout of its own ends after a random time between this and twice as much. */
export const MIN_WATCH_TIMEOUT_MS = 1_800_000

export interface WatchParts {
  readonly collection: Collection
  readonly prefix: string
  readonly selection: Selection
  readonly options: CollectionOptions
  readonly output: OutputContext
  readonly queue: WatchQueue
  readonly store: Store
  readonly clock: Clock
}

export class Watch {
  readonly #parts: WatchParts
  #isFirst = true

  constructor(parts: WatchParts) {
    this.#parts = parts
  }

  /** Runs until the signal aborts or the time is up, and ends the stream. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, options, queue } = this.#parts
    const ended = new AbortController()
    const running = AbortSignal.any([signal, ended.signal])
    const cancelTimeout = clock.schedule(watchTimeoutMs(options.timeoutSeconds), () => ended.abort())
    const stopBookmarks = options.allowBookmarks ? this.#bookmarkNowAndThen() : () => {}
    try {
      await this.#follow(running)
      if (options.allowBookmarks && !signal.aborted) this.#bookmark({})
    } catch (error) {
      // A defect is for the log to tell; the client sees that it was cut off, and comes again.
      if (!isExpected(error)) throw error
      queue.push(this.#errorFrame(error))
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
    if (wantsInitial) {
      this.#sendInitial()
    } else if (from !== undefined && from < collection.recentFrom) {
      // Too far back for the memory: this one follows the store by itself.
      await this.#followStore(from, signal)
      return
    } else if (from !== undefined) {
      for (const change of collection.changesAfter(from)) this.#tell(change)
    }
    await this.#followCollection(signal)
  }

  /** A change is told to all watchers in turn: what fails here ends this one, and must not get in the way of the others. */
  #followCollection(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const changed = (change: ItemChange): void => {
        try {
          this.#tell(change)
        } catch (error) {
          stop()
          reject(error)
        }
      }
      const stop = this.#parts.collection.listen({ changed })
      const end = (): void => {
        stop()
        resolve()
      }
      if (signal.aborted) end()
      else signal.addEventListener('abort', end, { once: true })
    })
  }

  #sendInitial(): void {
    const { collection, prefix, selection, options } = this.#parts
    for (const item of collection.list(prefix))
      if (selection(item)) this.#send({ type: 'ADDED', item, revision: item.revision })
    if (options.sendInitialEvents === true && options.allowBookmarks) {
      this.#bookmark({ annotations: { 'k8s.io/initial-events-end': 'true' } })
    }
  }

  async #followStore(from: number, signal: AbortSignal): Promise<void> {
    const { store, prefix } = this.#parts
    for await (const { changes } of store.watch(prefix, from, signal)) {
      for (const { entry, previous, revision } of changes) {
        const after = entry === undefined ? undefined : Item.fromEntry(entry)
        const before = previous === undefined ? undefined : Item.fromEntry(previous)
        this.#tell({ revision, before, after })
      }
    }
  }

  #tell({ revision, before, after }: ItemChange): void {
    const { prefix, selection } = this.#parts
    if (!(after ?? before)?.key.startsWith(prefix)) return
    const wasSelected = before !== undefined && selection(before)
    const isSelected = after !== undefined && selection(after)
    if (isSelected) this.#send({ type: wasSelected ? 'MODIFIED' : 'ADDED', item: after, revision })
    // The last state that the client could see, under the version at which it went away.
    else if (wasSelected) this.#send({ type: 'DELETED', item: before, revision })
  }

  #send(event: ItemEvent): void {
    const { queue, output } = this.#parts
    queue.push(eventFrame(event, output, this.#isFirst))
    this.#isFirst = false
  }

  #bookmark(metadata: object): void {
    const { queue, output, collection } = this.#parts
    const object = {
      kind: output.resource.kind,
      apiVersion: output.resource.apiVersion,
      metadata: { resourceVersion: String(collection.revision), ...metadata },
    } as KubeObject
    queue.push(encodedFrame('BOOKMARK', object, output))
  }

  #bookmarkNowAndThen(): () => void {
    let cancel: () => void = () => {}
    const again = (): void => {
      cancel = this.#parts.clock.schedule(BOOKMARK_INTERVAL_MS, () => {
        again()
        this.#bookmark({})
      })
    }
    again()
    return () => cancel()
  }

  #errorFrame(error: unknown): Buffer {
    const known =
      error instanceof CompactedError
        ? resourceExpired(
            `too old resource version: ${this.#parts.options.resourceVersion} (${error.compactedRevision})`,
          )
        : error
    return encodedFrame('ERROR', toHttp(known).status as unknown as KubeObject, this.#parts.output)
  }
}

/** What a client is told of in a frame of its watch. */
function isExpected(error: unknown): boolean {
  return [ApiError, CompactedError, FutureRevisionError, StoreUnavailableError].some((kind) => error instanceof kind)
}

function watchTimeoutMs(seconds: number | undefined): number {
  if (seconds !== undefined && seconds > 0) return seconds * 1000
  return MIN_WATCH_TIMEOUT_MS * (1 + Math.random())
}
