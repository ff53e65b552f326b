/**
 * Selectors made ready for many objects. However long a selector is, an object is asked no more than once for each of its
 * labels and for each label or field that it must have: a watch asks every change, and there may be thousands of watches.
 */
import type { FieldGetter, FieldSelector } from './field.ts'
import type { LabelSelector } from './label.ts'
import { acceptsValue, type LabelRequirement } from './label-requirement.ts'

/** What all requirements on one label or field ask of its value together. */
class ValueRule {
  #allowed: Set<string> | undefined
  /** In place of a set of one, which most are. */
  #only: string | undefined
  #excluded: Set<string> | undefined

  /** Only these: of several lists, what all of them have. */
  allow(values: readonly string[]): void {
    const given = new Set(values)
    const allowed =
      this.#allowed === undefined ? given : new Set([...this.#allowed].filter((value) => given.has(value)))
    this.#allowed = allowed
    this.#only = allowed.size === 1 ? [...allowed][0] : undefined
  }

  exclude(values: readonly string[]): void {
    this.#excluded ??= new Set()
    for (const value of values) this.#excluded.add(value)
  }

  accepts(value: string): boolean {
    if (this.#only !== undefined) {
      if (value !== this.#only) return false
    } else if (this.#allowed !== undefined && !this.#allowed.has(value)) return false
    return this.#excluded === undefined || !this.#excluded.has(value)
  }
}

interface LabelRule {
  readonly key: string
  readonly values: ValueRule
  /** Whether an object without the label is out. */
  isNeeded: boolean
  isForbidden: boolean
  /** Requirements that compare numbers. */
  readonly others: LabelRequirement[]
}

/** Says what `matchesLabels` says. */
export function labelMatcher(selector: LabelSelector): (labels: ReadonlyMap<string, string>) => boolean {
  if (selector.matches === 'nothing') return () => false
  const rules = labelRules(selector.requirements)
  const needed = [...rules.values()].filter(({ isNeeded }) => isNeeded)
  const optional = new Map([...rules].filter(([, { isNeeded }]) => !isNeeded))
  return (labels) => {
    for (const rule of needed) {
      const value = labels.get(rule.key)
      if (value === undefined || !accepts(rule, value)) return false
    }
    return acceptsEach(optional, labels)
  }
}

/** An object without a label breaks no rule that does not need it: the shorter list says which labels to look at. */
function acceptsEach(rules: ReadonlyMap<string, LabelRule>, labels: ReadonlyMap<string, string>): boolean {
  if (rules.size < labels.size) {
    for (const [key, rule] of rules) {
      const value = labels.get(key)
      if (value !== undefined && !accepts(rule, value)) return false
    }
    return true
  }
  for (const [key, value] of labels) {
    const rule = rules.get(key)
    if (rule !== undefined && !accepts(rule, value)) return false
  }
  return true
}

function accepts({ isForbidden, values, others }: LabelRule, value: string): boolean {
  if (isForbidden || !values.accepts(value)) return false
  for (const requirement of others) if (!acceptsValue(requirement, value)) return false
  return true
}

function labelRules(requirements: readonly LabelRequirement[]): Map<string, LabelRule> {
  const rules = new Map<string, LabelRule>()
  for (const requirement of requirements) {
    const { key } = requirement
    const rule = rules.get(key) ?? { key, values: new ValueRule(), isNeeded: false, isForbidden: false, others: [] }
    rules.set(key, rule)
    add(rule, requirement)
  }
  return rules
}

function add(rule: LabelRule, requirement: LabelRequirement): void {
  const { operator, values } = requirement
  switch (operator) {
    case '=':
    case '==':
    case 'in':
      rule.isNeeded = true
      rule.values.allow(values)
      break
    case '!=':
    case 'notin':
      rule.values.exclude(values)
      break
    case 'exists':
      rule.isNeeded = true
      break
    case '!':
      rule.isForbidden = true
      break
    default:
      rule.isNeeded = true
      rule.others.push(requirement)
  }
}

/** Says what `matchesFields` says. */
export function fieldMatcher(selector: FieldSelector): (get: FieldGetter) => boolean {
  if (selector.matches === 'nothing') return () => false
  const rules = new Map<string, ValueRule>()
  for (const { field, operator, value } of selector.terms) {
    const rule = rules.get(field) ?? new ValueRule()
    rules.set(field, rule)
    if (operator === '=') rule.allow([value])
    else rule.exclude([value])
  }
  return (get) => {
    for (const [field, rule] of rules) if (!rule.accepts(get(field))) return false
    return true
  }
}
