/**
 * Keeps what passes: complete lists, also those in pages, and single objects, as the API server gave them to somebody. A feed
 * that follows its collection knows better and takes nothing from here.
 */
import { documentFormat } from '../../kube/document-format.ts'
import type { ListMeta } from '../../kube/objects.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { CollectionScope } from '../feeds/collection-scope.ts'
import { readList, typeOfList } from '../feeds/feed-source.ts'
import type { Feeds } from '../feeds/feeds.ts'
import { KeptObject } from '../feeds/kept-object.ts'
import { uncompressed } from '../feeds/whole-body.ts'
import { tapAnswer } from '../upstream/tapped-answer.ts'
import type { UpstreamAnswer } from '../upstream/upstream.ts'
import type { CollectionRead, ObjectRead, Reading } from './reading.ts'

/** A larger answer passes without being kept: reading it would keep everybody else waiting. */
export const MAX_KEPT_ANSWER_BYTES = 4 * 1024 * 1024
/** Lists that somebody reads in pages at this moment; beyond, the one begun first is not kept. */
export const MAX_PAGED_LISTS = 64
/** What the pages of one such list may hold. */
export const MAX_PAGED_LIST_BYTES = 32 * 1024 * 1024

/** The pages that have come, of a list that goes on. */
interface PagedList {
  readonly objects: KeptObject[]
  readonly resourceVersion: string
  readonly bytes: number
}

export class PassingAnswers {
  readonly #feeds: Feeds
  readonly #logger: Logger
  /** By what asks for the next page. */
  readonly #paged = new Map<string, PagedList>()

  constructor(feeds: Feeds, logger: Logger) {
    this.#feeds = feeds
    this.#logger = logger
  }

  /** The same answer, of which what is complete will be kept. */
  pass(reading: Reading, answer: UpstreamAnswer): UpstreamAnswer {
    if (reading.kind === 'watch' || reading.output.representation.as !== 'Object') return answer
    if (answer.status === 404 && reading.kind === 'get') this.#isGone(reading)
    if (answer.status !== 200) return answer
    return tapAnswer(answer, MAX_KEPT_ANSWER_BYTES, (bytes) => void this.#keep(reading, answer, bytes))
  }

  async #keep(reading: Reading, { headers }: UpstreamAnswer, bytes: Buffer): Promise<void> {
    const header = (wanted: string): string => headers.find(([name]) => name === wanted)?.[1] ?? ''
    const format = documentFormat(header('content-type'))
    if (format === undefined) return
    try {
      const body = await uncompressed(bytes, header('content-encoding'), MAX_KEPT_ANSWER_BYTES)
      if (reading.kind === 'get') {
        this.#keepObject(reading, new KeptObject(format.encoding, body))
        return
      }
      const type = typeOfList(format.walker.typeOf(body))
      const { metadata, items } = readList(format, body)
      this.#keepPage(reading as CollectionRead, metadata, items, type)
    } catch (error) {
      // Nobody waits for this: what goes wrong here ends here.
      const level = error instanceof WireError ? 'debug' : 'error'
      this.#logger[level]({ err: error }, 'an answer could not be kept')
    }
  }

  #keepObject({ scope }: ObjectRead, object: KeptObject): void {
    // Who keeps the whole collection has it from there, or is about to.
    if (this.#feeds.find(scope) === undefined && this.#feeds.covering(scope) !== undefined) return
    this.#feeds.ensure(scope)?.adopt({ objects: [object], resourceVersion: object.version })
  }

  /** A single object that was kept is no more; what is known of whole collections says so by itself. */
  #isGone({ scope }: ObjectRead): void {
    const feed = this.#feeds.find(scope)
    if (feed !== undefined && feed.members === 0) this.#feeds.drop(feed)
  }

  #keepPage(
    { scope, options }: CollectionRead,
    { continue: next = '', resourceVersion = '' }: ListMeta,
    items: readonly KeptObject[],
    type: ReturnType<typeof typeOfList>,
  ): void {
    // What was asked for may be older than what is kept, and is then refused there.
    const before = options.continueToken === '' ? undefined : this.#takePages(scope, options.continueToken)
    if (options.continueToken !== '' && before?.resourceVersion !== resourceVersion) return
    const objects = [...(before?.objects ?? []), ...items]
    if (next !== '') {
      this.#awaitPage(scope, next, { objects, resourceVersion, bytes: (before?.bytes ?? 0) + bytesOf(items) })
      return
    }
    const feed = this.#feeds.ensure(scope)
    feed?.learn(type)
    feed?.adopt({ objects, resourceVersion })
  }

  #takePages(scope: CollectionScope, token: string): PagedList | undefined {
    const key = `${scope.key} ${token}`
    const known = this.#paged.get(key)
    this.#paged.delete(key)
    return known
  }

  #awaitPage(scope: CollectionScope, next: string, pages: PagedList): void {
    if (pages.bytes > MAX_PAGED_LIST_BYTES) return
    this.#paged.set(`${scope.key} ${next}`, pages)
    const [oldest] = this.#paged.keys()
    if (oldest !== undefined && this.#paged.size > MAX_PAGED_LISTS) this.#paged.delete(oldest)
  }
}

function bytesOf(objects: readonly KeptObject[]): number {
  return objects.reduce((sum, { document }) => sum + document.length, 0)
}
