/** Resources that keep nothing: the question comes in, the answer goes out. */

import { negotiateOutput } from '../../kube/negotiation.ts'
import { BUILT_IN_OBJECT } from '../../kube/negotiation-offers.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { responseContentType } from '../../kube/representation.ts'
import type { ResourceRequest } from '../../kube/request-info.ts'
import { joinGroupVersion } from '../../kube/schema/catalogue.ts'
import { findKind } from '../../kube/schema/schema.ts'
import { methodNotSupported } from '../../kube/status/resource-errors.ts'
import { respond } from '../answers/respond.ts'
import {
  reviewLocalSubjectAccess,
  reviewSelfSubjectAccess,
  reviewSelfSubjectRules,
  reviewSubjectAccess,
} from '../auth/review.ts'
import { inOrder, readQuestion } from '../objects/decode-body.ts'
import type { Authorizer } from '../request/authorizer.ts'
import type { RequestContext } from '../request/handler.ts'
import type { Renderer } from './renderer.ts'

type Review = (review: KubeObject, context: RequestContext, info: ResourceRequest) => KubeObject | Promise<KubeObject>

export interface ReviewParts {
  readonly authorizer: Authorizer
  readonly renderer: Renderer
  reviewToken(review: KubeObject): Promise<KubeObject>
}

export class Reviews {
  readonly #reviews: ReadonlyMap<string, readonly [kind: string, review: Review]>
  readonly #renderer: Renderer

  constructor(parts: ReviewParts) {
    const { authorizer } = parts
    this.#renderer = parts.renderer
    this.#reviews = new Map<string, readonly [string, Review]>([
      ['subjectaccessreviews', ['SubjectAccessReview', (review) => reviewSubjectAccess(review, authorizer)]],
      [
        'localsubjectaccessreviews',
        [
          'LocalSubjectAccessReview',
          (review, _context, info) => reviewLocalSubjectAccess(review, info.namespace, authorizer),
        ],
      ],
      [
        'selfsubjectaccessreviews',
        ['SelfSubjectAccessReview', (review, { user }) => reviewSelfSubjectAccess(review, user, authorizer)],
      ],
      [
        'selfsubjectrulesreviews',
        ['SelfSubjectRulesReview', (review, { user }) => reviewSelfSubjectRules(review, user, authorizer)],
      ],
      ['selfsubjectreviews', ['SelfSubjectReview', (review, context) => whoAmI(review, context)]],
      ['tokenreviews', ['TokenReview', (review) => parts.reviewToken(review)]],
    ])
  }

  /** False when the resource is not a review. */
  async handle(context: RequestContext, info: ResourceRequest): Promise<boolean> {
    const known = this.#reviews.get(info.resource)
    if (known === undefined || !info.apiGroup.endsWith('.k8s.io')) return false
    if (info.verb !== 'create') throw methodNotSupported({ group: info.apiGroup, resource: info.resource }, info.verb)
    const [kind, review] = known
    const apiVersion = joinGroupVersion(info.apiGroup, info.apiVersion)
    const message = findKind(apiVersion, kind)?.message
    if (message === undefined) return false
    const expected = { apiVersion, kind, message }
    const output = negotiateOutput(
      {
        accept: context.exchange.headers.get('accept'),
        userAgent: context.exchange.headers.get('user-agent'),
        pretty: context.query.first('pretty'),
        stream: false,
      },
      BUILT_IN_OBJECT,
    )
    const answer = await review(await readQuestion(context, expected), context, info)
    const ordered = inOrder(answer, expected)
    const { encoding } = output.representation
    const headers = { 'content-type': responseContentType(output.representation, { stream: false }) }
    const asker = { caller: context.user.name, signal: context.signal }
    await respond(context, 201, headers, await this.#renderer.body(ordered, encoding, output.pretty, asker))
    return true
  }
}

function whoAmI(review: KubeObject, { user }: RequestContext): KubeObject {
  const { name, uid, groups, extra } = user
  const userInfo = { username: name, ...(uid === '' ? {} : { uid }), groups, extra }
  return { ...review, status: { userInfo } }
}
