/**
 * Where a feed has its objects from: lists and watches of the API server, asked with the credential of whoever sponsors the
 * feed at that moment, in the encoding that costs the link least.
 */
import type { Readable } from 'node:stream'
import { SourceStream } from '../../http/body/source-stream.ts'
import type { CallOptions, ListQuery, WatchQuery } from '../../kube/client/options.ts'
import { decodeProtobuf } from '../../kube/codec/object-codec.ts'
import { type DocumentEncoding, type DocumentFormat, documentFormat } from '../../kube/document-format.ts'
import type { KubeList, WatchEvent } from '../../kube/objects.ts'
import type { ReflectorSource, WatchSource } from '../../kube/reflector/reflector.ts'
import { formatQuery } from '../../kube/request-query.ts'
import { fromHttp, type ResponseHeaders } from '../../kube/status/from-http.ts'
import { withExplanation } from '../../kube/status/generic-response.ts'
import { readFailure } from '../../kube/status/read-status.ts'
import { ApiError } from '../../kube/status/status.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import type { Clock } from '../../runtime/clock.ts'
import { inTurns } from '../../runtime/steps.ts'
import { Turns } from '../../runtime/turns.ts'
import type { HeaderPairs, PoolName, Upstream, UpstreamAnswer } from '../upstream/upstream.ts'
import { type CollectionScope, scopePath } from './collection-scope.ts'
import { type LearnedType, readList, typeOfList } from './kept-list.ts'
import { KeptObject } from './kept-object.ts'
import { MAX_LIST_BYTES, readWhole } from './whole-body.ts'

/** Whose rights a feed is followed with. */
export interface Sponsor {
  readonly pool: PoolName
  /** The value of the header, which stays in memory for as long as its owner's own request runs; none for the node. */
  readonly authorization: string | undefined
}

export interface FeedSourceOptions {
  readonly scope: CollectionScope
  readonly upstream: Pick<Upstream, 'request'>
  /** Throws where there is none. */
  readonly sponsor: () => Sponsor
  /** Hears what the collection is made of. */
  readonly learned: (type: LearnedType) => void
  /** A watch from a known version has been opened: from here on all that changes is told. */
  readonly following: () => void
  readonly clock: Clock
}

const acceptNative = 'application/vnd.kubernetes.protobuf,application/json'
const userAgent = 'causeway-feed'

export class FeedSource implements ReflectorSource<KeptObject> {
  readonly #options: FeedSourceOptions

  constructor(options: FeedSourceOptions) {
    this.#options = options
  }

  async list(query: ListQuery, { signal }: CallOptions): Promise<KubeList<KeptObject>> {
    const answer = await this.#ask({ ...query }, [['accept-encoding', 'gzip']], signal)
    const format = formatOf(answer)
    const body = await readWhole(answer, MAX_LIST_BYTES)
    const list = await inTurns(readList(format, body), new Turns(this.#options.clock))
    this.#options.learned(typeOfList(format.walker.typeOf(body), list.items[0]))
    return list
  }

  async watch(query: WatchQuery, { signal }: CallOptions): Promise<WatchSource<KeptObject>> {
    const answer = await this.#ask({ ...query, watch: true }, [['accept-encoding', 'identity']], signal)
    if (query.sendInitialEvents !== true) this.#options.following()
    return new FeedWatch(new SourceStream(answer.body), formatOf(answer), this.#options.learned)
  }

  async #ask(
    query: Readonly<Record<string, string | number | boolean | undefined>>,
    headers: HeaderPairs,
    signal = new AbortController().signal,
  ): Promise<UpstreamAnswer> {
    const { scope, upstream } = this.#options
    const { pool, authorization } = this.#options.sponsor()
    const pairs = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as const],
    )
    const credential: HeaderPairs = authorization === undefined ? [] : [['authorization', authorization]]
    const answer = await upstream.request({
      pool,
      method: 'GET',
      target: `${scopePath(scope)}?${formatQuery(pairs)}`,
      headers: [['accept', acceptNative], ['user-agent', userAgent], ...headers, ...credential],
      body: undefined,
      signal,
    })
    if (answer.status !== 200) throw await failureOf(answer)
    return answer
  }
}

function formatOf({ headers, body }: UpstreamAnswer): DocumentFormat {
  const contentType = headers.find(([name]) => name === 'content-type')?.[1] ?? ''
  const format = documentFormat(contentType)
  if (format !== undefined) return format
  body.cancel()
  throw new WireError('unknown-kind', `the API server answered in ${JSON.stringify(contentType)}`)
}

/** An answer is read as far as it takes to know why it is a refusal. */
const MAX_FAILURE_BYTES = 64 * 1024

async function failureOf(answer: UpstreamAnswer): Promise<ApiError> {
  const headers: ResponseHeaders = Object.fromEntries(answer.headers)
  const body = await readWhole(answer, MAX_FAILURE_BYTES)
  const decodeBody = (_mediaType: string, bytes: Uint8Array): unknown => decodeProtobuf(bytes).object
  return fromHttp(answer.status, headers, body, { method: 'GET', decodeBody })
}

/** The events of one upstream watch. */
class FeedWatch implements WatchSource<KeptObject> {
  readonly #body: Readable
  readonly #format: DocumentFormat
  readonly #learned: FeedSourceOptions['learned']
  #isFirst = true
  #isClosed = false

  constructor(body: Readable, format: DocumentFormat, learned: FeedSourceOptions['learned']) {
    this.#body = body
    this.#format = format
    this.#learned = learned
  }

  close(): void {
    this.#isClosed = true
    this.#body.destroy()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WatchEvent<KeptObject>, void, undefined> {
    const decoder = this.#format.frames()
    try {
      for await (const chunk of this.#body as AsyncIterable<Buffer>) {
        for (const frame of decoder.push(chunk)) yield this.#event(frame)
        if (decoder.failure !== undefined) throw decoder.failure
      }
    } catch (error) {
      if (this.#isClosed) return
      throw error
    }
    const failure = decoder.end()
    if (failure !== undefined) throw failure
  }

  #event(frame: Uint8Array): WatchEvent<KeptObject> {
    const { walker, encoding } = this.#format
    const { type, object } = walker.readEvent(frame)
    if (this.#isFirst && type !== 'ERROR') this.#learned(walker.typeOf(object))
    this.#isFirst = false
    if (type !== 'ERROR')
      return { type, object: type === 'BOOKMARK' ? bookmark(encoding, object) : new KeptObject(encoding, object) }
    const failure = readFailure(new KeptObject(encoding, object).value(), 500)
    throw failure === undefined
      ? new WireError('bad-value', 'an ERROR event carries no Status')
      : new ApiError(withExplanation(failure))
  }
}

/** What it is a bookmark of is written in its annotations. */
function bookmark(encoding: DocumentEncoding, object: Uint8Array): KeptObject {
  const kept = new KeptObject(encoding, object)
  kept.metadata.annotations = (kept.read(['metadata', 'annotations']) ?? {}) as Record<string, string>
  return kept
}
