/**
 * Whose token it is, where the endpoint itself must know: asked of the API server under the node's own certificate, and
 * remembered by the token's hash for a moment. Whatever goes wrong, the answer is that nothing is known.
 */
import { Readable } from 'node:stream'
import type { Clock } from '../../runtime/clock.ts'
import type { Upstream } from '../upstream/upstream.ts'

/** A token that is revoked may be taken for its owner's this much longer, and only where filters are chosen. */
export const TOKEN_REVIEW_MS = 10_000
/** More than a node has pods; beyond, the oldest verdict is asked for again. */
export const MAX_TOKEN_REVIEWS = 1_024
/** For the whole question. Whoever waits for it goes on without an answer; nobody's own end ends it, for several may share it. */
export const TOKEN_REVIEW_TIMEOUT_MS = 5_000
/** A TokenReview lists groups and extra values; this is room for thousands. */
export const MAX_TOKEN_REVIEW_BYTES = 256 * 1024

interface Remembered {
  readonly user: Promise<string | undefined>
  readonly untilMs: number
}

export interface TokenReviewOptions {
  readonly upstream: Pick<Upstream, 'request'>
  readonly clock: Clock
  /** Ends all that is under way. */
  readonly signal: AbortSignal
}

const target = '/apis/authentication.k8s.io/v1/tokenreviews'
const headers = [
  ['content-type', 'application/json'],
  ['accept', 'application/json'],
  ['accept-encoding', 'identity'],
  ['user-agent', 'causeway-endpoint'],
] as const

export class TokenReviews {
  readonly #options: TokenReviewOptions
  /** In the order in which they were asked, and so in which they end. */
  readonly #remembered = new Map<string, Remembered>()

  constructor(options: TokenReviewOptions) {
    this.#options = options
  }

  /** The user's name. Several who ask at once about one token share one question. */
  userOf(token: string, hash: string): Promise<string | undefined> {
    const nowMs = this.#options.clock.monotonicMs()
    const known = this.#remembered.get(hash)
    if (known !== undefined && nowMs < known.untilMs) return known.user
    const user = this.#askInTime(token).catch(() => {
      // Not knowing is no verdict: the next one asks again.
      if (this.#remembered.get(hash)?.user === user) this.#remembered.delete(hash)
      return undefined
    })
    this.#remembered.delete(hash)
    this.#remembered.set(hash, { user, untilMs: nowMs + TOKEN_REVIEW_MS })
    this.#trim()
    return user
  }

  #trim(): void {
    if (this.#remembered.size <= MAX_TOKEN_REVIEWS) return
    const [oldest] = this.#remembered.keys()
    if (oldest !== undefined) this.#remembered.delete(oldest)
  }

  async #askInTime(token: string): Promise<string | undefined> {
    const { clock, signal } = this.#options
    const giveUp = new AbortController()
    const onEnd = (): void => giveUp.abort(signal.reason)
    signal.addEventListener('abort', onEnd, { once: true })
    const cancelTimer = clock.schedule(TOKEN_REVIEW_TIMEOUT_MS, () =>
      giveUp.abort(new Error(`no answer to a TokenReview within ${TOKEN_REVIEW_TIMEOUT_MS / 1000} s`)),
    )
    try {
      signal.throwIfAborted()
      return await this.#ask(token, giveUp.signal)
    } finally {
      cancelTimer()
      signal.removeEventListener('abort', onEnd)
    }
  }

  async #ask(token: string, signal: AbortSignal): Promise<string | undefined> {
    const { upstream } = this.#options
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } }
    const body = Buffer.from(JSON.stringify(review))
    const answer = await upstream.request({
      pool: 'node',
      method: 'POST',
      target,
      headers: [...headers, ['content-length', String(body.length)]],
      body: Readable.from([body]),
      signal,
    })
    const text = await readText(answer.body)
    if (answer.status >= 300) throw new Error(`the API server answered ${answer.status} to a TokenReview`)
    return userIn(text)
  }
}

async function readText(body: Readable): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    // Leaving the loop destroys the body.
    if (bytes > MAX_TOKEN_REVIEW_BYTES) throw new Error('the TokenReview is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

interface Reviewed {
  readonly status?: { readonly authenticated?: unknown; readonly user?: { readonly username?: unknown } }
}

function userIn(text: string): string | undefined {
  const { status } = JSON.parse(text) as Reviewed
  const name = status?.user?.username
  return status?.authenticated === true && typeof name === 'string' && name !== '' ? name : undefined
}
