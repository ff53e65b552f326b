/** The pages that have come of lists that go on, until their last page makes them whole. */
import type { Clock } from '../../runtime/clock.ts'
import type { CollectionScope } from '../feeds/collection-scope.ts'
import type { KeptObject } from '../feeds/kept-object.ts'

/** Lists that somebody reads in pages at this moment. */
export const MAX_PAGED_LISTS = 64
/** Of which one account may have as many; beyond, the one it began first is not kept. */
export const MAX_PAGED_LISTS_OF_ACCOUNT = 8
/** What the pages of all of them may hold; beyond, those begun first are not kept. */
export const MAX_PAGED_BYTES = 64 * 1024 * 1024
/** An API server forgets after this time what its token for the next page stands for. */
export const PAGED_LIST_LIFE_MS = 5 * 60_000

export interface PagedList {
  readonly objects: KeptObject[]
  readonly resourceVersion: string
}

interface Waiting extends PagedList {
  readonly account: string
  readonly bytes: number
  readonly cancelTimer: () => void
}

export class PagedLists {
  readonly #clock: Clock
  /** By what asks for the next page; those that waited longest stand first. */
  readonly #waiting = new Map<string, Waiting>()
  #bytes = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get bytes(): number {
    return this.#bytes
  }

  /** The pages before the one that this token asks for; whoever takes them has them for itself. */
  take(scope: CollectionScope, token: string): PagedList | undefined {
    const key = keyOf(scope, token)
    const pages = this.#waiting.get(key)
    this.#remove(key)
    return pages
  }

  /** Waits for the page that this token asks for. */
  wait(scope: CollectionScope, token: string, { objects, resourceVersion }: PagedList, account: string): void {
    const bytes = objects.reduce((sum, { document }) => sum + document.length, 0)
    const key = keyOf(scope, token)
    this.#remove(key)
    const cancelTimer = this.#clock.schedule(PAGED_LIST_LIFE_MS, () => this.#remove(key))
    this.#waiting.set(key, { objects, resourceVersion, account, bytes, cancelTimer })
    this.#bytes += bytes
    this.#limit(account)
  }

  #limit(account: string): void {
    const ofAccount = [...this.#waiting].filter(([, pages]) => pages.account === account).map(([key]) => key)
    for (const key of ofAccount.slice(0, -MAX_PAGED_LISTS_OF_ACCOUNT)) this.#remove(key)
    for (const key of this.#waiting.keys()) {
      if (this.#waiting.size <= MAX_PAGED_LISTS && this.#bytes <= MAX_PAGED_BYTES) return
      this.#remove(key)
    }
  }

  #remove(key: string): void {
    const pages = this.#waiting.get(key)
    if (pages === undefined) return
    pages.cancelTimer()
    this.#waiting.delete(key)
    this.#bytes -= pages.bytes
  }
}

function keyOf(scope: CollectionScope, token: string): string {
  return `${scope.key} ${token}`
}
