import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Attributes, PolicyRule, ResourceAttributes } from '../../request/authorizer.ts'
import { anonymousUser } from '../../request/user.ts'
import { ruleAllows } from './rule-match.ts'

function request(verb: string, resource: string, name = '', apiGroup = ''): ResourceAttributes {
  const [first = '', subresource = ''] = resource.split('/')
  const names = { namespace: '', apiGroup, apiVersion: 'v1', resource: first, subresource, name }
  return { kind: 'resource', user: anonymousUser, verb, ...names, fieldSelector: '', labelSelector: '' }
}

function path(verb: string, at: string): Attributes {
  return { kind: 'non-resource', user: anonymousUser, verb, path: at }
}

const core = { apiGroups: [''] }

it.each<[boolean, PolicyRule, Attributes]>([
  [true, { ...core, verbs: ['get'], resources: ['pods'] }, request('get', 'pods')],
  [false, { ...core, verbs: ['get'], resources: ['pods'] }, request('list', 'pods')],
  [true, { ...core, verbs: ['*'], resources: ['*'] }, request('any', 'pods/exec', 'x')],
  [false, { ...core, verbs: ['get'], resources: ['pods'] }, request('get', 'pods/log')],
  [false, { ...core, verbs: ['get'], resources: ['pods/*'] }, request('get', 'pods/log')],
  [true, { ...core, verbs: ['get'], resources: ['*/log'] }, request('get', 'pods/log')],
  [false, { ...core, verbs: ['get'], resources: ['*/log'] }, request('get', 'pods/xlog')],
  [false, { ...core, verbs: ['get'], resources: ['*/'] }, request('get', 'pods')],
  [false, { ...core, verbs: ['get'], resources: ['pods'] }, request('get', 'pods', '', 'apps')],
  [true, { apiGroups: ['*'], verbs: ['get'], resources: ['pods'] }, request('get', 'pods', '', 'apps')],
  [false, { ...core, verbs: ['get'], resources: ['pods'], resourceNames: ['a'] }, request('get', 'pods')],
  [true, { ...core, verbs: ['get'], resources: ['pods'], resourceNames: ['a'] }, request('get', 'pods', 'a')],
  [true, { ...core, verbs: ['get'], resources: ['pods'], resourceNames: [] }, request('get', 'pods', 'a')],
  [false, { verbs: ['get'], resources: ['pods'] }, request('get', 'pods')],
  [false, { ...core, verbs: ['*'], resources: ['*'] }, path('get', '/')],
  [true, { verbs: ['get'], nonResourceURLs: ['/a'] }, path('get', '/a')],
  [false, { verbs: ['get'], nonResourceURLs: ['/a'] }, path('get', '/a/')],
  [true, { verbs: ['get'], nonResourceURLs: ['/a*'] }, path('get', '/abc/d')],
  [true, { verbs: ['get'], nonResourceURLs: ['/a**'] }, path('get', '/ab')],
  [false, { verbs: ['get'], nonResourceURLs: ['/a/*'] }, path('get', '/a')],
  [true, { verbs: ['*'], nonResourceURLs: ['*'] }, path('post', '/anything')],
  [false, { verbs: ['*'], nonResourceURLs: ['*'] }, request('get', 'pods')],
  [false, JSON.parse('{"verbs":["get"],"apiGroups":null,"resources":null}') as PolicyRule, request('get', 'pods')],
])('%s: %j to %j', (allowed, rule, attributes) => {
  expect(ruleAllows(rule, attributes)).toBe(allowed)
})

/** Says what each value of a rule matches, one comparison at a time, as the documentation puts it. */
function naiveAllows(rule: PolicyRule, asked: Attributes): boolean {
  const verb = rule.verbs.some((each) => each === '*' || each === asked.verb)
  if (asked.kind === 'non-resource') {
    const pattern = (text: string): RegExp => new RegExp(`^${text.replace(/\*+$/, '')}${text.endsWith('*') ? '' : '$'}`)
    return verb && (rule.nonResourceURLs ?? []).some((each) => pattern(each).test(asked.path))
  }
  const group = (rule.apiGroups ?? []).some((each) => each === '*' || each === asked.apiGroup)
  const resource = (rule.resources ?? []).some((each) => {
    if (each === '*') return true
    const [first, second] = each.split('/')
    if (second === undefined) return asked.subresource === '' && first === asked.resource
    return second === asked.subresource && (first === '*' || first === asked.resource) && second !== ''
  })
  const named = rule.resourceNames ?? []
  return verb && group && resource && (named.length === 0 || named.includes(asked.name))
}

it('agrees with a naive reading', () => {
  const some = (...values: string[]): fc.Arbitrary<string[]> => fc.subarray(values)
  const rules = fc.record(
    {
      verbs: some('get', 'list', '*'),
      apiGroups: some('', 'apps', '*'),
      resources: some('pods', 'pods/log', '*/log', 'pods/*', '*', 'nodes'),
      resourceNames: some('a', 'b'),
      nonResourceURLs: some('/a', '/a/*', '/b*', '/'),
    },
    { requiredKeys: ['verbs'] },
  )
  const requests = fc
    .tuple(fc.constantFrom('get', 'list'), fc.constantFrom('pods', 'nodes', 'pods/log', 'nodes/log'))
    .chain(([verb, resource]) =>
      fc
        .tuple(fc.constantFrom('', 'a', 'b'), fc.constantFrom('', 'apps'))
        .map(([name, group]) => request(verb, resource, name, group)),
    )
  const paths = fc.constantFrom('/', '/a', '/a/b', '/b', '/bc', '/c').map((at) => path('get', at))
  fc.assert(
    fc.property(rules, fc.oneof<fc.Arbitrary<Attributes>[]>(requests, paths), (rule, asked) => {
      expect(ruleAllows(rule, asked)).toBe(naiveAllows(rule, asked))
    }),
    { numRuns: 2000 },
  )
})
