/**
 * Lists that are asked for again and again. Reading one costs many times what passing it on does, so of each collection one is
 * read in a while; the newest of those that come meanwhile waits.
 */
import { isNotNewer } from '../../kube/reflector/versions.ts'
import type { Clock } from '../../runtime/clock.ts'

/** Between two lists of one collection that are read. */
export const READ_AGAIN_MS = 1_000
/** Of all lists that wait: they are read at once when the API server is lost. Beyond, none waits. */
export const MAX_WAITING_LIST_BYTES = 4 * 1024 * 1024

export interface PassedList {
  readonly resourceVersion: string
  readonly body: Buffer
  /** Reads it; `isUrgent` without turns for others. */
  readonly read: (isUrgent: boolean) => void
}

export class PolledLists {
  readonly #clock: Clock
  /** By collection: the one that waits, if one does; and each for as long as none is to be read. */
  readonly #waiting = new Map<string, PassedList | undefined>()
  #bytes = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  offer(key: string, list: PassedList): void {
    if (!this.#waiting.has(key)) {
      this.#readNow(key, list)
      return
    }
    const before = this.#waiting.get(key)
    if (before !== undefined && isNotNewer(list.resourceVersion, before.resourceVersion)) return
    this.#bytes += list.body.length - (before?.body.length ?? 0)
    this.#waiting.set(key, list)
    if (this.#bytes > MAX_WAITING_LIST_BYTES) this.#take(key)?.read(false)
  }

  /** All that wait, now. */
  flush(): void {
    for (const key of this.#waiting.keys()) this.#take(key)?.read(true)
  }

  #readNow(key: string, list: PassedList): void {
    this.#waiting.set(key, undefined)
    this.#clock.schedule(READ_AGAIN_MS, () => {
      const next = this.#take(key)
      if (next === undefined) this.#waiting.delete(key)
      else this.#readNow(key, next)
    })
    list.read(false)
  }

  #take(key: string): PassedList | undefined {
    const list = this.#waiting.get(key)
    if (list === undefined) return undefined
    this.#waiting.set(key, undefined)
    this.#bytes -= list.body.length
    return list
  }
}
