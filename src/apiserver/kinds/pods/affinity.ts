/** Affinity and topology spread: where the scheduler may put a pod. */
import { labelKeyBreaches, labelValueBreaches } from '../../../kube/selectors/names.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
} from '../../../kube/status/field-error.ts'
import { checkEach, checkName, checkPositive, checkRequired, checkSupported } from '../checks.ts'
import { type Fields, has, integer, struct, structs, text, textMap, texts } from '../fields.ts'
import { checkLabelSelector } from '../label-selector.ts'
import { dnsLabel, dnsSubdomain } from '../names.ts'

const MAX_WEIGHT = 100

const required = 'requiredDuringSchedulingIgnoredDuringExecution'
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution'

export function checkAffinity(affinity: Fields | undefined, path: string): FieldError[] {
  const node = struct(affinity, 'nodeAffinity')
  return [
    ...checkNodeSelector(struct(node, required), `${path}.nodeAffinity.${required}`),
    ...checkEach(structs(node, preferred), `${path}.nodeAffinity.${preferred}`, (term, at) => [
      ...checkWeight(term, at),
      ...checkNodeSelectorTerm(struct(term, 'preference') ?? {}, `${at}.preference`, false),
    ]),
    ...['podAffinity', 'podAntiAffinity'].flatMap((name) =>
      checkPodAffinity(struct(affinity, name), `${path}.${name}`),
    ),
  ]
}

export function checkNodeSelector(selector: Fields | undefined, path: string): FieldError[] {
  if (selector === undefined) return []
  const terms = structs(selector, 'nodeSelectorTerms')
  if (terms.length === 0) {
    return [requiredField(`${path}.nodeSelectorTerms`, 'must have at least one node selector term')]
  }
  return checkEach(terms, `${path}.nodeSelectorTerms`, (term, at) => checkNodeSelectorTerm(term, at, true))
}

function checkNodeSelectorTerm(term: Fields, path: string, checksValues: boolean): FieldError[] {
  return [
    ...checkEach(structs(term, 'matchExpressions'), `${path}.matchExpressions`, (requirement, at) => [
      ...checkNodeOperator(requirement, at),
      ...checkName(text(requirement, 'key'), `${at}.key`, labelKeyBreaches),
      ...(checksValues
        ? checkEach(texts(requirement, 'values'), `${at}.values`, (value, valueAt) =>
            checkName(value, valueAt, labelValueBreaches),
          )
        : []),
    ]),
    ...checkEach(structs(term, 'matchFields'), `${path}.matchFields`, checkNodeField),
  ]
}

function checkNodeOperator(requirement: Fields, path: string): FieldError[] {
  const [operator, count] = [text(requirement, 'operator'), texts(requirement, 'values').length]
  const at = `${path}.values`
  switch (operator) {
    case 'In':
    case 'NotIn':
      return count === 0 ? [requiredField(at, "must be specified when `operator` is 'In' or 'NotIn'")] : []
    case 'Exists':
    case 'DoesNotExist':
      return count > 0 ? [forbiddenField(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")] : []
    case 'Gt':
    case 'Lt':
      return count === 1 ? [] : [requiredField(at, "must be specified single value when `operator` is 'Lt' or 'Gt'")]
    default:
      return [invalidField(`${path}.operator`, operator, 'not a valid selector operator')]
  }
}

function checkNodeField(requirement: Fields, path: string): FieldError[] {
  const [operator, values] = [text(requirement, 'operator'), texts(requirement, 'values')]
  const errors: FieldError[] = []
  if (operator !== 'In' && operator !== 'NotIn') {
    errors.push(invalidField(`${path}.operator`, operator, 'not a valid selector operator'))
  } else if (values.length !== 1) {
    const detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
    errors.push(requiredField(`${path}.values`, detail))
  }
  const key = text(requirement, 'key')
  if (key !== 'metadata.name') errors.push(invalidField(`${path}.key`, key, 'not a valid field selector key'))
  else errors.push(...checkEach(values, `${path}.values`, (value, at) => checkName(value, at, dnsSubdomain)))
  return errors
}

function checkPodAffinity(affinity: Fields | undefined, path: string): FieldError[] {
  return [
    ...checkEach(structs(affinity, required), `${path}.${required}`, checkPodTerm),
    ...checkEach(structs(affinity, preferred), `${path}.${preferred}`, (term, at) => [
      ...checkWeight(term, at),
      ...checkPodTerm(struct(term, 'podAffinityTerm') ?? {}, `${at}.podAffinityTerm`),
    ]),
  ]
}

function checkWeight(term: Fields, path: string): FieldError[] {
  const weight = integer(term, 'weight') ?? 0
  return weight > 0 && weight <= MAX_WEIGHT
    ? []
    : [invalidField(`${path}.weight`, weight, 'must be in the range 1-100')]
}

function checkPodTerm(term: Fields, path: string): FieldError[] {
  const topologyKey = text(term, 'topologyKey')
  return [
    ...checkLabelSelector(struct(term, 'labelSelector'), `${path}.labelSelector`),
    ...checkLabelSelector(struct(term, 'namespaceSelector'), `${path}.namespaceSelector`),
    ...texts(term, 'namespaces').flatMap((name) => checkName(name, `${path}.namespace`, dnsLabel)),
    ...checkLabelKeys(term, path),
    ...checkRequired(topologyKey, `${path}.topologyKey`, 'can not be empty'),
    ...checkName(topologyKey, `${path}.topologyKey`, labelKeyBreaches),
  ]
}

/** Keys whose values come from the pod; the selector must not speak about them as well. */
function checkLabelKeys(term: Fields, path: string): FieldError[] {
  const [matching, differing] = [texts(term, 'matchLabelKeys'), new Set(texts(term, 'mismatchLabelKeys'))]
  const inBoth = 'exists in both matchLabelKeys and mismatchLabelKeys'
  return [
    ...checkKeyList(term, 'matchLabelKeys', path),
    ...checkKeyList(term, 'mismatchLabelKeys', path),
    ...checkSelectorKeys(struct(term, 'labelSelector'), matching, path),
    ...checkEach(matching, `${path}.matchLabelKeys`, (key, at) =>
      differing.has(key) ? [invalidField(at, key, inBoth)] : [],
    ),
  ]
}

function checkKeyList(term: Fields, name: string, path: string): FieldError[] {
  const keys = texts(term, name)
  if (keys.length === 0) return []
  if (!has(term, 'labelSelector')) {
    return [forbiddenField(`${path}.${name}`, 'must not be specified when labelSelector is not set')]
  }
  return checkEach(keys, `${path}.${name}`, (key, at) => checkName(key, at, labelKeyBreaches))
}

/** One requirement about such a key is the one that was made of it. */
function checkSelectorKeys(selector: Fields | undefined, keys: readonly string[], path: string): FieldError[] {
  const seen = new Set(Object.keys(textMap(selector, 'matchLabels')))
  const lastIndexes = new Map(keys.map((key, index) => [key, index]))
  return structs(selector, 'matchExpressions').flatMap((requirement) => {
    const key = text(requirement, 'key')
    const index = lastIndexes.get(key)
    const repeated = index !== undefined && seen.has(key)
    seen.add(key)
    const detail = 'exists in both matchLabelKeys and labelSelector'
    return repeated ? [invalidField(`${path}[${index}]`, key, detail)] : []
  })
}

export function checkTopologySpread(constraints: readonly Fields[], path: string): FieldError[] {
  const pairOf = (constraint: Fields): string =>
    `{${text(constraint, 'topologyKey')}, ${text(constraint, 'whenUnsatisfiable')}}`
  const lastIndexes = new Map(constraints.map((constraint, index) => [pairOf(constraint), index]))
  return checkEach(constraints, path, (constraint, at, index) => {
    const [key, action] = [text(constraint, 'topologyKey'), text(constraint, 'whenUnsatisfiable')]
    const pair = pairOf(constraint)
    const repeated = lastIndexes.get(pair) !== index
    return [
      ...checkPositive(integer(constraint, 'maxSkew') ?? 0, `${at}.maxSkew`),
      ...checkRequired(key, `${at}.topologyKey`, 'can not be empty'),
      ...checkSupported(action, `${at}.whenUnsatisfiable`, ['DoNotSchedule', 'ScheduleAnyway']),
      ...(repeated ? [duplicateField(`${at}.{topologyKey, whenUnsatisfiable}`, pair)] : []),
      ...checkMinDomains(integer(constraint, 'minDomains'), action, `${at}.minDomains`),
      ...['nodeAffinityPolicy', 'nodeTaintsPolicy'].flatMap((name) =>
        has(constraint, name) ? checkSupported(text(constraint, name), `${at}.${name}`, ['Honor', 'Ignore']) : [],
      ),
      ...checkLabelKeys(constraint, at),
      ...checkLabelSelector(struct(constraint, 'labelSelector'), `${at}.labelSelector`),
    ]
  })
}

function checkMinDomains(minDomains: number | undefined, action: string, path: string): FieldError[] {
  if (minDomains === undefined) return []
  const errors = checkPositive(minDomains, path)
  if (action !== 'DoNotSchedule') {
    const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`
    errors.push(invalidField(path, minDomains, detail))
  }
  return errors
}
