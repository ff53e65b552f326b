/** Questions to the API server that it answers with a filled-in copy: reviews of tokens and of access. */
import { BytesSource } from '../../http/body/bytes-source.ts'
import { readBody } from '../../http/body/request-body.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { HeaderPairs, PoolName, Upstream } from '../upstream/upstream.ts'

/** For the whole question. Whoever waits for it goes on without an answer; nobody's own end ends it, for several may share it. */
export const REVIEW_TIMEOUT_MS = 5_000
/** A review lists groups and extra values; this is room for thousands. */
export const MAX_REVIEW_BYTES = 256 * 1024

export interface ReviewerOptions {
  readonly upstream: Pick<Upstream, 'request'>
  readonly clock: Clock
  /** Ends all that is under way. */
  readonly signal: AbortSignal
}

export interface Review {
  readonly pool: PoolName
  /** Where it is posted to. */
  readonly target: string
  /** The value of the header; none where the connection itself says who asks. */
  readonly authorization?: string | undefined
  readonly object: { readonly apiVersion: string; readonly kind: string; readonly spec: object }
}

const headers: HeaderPairs = [
  ['content-type', 'application/json'],
  ['accept', 'application/json'],
  ['accept-encoding', 'identity'],
  ['user-agent', 'causeway-endpoint'],
]

/** The API server did not answer the question, but said why. */
export class ReviewRefusedError extends Error {
  override readonly name = 'ReviewRefusedError'
  readonly status: number

  constructor(status: number, kind: string) {
    super(`the API server answered ${status} to a ${kind}`)
    this.status = status
  }
}

/** What the API server has filled in, parsed. Rejects where there is no answer in time. */
export async function ask(review: Review, { upstream, clock, signal }: ReviewerOptions): Promise<unknown> {
  const { kind } = review.object
  const giveUp = new AbortController()
  const onEnd = (): void => giveUp.abort(signal.reason)
  signal.addEventListener('abort', onEnd, { once: true })
  const cancelTimer = clock.schedule(REVIEW_TIMEOUT_MS, () =>
    giveUp.abort(new Error(`no answer to a ${kind} within ${REVIEW_TIMEOUT_MS / 1000} s`)),
  )
  try {
    signal.throwIfAborted()
    return await post(review, upstream, giveUp.signal)
  } finally {
    cancelTimer()
    signal.removeEventListener('abort', onEnd)
  }
}

async function post(
  { pool, target, authorization, object }: Review,
  upstream: ReviewerOptions['upstream'],
  signal: AbortSignal,
): Promise<unknown> {
  const body = Buffer.from(JSON.stringify(object))
  const credential: HeaderPairs = authorization === undefined ? [] : [['authorization', authorization]]
  const answer = await upstream.request({
    pool,
    method: 'POST',
    target,
    headers: [...headers, ['content-length', String(body.length)], ...credential],
    body: new BytesSource(body),
    signal,
  })
  const text = (await readBody(answer.body, undefined, MAX_REVIEW_BYTES)).toString('utf8')
  if (answer.status >= 300) throw new ReviewRefusedError(answer.status, object.kind)
  return JSON.parse(text)
}
