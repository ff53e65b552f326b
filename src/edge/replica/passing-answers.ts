/**
 * Keeps what passes: complete lists, also those in pages, and single objects, as the API server gave them to somebody. A feed
 * that follows its collection knows better and takes nothing from here.
 */
import { type DocumentFormat, documentFormat } from '../../kube/document-format.ts'
import type { ListMeta } from '../../kube/objects.ts'
import { isNotNewer } from '../../kube/reflector/versions.ts'
import type { ResourceRequest } from '../../kube/request-info.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import type { Clock } from '../../runtime/clock.ts'
import { finished, inTurns, type Steps } from '../../runtime/steps.ts'
import { Turns } from '../../runtime/turns.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { CollectionScope } from '../feeds/collection-scope.ts'
import { compactJson } from '../feeds/compact-json.ts'
import type { Feed } from '../feeds/feed.ts'
import { NODE_READER } from '../feeds/feed-budget.ts'
import type { Feeds } from '../feeds/feeds.ts'
import { readList, typeOfList } from '../feeds/kept-list.ts'
import { KeptObject } from '../feeds/kept-object.ts'
import { uncompressed } from '../feeds/whole-body.ts'
import { authorizationOf, type Reader } from '../readers/readers.ts'
import { tapAnswer } from '../upstream/tapped-answer.ts'
import type { UpstreamAnswer } from '../upstream/upstream.ts'
import { objectKey } from './local-answer.ts'
import { PagedLists } from './paged-lists.ts'
import { PolledLists } from './polled-lists.ts'
import { type CollectionRead, type ObjectRead, type Reading, scopeOfObject } from './reading.ts'

/** A larger answer passes without being kept: reading it would keep everybody else waiting. */
export const MAX_KEPT_ANSWER_BYTES = 4 * 1024 * 1024
/** What clients ask for as Tables, or in answers too large to keep, is fetched aside; so often at most. */
export const FETCH_ASIDE_MS = 60_000
/** How long whoever fetches so waits for it at most; its credential is used for no longer. */
export const FETCH_ASIDE_STAY_MS = 10_000

/** Who was given an answer. */
export interface Passer extends Reader {
  /** Whom what is kept of it is counted for. */
  readonly account: string
  /** When it was asked for. */
  readonly askedAtMs: number
}

export class PassingAnswers {
  readonly #feeds: Feeds
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #paged: PagedLists
  readonly #polled: PolledLists
  readonly #gone: (scope: CollectionScope, object: KeptObject) => void

  /** `gone` hears of objects that are kept and that the API server says are no more. */
  constructor(
    feeds: Feeds,
    clock: Clock,
    logger: Logger,
    gone: (scope: CollectionScope, object: KeptObject) => void = () => {},
  ) {
    this.#gone = gone
    this.#feeds = feeds
    this.#clock = clock
    this.#logger = logger
    this.#paged = new PagedLists(clock)
    this.#polled = new PolledLists(clock)
  }

  /** The same answer, of which what is complete will be kept. What cannot be kept as it comes is fetched aside. */
  pass(reading: Reading, answer: UpstreamAnswer, reader: Passer): UpstreamAnswer {
    if (reading.kind === 'watch') return answer
    if (answer.status === 404 && reading.kind === 'get') this.#isGone(reading)
    if (answer.status !== 200 || !isPresent(reading)) return answer
    const followed = this.#followed(reading.scope)
    if (followed !== undefined) {
      if (reader.kind === 'node') this.#feeds.find(reading.scope)?.claimForNode()
      return reading.kind === 'list' ? this.#learnListKind(followed, reading, answer) : answer
    }
    if (reading.output.representation.as !== 'Object') {
      this.#fetchAside(reading, reader)
      return answer
    }
    return tapAnswer(answer, MAX_KEPT_ANSWER_BYTES, (bytes) => {
      if (bytes === undefined) this.#caught(() => this.#fetchAside(reading, reader))
      else void this.#read(answer, bytes, (format, body) => this.#keep(reading, reader, format, body))
    })
  }

  /** The same answer to a write, with the object as it is now. */
  passWritten(info: ResourceRequest, answer: UpstreamAnswer): UpstreamAnswer {
    if (answer.status !== 200 && answer.status !== 201) return answer
    return tapAnswer(answer, MAX_KEPT_ANSWER_BYTES, (bytes) => {
      if (bytes !== undefined) void this.#read(answer, bytes, (format, body) => this.#keepWritten(info, format, body))
    })
  }

  /** What has passed and was not read yet is read now: from here on nothing else comes. */
  cutOff(): void {
    this.#polled.flush()
  }

  /** Then all that can be known of it is known from there. */
  #followed(scope: CollectionScope): Feed | undefined {
    const feed = this.#feeds.find(scope) ?? this.#feeds.covering(scope)
    return feed?.state === 'following' ? feed : undefined
  }

  /** But what a list is called: a feed that has its objects by a watch has never seen one. */
  #learnListKind(feed: Feed, { output }: Reading, answer: UpstreamAnswer): UpstreamAnswer {
    const isKnown = feed.type !== undefined && feed.type.isListKindGuessed !== true
    if (isKnown || output.representation.as !== 'Object') return answer
    return tapAnswer(answer, MAX_KEPT_ANSWER_BYTES, (bytes) => {
      if (bytes === undefined) return
      void this.#read(answer, bytes, ({ walker }, body) => feed.learn(typeOfList(walker.typeOf(body))))
    })
  }

  /** Once in a while, on the credential of whoever asked: as a reader that comes for one look and leaves again. */
  #fetchAside({ scope }: Reading, reader: Passer): void {
    const known = this.#feeds.find(scope) ?? this.#feeds.covering(scope)
    if (known !== undefined && this.#clock.nowMs() - known.currentAtMs < FETCH_ASIDE_MS) return
    const feed = this.#feeds.ensure(scope, reader.account)
    if (feed === undefined) return
    const sponsor = { pool: reader.pool, authorization: authorizationOf(reader) }
    let isOver = false
    const leave = feed.join({ sponsor, lost: () => over() })
    const over = (): void => {
      if (isOver) return
      isOver = true
      unlisten()
      cancelTimer()
      leave()
    }
    // A watch that was opened may be refused yet, and then there is a list to be had: whoever leaves before leaves it stale.
    const overIfCurrent = (): void => {
      if (feed.isCurrent) over()
    }
    const unlisten = feed.listen(overIfCurrent)
    const cancelTimer = this.#clock.schedule(FETCH_ASIDE_STAY_MS, over)
    if (reader.kind === 'node') feed.claimForNode()
    overIfCurrent()
  }

  /** Nobody waits for this: what goes wrong here ends here. */
  async #read({ headers }: UpstreamAnswer, bytes: Buffer, keep: (format: DocumentFormat, body: Buffer) => void) {
    const header = (wanted: string): string => headers.find(([name]) => name === wanted)?.[1] ?? ''
    try {
      const format = documentFormat(header('content-type'))
      if (format === undefined) return
      const plain = await uncompressed(bytes, header('content-encoding'), MAX_KEPT_ANSWER_BYTES)
      keep(format, format.encoding === 'json' ? compactJson(plain) : plain)
    } catch (error) {
      this.#notKept(error)
    }
  }

  #notKept(error: unknown): void {
    const level = error instanceof WireError ? 'debug' : 'error'
    this.#logger[level]({ err: error }, 'an answer could not be kept')
  }

  #keep(reading: ObjectRead | CollectionRead, reader: Passer, format: DocumentFormat, body: Buffer): void {
    if (reading.kind === 'get') {
      this.#keepObject(reading.scope, new KeptObject(format.encoding, body), reader.account)
      this.#feeds.find(reading.scope)?.learn(format.walker.typeOf(body))
      if (reader.kind === 'node') this.#feeds.find(reading.scope)?.claimForNode()
      return
    }
    const { resourceVersion = '', continue: next = '' } = format.walker.listMeta(body)
    const steps = (): Steps<void> => this.#keepList(reading, reader, format, body)
    const read = (isUrgent: boolean): void => {
      if (isUrgent) this.#caught(() => finished(steps()))
      else inTurns(steps(), new Turns(this.#clock)).catch((error: unknown) => this.#notKept(error))
    }
    // The pages of a list are all needed.
    if (next !== '' || reading.options.continueToken !== '') read(false)
    else this.#polled.offer(reading.scope.key, { resourceVersion, body, read })
  }

  #caught(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#notKept(error)
    }
  }

  *#keepList(reading: CollectionRead, reader: Passer, format: DocumentFormat, body: Buffer): Steps<void> {
    const { metadata, items } = yield* readList(format, body)
    this.#keepPage(reading, metadata, items, typeOfList(format.walker.typeOf(body), items[0]), reader)
    if (reader.kind === 'node') this.#feeds.find(reading.scope)?.claimForNode()
  }

  #keepWritten(info: ResourceRequest, { encoding }: DocumentFormat, body: Buffer): void {
    const object = new KeptObject(encoding, body)
    const scope = scopeOfObject({ ...info, name: object.metadata.name ?? info.name })
    this.#keepObject(scope, object, NODE_READER)
    this.#feeds.find(scope)?.claimForNode()
  }

  #keepObject(scope: CollectionScope, object: KeptObject, account: string): void {
    // Of a whole collection that is kept it is a part, unless it has changed since.
    const whole = this.#feeds.find(scope) === undefined ? this.#feeds.covering(scope) : undefined
    if (whole !== undefined && isNotNewer(object.version, whole.version)) return
    this.#feeds.ensure(scope, account)?.adopt({ objects: [object], resourceVersion: object.version })
  }

  /** A single object that was kept is no more; what is known of collections that are followed says so by itself. */
  #isGone({ scope, info }: ObjectRead): void {
    const key = objectKey(info)
    const knowing = this.#feeds.covering(scope, key)
    const object = knowing?.state === 'following' ? undefined : knowing?.objects.get(key)
    if (object !== undefined) this.#gone(scope, object)
    const feed = this.#feeds.find(scope)
    if (feed !== undefined && feed.members === 0) this.#feeds.drop(feed)
  }

  #keepPage(
    { scope, options }: CollectionRead,
    { continue: next = '', resourceVersion = '' }: ListMeta,
    items: readonly KeptObject[],
    type: ReturnType<typeof typeOfList>,
    reader: Passer,
  ): void {
    // What was asked for may be older than what is kept, and is then refused there.
    const { continueToken } = options
    const before = continueToken === '' ? undefined : this.#paged.take(scope, continueToken)
    if (continueToken !== '' && before?.resourceVersion !== resourceVersion) return
    const objects = before?.objects ?? []
    for (const item of items) objects.push(item)
    if (next !== '') {
      this.#paged.wait(scope, next, { objects, resourceVersion }, reader.account)
      return
    }
    const known = this.#feeds.find(scope)
    if (known !== undefined && isFromBefore(known, { resourceVersion, options, reader })) this.#feeds.drop(known)
    const feed = this.#feeds.ensure(scope, reader.account)
    feed?.learn(type)
    feed?.adopt({ objects, resourceVersion })
  }
}

/** Whether it is asked for as it is now, or was a moment ago, and not as it was at some version. */
function isPresent(reading: ObjectRead | CollectionRead): boolean {
  if (reading.kind === 'get') return true
  const { resourceVersion, resourceVersionMatch, limit } = reading.options
  if (resourceVersion === '' || resourceVersion === '0') return true
  return resourceVersionMatch === 'NotOlderThan' || (resourceVersionMatch === '' && limit === 0)
}

interface Newest {
  readonly resourceVersion: string
  readonly options: CollectionRead['options']
  readonly reader: Passer
}

/**
 * Whether versions have gone back since it was current, as they do when an API server has its data restored: the most recent list,
 * asked for later, is of an older one. A feed that is followed finds out by itself.
 */
function isFromBefore(feed: Feed, { resourceVersion, options, reader }: Newest): boolean {
  if (feed.state !== 'resting' || !feed.isComplete || options.resourceVersion !== '') return false
  return (
    options.continueToken === '' && feed.currentAtMs < reader.askedAtMs && !isNotNewer(feed.version, resourceVersion)
  )
}
