import { describe, expect, it } from 'vitest'
import { type Attributes, type Authorizer, type Decision, NO_RULES } from '../request/authorizer.ts'
import type { UserInfo } from '../request/user.ts'
import {
  reviewLocalSubjectAccess,
  reviewSelfSubjectAccess,
  reviewSelfSubjectRules,
  reviewSubjectAccess,
} from './review.ts'
import type { ReviewedResource } from './review-objects.ts'

const ann: UserInfo = { name: 'ann', uid: '1', groups: ['g'], extra: { k: ['v'] } }

/** Answers as told and remembers what it was asked. */
function recorder(decision: Decision): Authorizer & { readonly asked: Attributes[] } {
  const asked: Attributes[] = []
  const authorize = (attributes: Attributes): Decision => {
    asked.push(attributes)
    return decision
  }
  return { asked, authorize, rulesFor: () => NO_RULES }
}

const allow: Decision = { verdict: 'allow', reason: 'because' }

describe('access reviews', () => {
  it('ask about the subject that they name', () => {
    const authorizer = recorder(allow)
    const spec = {
      user: 'ann',
      uid: '1',
      groups: ['g'],
      extra: { k: ['v'] },
      resourceAttributes: { verb: 'get', group: 'apps', resource: 'deployments', subresource: 'scale', name: 'n' },
    }
    expect(reviewSubjectAccess({ metadata: { managedFields: [{}] }, spec }, authorizer)).toEqual({
      kind: 'SubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      metadata: { managedFields: [{}] },
      spec,
      status: { allowed: true, reason: 'because' },
    })
    expect(authorizer.asked).toEqual([
      {
        kind: 'resource',
        user: ann,
        verb: 'get',
        namespace: '',
        apiGroup: 'apps',
        apiVersion: '*',
        resource: 'deployments',
        subresource: 'scale',
        name: 'n',
        fieldSelector: '',
        labelSelector: '',
      },
    ])
  })

  it('ask about who asks', () => {
    const authorizer = recorder({ verdict: 'deny', reason: '' })
    const review = { spec: { nonResourceAttributes: { path: '/x', verb: 'get' } } }
    expect(reviewSelfSubjectAccess(review, ann, authorizer)['status']).toEqual({ allowed: false, denied: true })
    expect(authorizer.asked).toEqual([{ kind: 'non-resource', user: ann, verb: 'get', path: '/x' }])
  })

  it('stay in the namespace of the request', () => {
    const spec = { user: 'ann', resourceAttributes: { namespace: 'x' } }
    expect(reviewLocalSubjectAccess({ spec }, 'x', recorder(allow)).metadata).toEqual({ namespace: 'x' })
    expect(() => reviewLocalSubjectAccess({ spec, metadata: { namespace: 'y' } }, 'x', recorder(allow))).toThrow(
      'the namespace of the provided object does not match the namespace sent on the request',
    )
    expect(() => reviewLocalSubjectAccess({ spec }, 'y', recorder(allow))).toThrow(
      '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "x": must match metadata.namespace',
    )
  })

  it('have no metadata', () => {
    const spec = { user: 'ann', resourceAttributes: {} }
    const metadata = { name: 'n' }
    expect(() => reviewSubjectAccess({ spec, metadata }, recorder(allow))).toThrow(
      '.authorization.k8s.io "" is invalid: metadata: Invalid value: {"name":"n"}: must be empty',
    )
    expect(() => reviewSelfSubjectAccess({ spec, metadata }, ann, recorder(allow))).toThrow(/: must be empty$/)
    expect(() =>
      reviewLocalSubjectAccess(
        { spec: { user: 'a', resourceAttributes: { namespace: 'x' } }, metadata },
        'x',
        recorder(allow),
      ),
    ).toThrow(/: must be empty except for namespace$/)
  })
})

const ignored = 'spec.resourceAttributes.fieldSelector ignored due to parse error'
const partly = 'spec.resourceAttributes.fieldSelector partially ignored due to parse error'
const labelsIgnored = 'spec.resourceAttributes.labelSelector ignored due to parse error'

it.each<[ReviewedResource, string, string, string | undefined]>([
  [{ fieldSelector: { rawSelector: 'b=2,a==1' } }, 'a=1,b=2', '', undefined],
  [{ fieldSelector: { rawSelector: 'b' } }, '', '', ignored],
  [{ fieldSelector: { requirements: [{ key: 'a', operator: 'In', values: ['x,y'] }] } }, 'a=x\\,y', '', undefined],
  [{ fieldSelector: { requirements: [{ key: 'a', operator: 'NotIn', values: ['x'] }] } }, 'a!=x', '', undefined],
  [{ fieldSelector: { requirements: [{ key: 'a', operator: 'Exists' }] } }, '', '', ignored],
  [
    {
      fieldSelector: {
        requirements: [
          { key: 'a', operator: 'In', values: ['x', 'y'] },
          { key: 'b', operator: 'In', values: ['z'] },
        ],
      },
    },
    'b=z',
    '',
    partly,
  ],
  [{ labelSelector: { rawSelector: 'b in (x),a' } }, '', 'a,b in (x)', undefined],
  [
    { fieldSelector: { rawSelector: 'b' }, labelSelector: { requirements: [{ key: 'a', operator: 'New' }] } },
    '',
    '',
    `${ignored}; ${labelsIgnored}`,
  ],
])('reads selectors: %j', (resourceAttributes, fields, labels, evaluationError) => {
  const authorizer = recorder(allow)
  const { status } = reviewSelfSubjectAccess({ spec: { resourceAttributes } }, ann, authorizer)
  expect(status).toEqual({ allowed: true, reason: 'because', ...(evaluationError && { evaluationError }) })
  expect(authorizer.asked).toMatchObject([{ fieldSelector: fields, labelSelector: labels }])
})

it('reads null as nothing', () => {
  const spec = JSON.parse(
    '{"user":"a","groups":null,"resourceAttributes":null,"nonResourceAttributes":{"path":"/"}}',
  ) as object
  expect(reviewSubjectAccess({ spec }, recorder(allow))['status']).toMatchObject({ allowed: true })
  const selectors = JSON.parse(
    '{"fieldSelector":null,"labelSelector":{"rawSelector":null,"requirements":null}}',
  ) as object
  expect(() => reviewSubjectAccess({ spec: { user: 'a', resourceAttributes: selectors } }, recorder(allow))).toThrow(
    /labelSelector.requirements: Required value/,
  )
})

it('lists rules of resources and of paths apart', () => {
  const rules = [
    { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] },
    { verbs: ['get'], nonResourceURLs: ['/a'] },
  ]
  const authorizer = { ...recorder(allow), rulesFor: () => ({ rules, incomplete: true, errors: ['x', 'y', 'x'] }) }
  expect(reviewSelfSubjectRules({ spec: { namespace: 'n' } }, ann, authorizer)).toEqual({
    kind: 'SelfSubjectRulesReview',
    apiVersion: 'authorization.k8s.io/v1',
    metadata: {},
    spec: {},
    status: { resourceRules: [rules[0]], nonResourceRules: [rules[1]], incomplete: true, evaluationError: '[x, y]' },
  })
  expect(() => reviewSelfSubjectRules({}, ann, authorizer)).toThrow('no namespace on request')
})
