import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { finished } from '../../../runtime/steps.ts'
import type { Attributes, PolicyRule } from '../../request/authorizer.ts'
import { anonymousUser } from '../../request/user.ts'
import { Comparisons, TooManyComparisonsError } from './comparisons.ts'
import { TooManyPermissionsError, uncoveredRules, uncoveredRulesSteps } from './rule-cover.ts'
import { ruleAllows } from './rule-match.ts'

const pods: PolicyRule = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] }

it.each<[string, PolicyRule[], PolicyRule[], PolicyRule[]]>([
  ['the same', [pods], [pods], []],
  ['one verb more', [pods], [{ ...pods, verbs: ['get', 'watch'] }], [{ ...pods, verbs: ['watch'] }]],
  [
    'two rules that add up',
    [
      { ...pods, verbs: ['get'] },
      { ...pods, verbs: ['list'] },
    ],
    [pods],
    [],
  ],
  ['a wildcard by its parts', [pods], [{ ...pods, verbs: ['*'] }], [{ ...pods, verbs: ['*'] }]],
  ['parts by a wildcard', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }], [pods], []],
  [
    'subresources by a wildcard',
    [{ verbs: ['get'], apiGroups: [''], resources: ['*/log'] }],
    [{ verbs: ['get'], apiGroups: [''], resources: ['pods/log'] }],
    [],
  ],
  ['a name by all names', [pods], [{ ...pods, resourceNames: ['a'] }], []],
  [
    'all names by a name',
    [{ ...pods, resourceNames: ['a'] }],
    [{ ...pods, verbs: ['get'] }],
    [{ ...pods, verbs: ['get'] }],
  ],
  [
    'one name of two',
    [{ ...pods, resourceNames: ['a'] }],
    [{ ...pods, verbs: ['get'], resourceNames: ['a', 'b'] }],
    [{ ...pods, verbs: ['get'], resourceNames: ['b'] }],
  ],
  [
    'paths',
    [{ verbs: ['get'], nonResourceURLs: ['/a/*'] }],
    [{ verbs: ['get'], nonResourceURLs: ['/a/b', '/a/*', '/a', '*'] }],
    [
      { verbs: ['get'], nonResourceURLs: ['/a'] },
      { verbs: ['get'], nonResourceURLs: ['*'] },
    ],
  ],
  ['nothing', [], [{ verbs: [], apiGroups: [''], resources: ['pods'] }], []],
])('covers %s', (_, held, wanted, missing) => {
  expect(uncoveredRules(held, wanted)).toEqual(missing)
})

it('counts before it multiplies, and leaves out what is held as a whole', () => {
  const many = Array.from({ length: 1000 }, (_, index) => `r${index}`)
  const wanted = [{ verbs: many, apiGroups: many, resources: many, resourceNames: many }]
  const within = (held: PolicyRule[], rules: PolicyRule[], maxPermissions: number): PolicyRule[] =>
    finished(uncoveredRulesSteps(held, rules, { comparisons: new Comparisons(1_000_000), maxPermissions }))
  expect(() => within([], wanted, 1e12 - 1)).toThrow(TooManyPermissionsError)
  expect(within([{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }], wanted, 0)).toEqual([])
  const some = [pods, { verbs: ['get'], nonResourceURLs: ['/a', '/b'] }]
  expect(within([], some, 4)).toHaveLength(4)
  expect(() => within([], some, 3)).toThrow(TooManyPermissionsError)
})

it.each<[string, PolicyRule, PolicyRule]>([
  ['many values', { ...pods, verbs: words(1_000) }, { ...pods, verbs: [...words(1_000), 'x'] }],
  ['long values', { ...pods, verbs: ['x'.repeat(300_000)] }, { ...pods, verbs: ['x'.repeat(300_000), 'y'] }],
  [
    'long paths',
    { verbs: ['get'], nonResourceURLs: words(10) },
    { verbs: ['get'], nonResourceURLs: ['/'.repeat(30_000)] },
  ],
])('counts what it takes to compare %s', (_, held, wanted) => {
  const within = (comparisons: number): PolicyRule[] =>
    finished(
      uncoveredRulesSteps([held], [wanted], { comparisons: new Comparisons(comparisons), maxPermissions: 10_000 }),
    )
  expect(within(10_000)).toHaveLength(1)
  expect(() => within(1_000)).toThrow(TooManyComparisonsError)
})

it('stops now and then', () => {
  const held = words(100).map((name) => ({ ...pods, resourceNames: [name] }))
  const limits = { comparisons: new Comparisons(1_000_000), maxPermissions: 10_000 }
  const steps = [
    ...uncoveredRulesSteps(
      held,
      words(100).map((name) => ({ ...pods, verbs: [name] })),
      limits,
    ),
  ]
  expect(steps.length).toBeGreaterThan(10)
})

function words(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `w${index}`)
}

const some = (...values: string[]): fc.Arbitrary<string[]> => fc.subarray(values)
const resourceRules = fc.record(
  {
    verbs: some('get', 'list', '*'),
    apiGroups: some('', 'apps', '*'),
    resources: some('pods', 'pods/log', '*/log', '*'),
    resourceNames: some('a', 'b'),
  },
  { requiredKeys: ['verbs', 'apiGroups', 'resources'] },
)
const pathRules = fc.record({ verbs: some('get', 'list', '*'), nonResourceURLs: some('/a', '/a/*', '/b*', '*') })
const ruleLists = fc.array(fc.oneof<fc.Arbitrary<PolicyRule>[]>(resourceRules, pathRules), { maxLength: 3 })

const requests: fc.Arbitrary<Attributes> = fc.oneof(
  fc.record({
    kind: fc.constant('resource' as const),
    user: fc.constant(anonymousUser),
    verb: fc.constantFrom('get', 'list', 'other'),
    namespace: fc.constant(''),
    apiGroup: fc.constantFrom('', 'apps', 'other'),
    apiVersion: fc.constant('v1'),
    resource: fc.constantFrom('pods', 'nodes'),
    subresource: fc.constantFrom('', 'log'),
    name: fc.constantFrom('', 'a', 'b', 'c'),
    fieldSelector: fc.constant(''),
    labelSelector: fc.constant(''),
  }),
  fc.record({
    kind: fc.constant('non-resource' as const),
    user: fc.constant(anonymousUser),
    verb: fc.constantFrom('get', 'list'),
    path: fc.constantFrom('/a', '/a/b', '/b', '/c'),
  }),
)

it('never covers what would allow more, and what it misses makes up the difference', () => {
  fc.assert(
    fc.property(ruleLists, ruleLists, requests, (held, wanted, asked) => {
      const allows = (rules: readonly PolicyRule[]): boolean => rules.some((rule) => ruleAllows(rule, asked))
      if (allows(wanted)) expect(allows([...held, ...uncoveredRules(held, wanted)])).toBe(true)
    }),
    { numRuns: 3000 },
  )
})
