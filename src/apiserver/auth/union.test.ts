import { expect, it } from 'vitest'
import {
  type Attributes,
  type Authorizer,
  type Decision,
  NO_RULES,
  noOpinion,
  type RuleListing,
} from '../request/authorizer.ts'
import { anonymousUser, MASTERS_GROUP } from '../request/user.ts'
import { standardAuthorizer } from './modes.ts'
import { NodeGraph } from './node/graph.ts'
import { RbacView } from './rbac/view.ts'
import { PathAuthorizer, UnionAuthorizer } from './union.ts'

function fixed(decision: Decision, listing: RuleListing = NO_RULES): Authorizer {
  return { authorize: () => decision, rulesFor: () => listing }
}

const allow: Decision = { verdict: 'allow', reason: 'yes' }
const deny: Decision = { verdict: 'deny', reason: 'no' }

function at(path: string): Attributes {
  return { kind: 'non-resource', user: anonymousUser, verb: 'get', path }
}

it.each<[Decision[], Decision]>([
  [[], noOpinion('')],
  [[noOpinion('a'), noOpinion(''), noOpinion('b')], noOpinion('a\nb')],
  [[noOpinion('a'), allow, deny], allow],
  [[deny, allow], deny],
])('%j decide %j', (decisions, expected) => {
  expect(new UnionAuthorizer(decisions.map((decision) => fixed(decision))).authorize(at('/'))).toEqual(expected)
})

it('joins the rules of all', () => {
  const rule = { verbs: ['get'] }
  const union = new UnionAuthorizer([
    fixed(allow, { rules: [rule], incomplete: false, errors: ['a'] }),
    fixed(allow, { rules: [rule], incomplete: true, errors: ['b'] }),
  ])
  expect(union.rulesFor(anonymousUser, 'x')).toEqual({ rules: [rule, rule], incomplete: true, errors: ['a', 'b'] })
})

it.each([
  ['/healthz', true],
  ['healthz', true],
  ['/healthz/', false],
  ['/livez/ping', true],
  ['/livez', false],
  ['/', true],
])('opens %s: %s', (path, open) => {
  const authorizer = new PathAuthorizer(['/healthz', 'livez/*', '/'])
  expect(authorizer.authorize(at(path)).verdict).toBe(open ? 'allow' : 'no-opinion')
})

it('refuses a star that is not at the end', () => {
  expect(() => new PathAuthorizer(['/a*/b'])).toThrow('only trailing * allowed in "a*/b"')
})

it('lets masters in on an empty policy, and everybody at open paths only', () => {
  const authorizer = standardAuthorizer({
    graph: new NodeGraph(),
    source: new RbacView(),
    alwaysAllowPaths: ['/healthz'],
  })
  const master = { ...anonymousUser, groups: [MASTERS_GROUP] }
  expect(authorizer.authorize({ ...at('/x'), user: master }).verdict).toBe('allow')
  expect(authorizer.authorize(at('/healthz')).verdict).toBe('allow')
  expect(authorizer.authorize(at('/x')).verdict).toBe('no-opinion')
})
