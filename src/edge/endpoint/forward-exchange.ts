/**
 * One request up to the API server and its answer back, both bodies flowing with back-pressure. Whichever side goes first
 * takes the other with it: a client that leaves ends its request upstream at once, and an answer that breaks off is cut
 * off for the client too, so that no half of a list looks like a whole one.
 */
import type { Readable } from 'node:stream'
import type { ResponseHeaders, StreamedResponse, StreamingExchange } from '../../serving/exchange.ts'
import type { RequestBody } from '../../serving/streamed-body.ts'
import type { Clock } from '../../telemetry/clock.ts'
import type { FilterPlan, FilterRequest } from '../filters/filter-plan.ts'
import { type HeaderPairs, type Upstream, type UpstreamAnswer, UpstreamError } from '../upstream/upstream.ts'
import { answerError, requestStalled } from './own-answers.ts'
import type { Entry } from './request-entry.ts'
import { clientHeaders, upstreamHeaders, upstreamTrailers } from './request-head.ts'
import { REQUEST_STALL_MS, whenStalled } from './request-progress.ts'
import type { RequestRecord } from './request-record.ts'
import type { TokenReviews } from './token-review.ts'

/** Which filters an answer goes through; `src/edge/filters` has the real one. */
export interface FilterChoice {
  choose(request: FilterRequest): Promise<FilterPlan | undefined>
}

export interface ForwardOptions {
  readonly upstream: Upstream
  readonly filters: FilterChoice
  readonly reviews: TokenReviews
  readonly clock: Clock
  /** Called with each answer of the API server, before it is passed on. */
  readonly judged: (entry: Entry, exchange: StreamingExchange, status: number) => void
}

/** Settles when the head of the answer has been sent, and rejects where there is none to send. */
export async function forwardExchange(
  exchange: StreamingExchange,
  entry: Entry,
  record: RequestRecord,
  options: ForwardOptions,
): Promise<void> {
  const plan = await choosePlan(exchange, entry, options)
  const body = exchange.body()
  const unwatch = body === undefined ? undefined : watchBody(body, exchange, entry, record, options.clock)
  try {
    const answer = await options.upstream.request({
      pool: entry.pool,
      method: exchange.method,
      target: exchange.target,
      headers: upstreamHeaders(exchange.headers, { plainAnswer: plan !== undefined }),
      body,
      trailers:
        body === undefined || !exchange.headers.get('trailer') ? undefined : () => upstreamTrailers(body.trailers()),
      signal: exchange.closed,
    })
    options.judged(entry, exchange, answer.status)
    await passOn(answer, plan, exchange, record)
  } catch (error) {
    unwatch?.()
    throw error
  }
}

const filteredVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch'])

async function choosePlan(
  { method, headers, target }: StreamingExchange,
  { info, caller, key }: Entry,
  { filters, reviews }: ForwardOptions,
): Promise<FilterPlan | undefined> {
  if (method !== 'GET' || info?.kind !== 'resource' || !filteredVerbs.has(info.verb)) return undefined
  return await filters.choose({
    info,
    query: target.includes('?') ? target.slice(target.indexOf('?') + 1) : '',
    // A token is the same caller before and after its first answer, which the key for limits is not.
    caller: caller.kind === 'token' ? caller.hash : key.name,
    isNode: caller.kind === 'node',
    userAgent: headers.get('user-agent') ?? '',
    identify: async () => (caller.kind === 'token' ? await reviews.userOf(caller.token, caller.hash) : undefined),
  })
}

/** Long requests may rest in the middle of their bodies: both ends of a proxied connection know what they do. */
function watchBody(
  body: RequestBody,
  exchange: StreamingExchange,
  { isLong }: Entry,
  record: RequestRecord,
  clock: Clock,
): () => void {
  const unwatch = isLong
    ? (): void => {}
    : whenStalled(body, clock, () => {
        if (exchange.started) exchange.abort()
        else record.answered(answerError(exchange, requestStalled(REQUEST_STALL_MS)))
        body.destroy()
      })
  // Upstream is told of a body that breaks; this keeps its error from being nobody's.
  body.on('error', () => {})
  record.whenOver(() => {
    record.fromClientBytes = body.receivedBytes
    unwatch()
  })
  return unwatch
}

async function passOn(
  answer: UpstreamAnswer,
  plan: FilterPlan | undefined,
  exchange: StreamingExchange,
  record: RequestRecord,
): Promise<void> {
  const headers = clientHeaders(answer.headers)
  const filter = plan?.begin({
    status: answer.status,
    contentType: first(headers, 'content-type'),
    contentEncoding: first(headers, 'content-encoding'),
    acceptEncoding: exchange.headers.all('accept-encoding').join(', '),
  })
  if (filter === undefined) {
    send(exchange, { ...answer, headers, trailers: () => answer.trailers() }, record)
    return
  }
  const { status, body, contentEncoding, contentLength } = await filter.run(answer.body)
  const { 'content-length': _length, 'content-encoding': _encoding, ...others } = headers
  if (contentLength !== undefined) others['content-length'] = String(contentLength)
  if (contentEncoding !== '') {
    others['content-encoding'] = contentEncoding
    others['vary'] = 'Accept-Encoding'
  }
  send(exchange, { status, headers: others, body, trailers: () => answer.trailers() }, record)
}

function first(headers: ResponseHeaders, name: string): string {
  const value = headers[name] ?? ''
  return typeof value === 'string' ? value : (value[0] ?? '')
}

export interface ReadyAnswer {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly body: Readable
  trailers(): HeaderPairs
}

/** Throws, with nothing sent, where the head of the answer cannot be sent. */
export function send(exchange: StreamingExchange, answer: ReadyAnswer, record: RequestRecord): void {
  const { status, headers, body } = answer
  // The client may have gone, or been answered by us, while the API server was thinking.
  if (exchange.closed.aborted || exchange.started) return void body.destroy()
  let isOver = false
  const cut = (): void => {
    if (!isOver) exchange.abort()
  }
  const drop = (): void => {
    isOver = true
    body.destroy()
  }
  body.on('error', cut)
  body.on('close', cut)
  const wholeBytes = headers['trailer'] === undefined ? Number(headers['content-length'] ?? -1) : -1
  let last: Buffer | undefined
  // What flows begins to flow after this turn: by then the head has been written and waits for it.
  body.on('data', (chunk: Buffer) => {
    record.toClientBytes += chunk.length
    // The end is on its way, if not here already: it goes with the last piece.
    if (record.toClientBytes === wholeBytes) last = chunk
    else if (!out.write(chunk)) body.pause()
  })
  body.on('end', () => {
    isOver = true
    if (last === undefined) out.end(answer.trailers())
    else out.endWith(last)
  })
  record.whenOver(drop)
  const out = begin(exchange, status, headers, drop)
  record.answered(status)
  out.onDrain(() => body.resume())
}

/** A head that Node does not send, such as one with a header twice that may stand once, is the API server's fault. */
function begin(
  exchange: StreamingExchange,
  status: number,
  headers: ResponseHeaders,
  giveUp: () => void,
): StreamedResponse {
  try {
    return exchange.stream(status, headers)
  } catch (error) {
    giveUp()
    throw new UpstreamError('broken', `the head of its answer cannot be passed on: ${(error as Error).message}`)
  }
}
