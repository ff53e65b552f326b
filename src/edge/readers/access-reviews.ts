/**
 * Whether a reader may have what the edge is about to give it by itself: asked of the API server with the reader's own
 * credential, so that nobody needs further rights for it, and remembered for a moment.
 */
import { hash } from 'node:crypto'
import { BoundedMap } from '../../runtime/bounded-map.ts'
import type { PoolName } from '../upstream/upstream.ts'
import { ask, type ReviewerOptions, ReviewRefusedError } from './review-request.ts'
import type { Access, Verdict } from './verdicts.ts'

/** Rights that were taken away are felt this much later by those who read from a feed. */
export const ACCESS_REVIEW_MS = 10_000
/** Verdicts that are remembered at a time; beyond, the oldest is asked for again. */
const MAX_ACCESS_REVIEWS = 4_096

export interface Asker {
  readonly pool: PoolName
  readonly authorization: string | undefined
  /** Whom the answer is about, in a text that is never a secret. */
  readonly asker: string
}

/** `rejected`: the credential itself is not taken. */
export type Answer = Verdict | 'rejected'

interface Remembered {
  readonly verdict: Promise<Answer | undefined>
  readonly untilMs: number
}

const target = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'

export class AccessReviews {
  readonly #options: ReviewerOptions
  /** In the order in which they were asked, and so in which they end. */
  readonly #remembered = new BoundedMap<string, Remembered>(MAX_ACCESS_REVIEWS)

  constructor(options: ReviewerOptions) {
    this.#options = options
  }

  /** Undefined where the API server gave no answer: that is no denial. Several who ask the same at once share one question. */
  may(asker: Asker, access: Access): Promise<Answer | undefined> {
    const nowMs = this.#options.clock.monotonicMs()
    // Selectors are as long as whoever asks wants them to be.
    const key = hash('sha256', JSON.stringify([asker.asker, attributesOf(access)]), 'base64url')
    const known = this.#remembered.get(key)
    if (known !== undefined && nowMs < known.untilMs) return known.verdict
    const verdict = this.#ask(asker, access).catch((error: unknown) => {
      if (error instanceof ReviewRefusedError && error.status === 401) return 'rejected' as const
      if (this.#remembered.get(key)?.verdict === verdict) this.#remembered.delete(key)
      return undefined
    })
    this.#remembered.set(key, { verdict, untilMs: nowMs + ACCESS_REVIEW_MS })
    return verdict
  }

  async #ask({ pool, authorization }: Asker, access: Access): Promise<Verdict> {
    const spec = { resourceAttributes: attributesOf(access) }
    const object = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec }
    const { status } = (await ask({ pool, target, authorization, object }, this.#options)) as Reviewed
    return status?.allowed === true ? 'allowed' : 'denied'
  }
}

interface Reviewed {
  readonly status?: { readonly allowed?: unknown }
}

function attributesOf(access: Access): object {
  const { verb, apiGroup: group, apiVersion: version, resource, namespace, name, labelSelector, fieldSelector } = access
  return {
    verb,
    group,
    version,
    resource,
    ...(access.subresource && { subresource: access.subresource }),
    ...(namespace && { namespace }),
    ...(name && { name }),
    ...(labelSelector && { labelSelector: { rawSelector: labelSelector } }),
    ...(fieldSelector && { fieldSelector: { rawSelector: fieldSelector } }),
  }
}
