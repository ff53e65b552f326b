/**
 * Whose token it is, where the endpoint itself must know: asked of the API server under the node's own certificate, and
 * remembered by the token's hash for a moment. Whatever goes wrong, the answer is that nothing is known.
 */
import { BoundedMap } from '../../runtime/bounded-map.ts'
import { type Identity, identityFrom } from './identity.ts'
import { ask, type ReviewerOptions } from './review-request.ts'

/** A token that is revoked may be taken for its owner's this much longer. */
export const TOKEN_REVIEW_MS = 10_000
/** More than a node has pods; beyond, the oldest verdict is asked for again. */
export const MAX_TOKEN_REVIEWS = 1_024

interface Remembered {
  readonly identity: Promise<Identity | undefined>
  readonly untilMs: number
}

const target = '/apis/authentication.k8s.io/v1/tokenreviews'

export class TokenReviews {
  readonly #options: ReviewerOptions
  /** In the order in which they were asked, and so in which they end. */
  readonly #remembered = new BoundedMap<string, Remembered>(MAX_TOKEN_REVIEWS)

  constructor(options: ReviewerOptions) {
    this.#options = options
  }

  /** The user's name. */
  async userOf(token: string, hash: string): Promise<string | undefined> {
    return (await this.identityOf(token, hash))?.user.username
  }

  /** Several who ask at once about one token share one question. */
  identityOf(token: string, hash: string): Promise<Identity | undefined> {
    const nowMs = this.#options.clock.monotonicMs()
    const known = this.#remembered.get(hash)
    if (known !== undefined && nowMs < known.untilMs) return known.identity
    const identity = this.#ask(token, hash).catch(() => {
      // Not knowing is no verdict: the next one asks again.
      if (this.#remembered.get(hash)?.identity === identity) this.#remembered.delete(hash)
      return undefined
    })
    this.#remembered.set(hash, { identity, untilMs: nowMs + TOKEN_REVIEW_MS })
    return identity
  }

  /** The API server has said something else of it since. */
  forget(hash: string): void {
    this.#remembered.delete(hash)
  }

  async #ask(token: string, hash: string): Promise<Identity | undefined> {
    const object = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } }
    const { status } = (await ask({ pool: 'node', target, object }, this.#options)) as Reviewed
    return status?.authenticated === true ? identityFrom(status.user, hash) : undefined
  }
}

interface Reviewed {
  readonly status?: { readonly authenticated?: unknown; readonly user?: unknown }
}
