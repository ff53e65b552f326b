/**
 * What of the replica outlives the process: feeds, verdicts, documents and the kubelet's tokens, each written down as it
 * changes, and taken in again by the next process before it serves anybody.
 */

import type { Change } from '../../kube/reflector/view.ts'
import { keyOf } from '../../kube/reflector/view.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { describeScope, hasLongSelectors, scopeFrom, writeScope } from '../feeds/collection-scope.ts'
import type { Feed } from '../feeds/feed.ts'
import type { Feeds } from '../feeds/feeds.ts'
import { KeptObject } from '../feeds/kept-object.ts'
import type { CollectionType } from '../feeds/representing.ts'
import type { FeedState, Keeping, KeptEntry, KeptHead, LoadedFeed } from '../keeping/kept.ts'
import type { Refused } from '../reach/reach-core.ts'
import type { Kept } from '../readers/kept.ts'
import type { Verdict, Verdicts } from '../readers/verdicts.ts'
import type { Documents, KeptDocument } from './documents.ts'
import type { FeedPolicy } from './feed-policy.ts'
import type { TokenAnswer, TokenAnswers } from './token-answers.ts'

const secret = { secret: true }
const plain = { secret: false }

const verdictShelf = 'verdicts'
const documentShelf = 'documents'
const tokenShelf = 'tokens'
const stateShelf = 'states'
const refusedShelf = 'refused'

export interface ReplicaKeepingOptions {
  readonly keeping: Keeping
  readonly logger: Logger
}

/** What is taken in from the run before. */
export interface Restored {
  readonly feeds: Feeds
  readonly verdicts: Verdicts
  readonly documents: Documents
  readonly tokens: TokenAnswers
  /** What it does not keep any more is forgotten. */
  readonly policy: FeedPolicy
}

export class ReplicaKeeping {
  readonly #keeping: Keeping
  readonly #logger: Logger

  constructor({ keeping, logger }: ReplicaKeepingOptions) {
    this.#keeping = keeping
    this.#logger = logger
  }

  /** To be run through before anything is kept or served. */
  async restore({ feeds, verdicts, documents, tokens, policy }: Restored): Promise<void> {
    for await (const loaded of this.#keeping.load()) this.#restoreFeed(loaded, feeds, policy)
    if (policy.isOff) {
      for (const shelf of [verdictShelf, documentShelf, tokenShelf]) this.#forgetShelf(shelf)
      return
    }
    verdicts.restore(this.#read(verdictShelf, readVerdict))
    documents.restore(this.#read(documentShelf, readDocument).map(([, document]) => document))
    tokens.restore(this.#read(tokenShelf, readToken).map(([, answer]) => answer))
  }

  /** Nothing of it must be found here any more, by anybody; only that this node was refused, and why. */
  async erase({ feeds, verdicts, documents, tokens }: Omit<Restored, 'policy'>, refused: Refused): Promise<void> {
    feeds.abandon(new Error(refused.why))
    verdicts.clear()
    documents.clear()
    tokens.clear()
    await this.#keeping.erase()
    this.refused(refused)
  }

  /** Undefined: this node is taken again. */
  refused(refused: Refused | undefined): void {
    if (refused === undefined) this.#keeping.deleteRecord(refusedShelf, refusedShelf)
    else this.#keeping.putRecord(refusedShelf, refusedShelf, Buffer.from(JSON.stringify(refused)), plain)
  }

  get refusedBefore(): Refused | undefined {
    return this.#read(refusedShelf, (value) => JSON.parse(value.toString('utf8')) as Refused)[0]?.[1]
  }

  /** A few bytes of somebody's own. */
  state(name: string): Kept {
    return {
      load: () => Promise.resolve(this.#keeping.records(stateShelf).get(name)),
      save: async (bytes) => {
        this.#keeping.putRecord(stateShelf, name, bytes, secret)
        await this.#keeping.flushed()
      },
    }
  }

  feedMoved(feed: Feed, changes: readonly Change<KeptObject>[]): void {
    if (!isKept(feed)) return
    const puts = new Map<string, KeptEntry>()
    const deletes = new Set<string>()
    for (const { type, object } of changes) {
      const key = keyOf(object)
      if (type === 'deleted') {
        puts.delete(key)
        deletes.add(key)
      } else {
        deletes.delete(key)
        puts.set(key, entryOf(key, object))
      }
    }
    this.#keeping.changeFeed(feed.scope.key, headOf(feed), puts.values(), deletes, secrecyOf(feed))
  }

  feedDropped({ scope }: Feed): void {
    this.#keeping.dropFeed(scope.key)
  }

  verdictChanged(key: string, verdict: Verdict | undefined): void {
    if (verdict === undefined) this.#keeping.deleteRecord(verdictShelf, key)
    else this.#keeping.putRecord(verdictShelf, key, Buffer.from(verdict), plain)
  }

  documentChanged(key: string, document: KeptDocument | undefined): void {
    if (document === undefined) this.#keeping.deleteRecord(documentShelf, key)
    else this.#keeping.putRecord(documentShelf, key, writeDocument(document), plain)
  }

  tokenChanged(key: string, answer: TokenAnswer | undefined): void {
    if (answer === undefined) this.#keeping.deleteRecord(tokenShelf, key)
    else this.#keeping.putRecord(tokenShelf, key, writeToken(answer), secret)
  }

  /** A feed of which something is lost is not what the API server had: it begins anew. */
  #restoreFeed({ key, head, entries, isComplete }: LoadedFeed, feeds: Feeds, policy: FeedPolicy): void {
    try {
      const { scope, type, resourceVersion, currentAtMs, isForNode } = readHead(head)
      if (!policy.keeps(scope, isForNode) || hasLongSelectors(writeScope(scope))) {
        this.#keeping.dropFeed(key)
        return
      }
      if (!isComplete || scope.key !== key) throw new WireError('bad-value', 'some of it is lost')
      const objects = entries.map(({ form, bytes }) => new KeptObject(form === 'protobuf' ? 'protobuf' : 'json', bytes))
      const feed = feeds.restore(scope, { objects, resourceVersion, currentAtMs }, type)
      if (isForNode) feed?.claimForNode()
    } catch (error) {
      this.#keeping.dropFeed(key)
      this.#logger.warn({ err: error, feed: key }, 'a kept collection cannot be used; it will be fetched anew')
    }
  }

  #forgetShelf(shelf: string): void {
    for (const key of this.#keeping.records(shelf).keys()) this.#keeping.deleteRecord(shelf, key)
  }

  /** Of what cannot be read nothing is known. */
  #read<T>(shelf: string, read: (value: Buffer) => T): [string, T][] {
    const found: [string, T][] = []
    for (const [key, value] of this.#keeping.records(shelf)) {
      try {
        found.push([key, read(Buffer.from(value))])
      } catch (error) {
        this.#keeping.deleteRecord(shelf, key)
        this.#logger.warn({ err: error, shelf }, 'something kept cannot be read')
      }
    }
    return found
  }
}

/** The whole of a feed, for a keeping that begins anew; undefined for one that is not to be kept. */
export function presentFeed(feeds: Feeds, key: string): FeedState | undefined {
  const feed = feeds.byKey(key)
  if (feed === undefined || !feed.isComplete || !isKept(feed)) return undefined
  return { head: headOf(feed), entries: entriesOf(feed), ...secrecyOf(feed) }
}

/** Secrets that only pods asked for are not written down: whoever takes the disk finds no more than the kubelet needs. */
export function isKept(feed: Feed): boolean {
  return feed.isForNode || !isSecret(feed)
}

/** Whether it is encrypted where it is written down. */
export function isSecret({ scope }: Feed): boolean {
  return scope.apiGroup === '' && scope.resource === 'secrets'
}

function secrecyOf(feed: Feed): { readonly secret: boolean } {
  return { secret: isSecret(feed) }
}

function* entriesOf({ objects }: Feed): Iterable<KeptEntry> {
  for (const [key, object] of objects) yield entryOf(key, object)
}

function entryOf(key: string, { encoding: form, document: bytes }: KeptObject): KeptEntry {
  return { key, form, bytes }
}

function headOf({ scope, type, version, currentAtMs, isForNode }: Feed): KeptHead {
  return {
    scope: writeScope(scope),
    type,
    resourceVersion: version,
    currentAtMs,
    isForNode,
    what: describeScope(scope),
  }
}

interface Head {
  readonly scope: Parameters<typeof scopeFrom>[0]
  readonly type?: CollectionType
  readonly resourceVersion: string
  readonly currentAtMs: number
  readonly isForNode: boolean
}

/** Written by this very file, and checked against damage since. */
function readHead(head: KeptHead) {
  const { scope, type, resourceVersion, currentAtMs, isForNode } = head as unknown as Head
  return { scope: scopeFrom(scope), type, resourceVersion, currentAtMs, isForNode }
}

function readVerdict(value: Buffer): Verdict {
  const text = value.toString('latin1')
  if (text !== 'allowed' && text !== 'denied') throw new Error(`${text} is no verdict`)
  return text
}

const lineFeed = 0x0a

function writeDocument({ path, contentType, etag, body }: KeptDocument): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ path, contentType, etag })}\n`), body])
}

function readDocument(value: Buffer): KeptDocument {
  const end = value.indexOf(lineFeed)
  const head = JSON.parse(value.subarray(0, end).toString('utf8')) as Omit<KeptDocument, 'body'>
  return { ...head, body: value.subarray(end + 1) }
}

function writeToken({ key, contentType, podUid, body }: TokenAnswer): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ key, contentType, podUid })}\n`), body])
}

function readToken(value: Buffer): TokenAnswer {
  const end = value.indexOf(lineFeed)
  const head = JSON.parse(value.subarray(0, end).toString('utf8')) as Omit<TokenAnswer, 'body'>
  return { ...head, body: value.subarray(end + 1) }
}
