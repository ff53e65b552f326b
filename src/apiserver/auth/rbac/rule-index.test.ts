import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Attributes, PolicyRule } from '../../request/authorizer.ts'
import { Comparisons } from './comparisons.ts'
import { indexRules, MIN_INDEXED_RULES, rulesAllow } from './rule-index.ts'
import { ruleAllows } from './rule-match.ts'

const user = { name: 'u', uid: '', groups: [], extra: {} }
const word = fc.constantFrom('a', 'b', '*')
const resource = fc.constantFrom('pods', 'pods/log', '*', '*/log', 'nodes', '')
const rule: fc.Arbitrary<PolicyRule> = fc.record({
  verbs: fc.array(word, { maxLength: 2 }),
  apiGroups: fc.array(word, { maxLength: 2 }),
  resources: fc.array(resource, { maxLength: 3 }),
  resourceNames: fc.array(fc.constantFrom('x', 'y', ''), { maxLength: 2 }),
  nonResourceURLs: fc.array(fc.constantFrom('/a', '/b*', '*'), { maxLength: 2 }),
})
const asked: fc.Arbitrary<Attributes> = fc.oneof(
  fc
    .record({ verb: word, path: fc.constantFrom('/a', '/bc', '/d') })
    .map((rest) => ({ kind: 'non-resource', user, ...rest }) as const),
  fc
    .record({
      verb: word,
      apiGroup: word,
      resource: fc.constantFrom('pods', 'nodes', '*'),
      subresource: fc.constantFrom('', 'log'),
      name: fc.constantFrom('', 'x', 'z'),
    })
    .map(
      (rest) =>
        ({
          kind: 'resource',
          user,
          namespace: '',
          apiVersion: 'v1',
          fieldSelector: '',
          labelSelector: '',
          ...rest,
        }) as const,
    ),
)

it('says what the rules say one by one', () => {
  fc.assert(
    fc.property(
      fc.array(rule, { minLength: MIN_INDEXED_RULES, maxLength: MIN_INDEXED_RULES + 8 }),
      asked,
      (rules, attributes) => {
        const expected = rules.some((each) => ruleAllows(each, attributes))
        indexRules(rules)
        expect(rulesAllow(rules, attributes, new Comparisons(1_000))).toBe(expected)
      },
    ),
    { numRuns: 2000 },
  )
})

it('agrees where a single rule decides', () => {
  const none: PolicyRule = { verbs: [] }
  fc.assert(
    fc.property(rule, asked, (one, attributes) => {
      const rules = [...Array.from({ length: MIN_INDEXED_RULES }, () => none), one]
      indexRules(rules)
      expect(rulesAllow(rules, attributes, new Comparisons(1_000))).toBe(ruleAllows(one, attributes))
    }),
    { numRuns: 2000 },
  )
})
