/** How fast an autoscaler may move, as an annotation of v1: there the fields have the names of Go's own structs. */
import { parseJson, printJson } from '../../../kube/codec/json.ts'
import { filledFields } from '../../../kube/present-fields.ts'
import { type Fields, isFields, struct, structs } from '../../kinds/fields.ts'

/** In the order in which Go prints them. */
const ruleNames = ['stabilizationWindowSeconds', 'selectPolicy', 'policies', 'tolerance']
const policyNames = ['type', 'value', 'periodSeconds']

export function behaviorText(behavior: Fields): string {
  return printJson({ ScaleUp: goRules(struct(behavior, 'scaleUp')), ScaleDown: goRules(struct(behavior, 'scaleDown')) })
}

function goRules(rules: Fields | undefined): Fields | null {
  if (rules === undefined) return null
  const named = Object.fromEntries(ruleNames.map((name) => [goName(name), rules[name] ?? null]))
  const policies = structs(rules, 'policies')
  if (policies.length === 0) return named
  const goPolicies = policies.map((policy) =>
    Object.fromEntries(policyNames.map((name) => [goName(name), policy[name] ?? null])),
  )
  return { ...named, Policies: goPolicies }
}

/** undefined where there is no annotation, or one that cannot be read, or one that says nothing. */
export function behaviorFromText(json: string | undefined): Fields | undefined {
  if (json === undefined) return undefined
  try {
    const given = parseJson(json)
    if (!isFields(given)) return undefined
    const behavior = filledFields({
      scaleUp: apiRules(struct(given, 'ScaleUp')),
      scaleDown: apiRules(struct(given, 'ScaleDown')),
    })
    return Object.keys(behavior).length === 0 ? undefined : behavior
  } catch {
    return undefined
  }
}

function apiRules(rules: Fields | undefined): Fields | undefined {
  if (rules === undefined) return undefined
  const named = Object.fromEntries(ruleNames.map((name) => [name, rules[goName(name)]]))
  const policies = structs(rules, 'Policies').map((policy) =>
    filledFields(Object.fromEntries(policyNames.map((name) => [name, policy[goName(name)]]))),
  )
  return filledFields({ ...named, policies: Array.isArray(rules['Policies']) ? policies : undefined })
}

function goName(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1)
}
