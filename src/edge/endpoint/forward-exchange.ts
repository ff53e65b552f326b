/**
 * One request up to the API server and its answer back, both bodies flowing with back-pressure. Whichever side goes first
 * takes the other with it: a client that leaves ends its request upstream at once, and an answer that breaks off is cut
 * off for the client too, so that no half of a list looks like a whole one.
 */

import { BytesSource } from '../../http/body/bytes-source.ts'
import { readBody } from '../../http/body/request-body.ts'
import type { RequestBody } from '../../http/body/streamed-body.ts'
import { BodyTooLargeError, type ResponseHeaders, type StreamingExchange } from '../../http/server/exchange.ts'
import { requestEntityTooLarge } from '../../kube/status/request-errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { FilterPlan, FilterRequest } from '../filters/filter-plan.ts'
import type { ReplicaRequest } from '../replica/replica-request.ts'
import type { Upstream, UpstreamAnswer } from '../upstream/upstream.ts'
import { answerError, requestStalled } from './own-answers.ts'
import type { Entry } from './request-entry.ts'
import { clientHeaders, upstreamHeaders, upstreamTrailers } from './request-head.ts'
import { REQUEST_STALL_MS, whenStalled } from './request-progress.ts'
import type { RequestRecord } from './request-record.ts'
import { readyAnswer, send } from './send-answer.ts'

/** Which filters an answer goes through; `src/edge/filters` has the real one. */
export interface FilterChoice {
  choose(request: FilterRequest): Promise<FilterPlan | undefined>
}

/** The verified user name of a token; undefined where it is unknown. */
export type Identify = (token: string, hash: string) => Promise<string | undefined>

/** What may answer in place of the API server; `src/edge/replica` has the real one. */
export interface AnswerChoice {
  answer(request: ReplicaRequest): Promise<UpstreamAnswer>
}

export interface ForwardOptions {
  readonly upstream: Upstream
  /** Absent: every request goes up. */
  readonly replica?: AnswerChoice | undefined
  readonly filters: FilterChoice
  readonly identify: Identify
  readonly clock: Clock
  /** Called with each answer, before it is passed on: of the API server, and of what knows here whom that takes. */
  readonly judged: (entry: Entry, exchange: StreamingExchange, record: RequestRecord, status: number) => void
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
    const up = async (whole?: Buffer): Promise<UpstreamAnswer> => {
      const answer = await options.upstream.request({
        pool: entry.pool,
        method: exchange.method,
        target: exchange.target,
        headers: upstreamHeaders(exchange.headers, { plainAnswer: plan !== undefined, peer: exchange.peer }),
        body: whole === undefined ? body : new BytesSource(whole),
        trailers:
          body === undefined || whole !== undefined || !exchange.headers.get('trailer')
            ? undefined
            : () => upstreamTrailers(body.trailers()),
        signal: exchange.ending,
      })
      options.judged(entry, exchange, record, answer.status)
      return answer
    }
    const answer = await (options.replica?.answer(replicaRequest(exchange, entry, body, up)) ?? up())
    if (answer.isLocal === true) options.judged(entry, exchange, record, answer.status)
    await passOn(answer, plan, exchange, record)
  } catch (error) {
    unwatch?.()
    throw error
  }
}

function replicaRequest(
  { method, headers, ending: signal }: StreamingExchange,
  { info, query, caller, pool }: Entry,
  body: RequestBody | undefined,
  up: ReplicaRequest['up'],
): ReplicaRequest {
  const { token, hash: tokenHash } = caller.kind === 'token' ? caller : { token: undefined, hash: '' }
  const reader = { kind: caller.kind, pool, token, tokenHash }
  return { method, info, query, headers, reader, signal, readBody: (maxBytes) => readWhole(body, maxBytes), up }
}

async function readWhole(body: RequestBody | undefined, maxBytes: number): Promise<Buffer> {
  if (body === undefined) return Buffer.alloc(0)
  try {
    return await readBody(body, undefined, maxBytes)
  } catch (error) {
    throw error instanceof BodyTooLargeError ? requestEntityTooLarge(`limit is ${maxBytes}`) : error
  }
}

const filteredVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch'])

async function choosePlan(
  { method, headers }: StreamingExchange,
  { info, query, caller, key }: Entry,
  { filters, identify }: ForwardOptions,
): Promise<FilterPlan | undefined> {
  if (method !== 'GET' || info?.kind !== 'resource' || !filteredVerbs.has(info.verb)) return undefined
  return await filters.choose({
    info,
    query,
    // A token is the same caller before and after its first answer, which the key for limits is not.
    caller: caller.kind === 'token' ? caller.hash : key.name,
    isNode: caller.kind === 'node',
    userAgent: headers.get('user-agent') ?? '',
    identify: async () => (caller.kind === 'token' ? await identify(caller.token, caller.hash) : undefined),
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
        body.cut(new Error('the client stopped in the middle of its request'))
      })
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
    isRetold: answer.isRetold,
  })
  if (filter === undefined) {
    send(exchange, readyAnswer(answer, headers), record)
    return
  }
  const { status, body, contentEncoding, contentLength } = await filter.run(answer.body)
  const { 'content-length': _length, 'content-encoding': _encoding, ...others } = headers
  if (contentLength !== undefined) others['content-length'] = String(contentLength)
  if (contentEncoding !== '') {
    others['content-encoding'] = contentEncoding
    others['vary'] = 'Accept-Encoding'
  }
  send(exchange, { status, headers: others, source: body, trailers: () => answer.trailers() }, record)
}

function first(headers: ResponseHeaders, name: string): string {
  const value = headers[name] ?? ''
  return typeof value === 'string' ? value : (value[0] ?? '')
}
