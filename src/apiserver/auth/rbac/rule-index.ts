/**
 * Whether any rule of a role lets a request pass. A role with thousands of rules would take each request milliseconds, and a
 * user may have many such roles: their rules are put in order, once, by what they are about.
 */
import type { Attributes, PolicyRule } from '../../request/authorizer.ts'
import type { Comparisons } from './comparisons.ts'
import { ruleAllows } from './rule-match.ts'

/** Fewer rules are looked at one by one as quickly as through an index. */
export const MIN_INDEXED_RULES = 32

type Rules = readonly PolicyRule[]

interface RuleIndex {
  /** By resource, and by name where the rule has names. */
  readonly byObject: ReadonlyMap<string, Rules>
  /** The rules that speak of paths. */
  readonly ofPaths: Rules
}

const indexes = new WeakMap<Rules, RuleIndex>()

/** Makes `rulesAllow` quick for these rules, which must not change afterwards. */
export function indexRules(rules: Rules): void {
  if (rules.length < MIN_INDEXED_RULES) return
  const byObject = new Map<string, PolicyRule[]>()
  for (const rule of rules) {
    for (const key of new Set(objectKeys(rule))) {
      const known = byObject.get(key)
      if (known === undefined) byObject.set(key, [rule])
      else known.push(rule)
    }
  }
  const ofPaths = rules.filter(({ nonResourceURLs }) => (nonResourceURLs?.length ?? 0) > 0)
  indexes.set(rules, { byObject, ofPaths })
}

/** Whether one of the rules allows it. Throws a TooManyComparisonsError where too many would have to be looked at. */
export function rulesAllow(rules: Rules, attributes: Attributes, comparisons: Comparisons): boolean {
  const index = indexes.get(rules)
  const asked = index === undefined ? [rules] : candidates(index, attributes)
  return asked.some((some) =>
    some.some((rule) => {
      comparisons.take(1 + (attributes.kind === 'non-resource' ? (rule.nonResourceURLs?.length ?? 0) : 0))
      return ruleAllows(rule, attributes)
    }),
  )
}

function candidates({ byObject, ofPaths }: RuleIndex, attributes: Attributes): Rules[] {
  if (attributes.kind === 'non-resource') return [ofPaths]
  const { resource, subresource, name } = attributes
  const resources = subresource === '' ? [resource, '*'] : [`${resource}/${subresource}`, '*', `*/${subresource}`]
  const keys = resources.flatMap((each) => [keyOf(each, ''), keyOf(each, name)])
  return [...new Set(keys)].map((key) => byObject.get(key) ?? [])
}

/** Several names of one rule are looked at one by one: their products with its resources could be larger than the role. */
function objectKeys({ resources, resourceNames }: PolicyRule): string[] {
  const [name = '', ...others] = resourceNames ?? []
  return (resources ?? []).map((resource) => keyOf(resource, others.length === 0 ? name : ''))
}

/** Neither resources nor names hold a space, so no two pairs share a key. */
function keyOf(resource: string, name: string): string {
  return `${resource} ${name}`
}
