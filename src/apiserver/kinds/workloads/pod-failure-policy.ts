/** `podFailurePolicy` of Jobs: what a failed pod means for the job. */
import { labelKeyBreaches } from '../../../kube/selectors/names.ts'
import {
  duplicateField,
  type FieldError,
  invalidField,
  OMITTED_VALUE,
  requiredField,
  tooManyField,
} from '../../../kube/status/field-error.ts'
import { checkEach, checkName, checkSupported, repetitions } from '../checks.ts'
import { type Fields, has, struct, structs, text } from '../fields.ts'

const MAX_POLICY_RULES = 20
const MAX_EXIT_CODES = 255

const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore']

export function checkPodFailurePolicy(spec: Fields, path: string): FieldError[] {
  const rules = structs(struct(spec, 'podFailurePolicy'), 'rules')
  const tooMany = rules.length > MAX_POLICY_RULES ? [tooManyField(`${path}.rules`, rules.length, MAX_POLICY_RULES)] : []
  const podSpec = struct(struct(spec, 'template'), 'spec')
  const containers = [...structs(podSpec, 'containers'), ...structs(podSpec, 'initContainers')]
  const names = new Set(containers.map((container) => text(container, 'name')))
  return [
    ...tooMany,
    ...checkEach(rules, `${path}.rules`, (rule, at) => [
      ...checkAction(rule, has(spec, 'backoffLimitPerIndex'), `${at}.action`),
      ...checkExitCodes(struct(rule, 'onExitCodes'), names, `${at}.onExitCodes`),
      ...checkConditions(rule, at),
      ...checkOneCause(rule, at),
    ]),
  ]
}

function checkAction(rule: Fields, hasIndexLimit: boolean, path: string): FieldError[] {
  const action = text(rule, 'action')
  if (action === '') return [requiredField(path, `valid values: ${printList(actions)}`)]
  if (action === 'FailIndex' && !hasIndexLimit) {
    return [invalidField(path, action, 'requires the backoffLimitPerIndex to be set')]
  }
  return checkSupported(action, path, actions)
}

function checkExitCodes(codes: Fields | undefined, containerNames: ReadonlySet<string>, path: string): FieldError[] {
  if (codes === undefined) return []
  const operator = text(codes, 'operator')
  const operators = ['In', 'NotIn']
  const errors =
    operator === ''
      ? [requiredField(`${path}.operator`, `valid values: ${printList(operators)}`)]
      : checkSupported(operator, `${path}.operator`, operators)
  const name = text(codes, 'containerName')
  if (has(codes, 'containerName') && !containerNames.has(name)) {
    const detail = 'must be one of the container or initContainer names in the pod template'
    errors.push(invalidField(`${path}.containerName`, name, detail))
  }
  const values: number[] = Array.isArray(codes['values']) ? codes['values'].map(Number) : []
  return [...errors, ...checkValues(values, operator, `${path}.values`)]
}

function checkValues(values: readonly number[], operator: string, path: string): FieldError[] {
  if (values.length === 0) return [invalidField(path, null, 'at least one value is required')]
  const errors = values.length > MAX_EXIT_CODES ? [tooManyField(path, values.length, MAX_EXIT_CODES)] : []
  const isRepeated = repetitions()
  for (const [index, value] of values.entries()) {
    const at = `${path}[${index}]`
    if (operator === 'In' && value === 0) errors.push(invalidField(at, value, 'must not be 0 for the In operator'))
    if (isRepeated(value)) errors.push(duplicateField(at, value))
  }
  const ordered = values.every((value, index) => index === 0 || (values[index - 1] ?? 0) <= value)
  return ordered ? errors : [...errors, invalidField(path, values, 'must be ordered')]
}

function checkConditions(rule: Fields, path: string): FieldError[] {
  return checkEach(structs(rule, 'onPodConditions'), `${path}.onPodConditions`, (pattern, at) => [
    ...checkName(text(pattern, 'type'), `${at}.type`, labelKeyBreaches),
    ...checkSupported(text(pattern, 'status'), `${at}.status`, ['False', 'True', 'Unknown']),
  ])
}

function checkOneCause(rule: Fields, path: string): FieldError[] {
  const [codes, conditions] = [has(rule, 'onExitCodes'), structs(rule, 'onPodConditions').length > 0]
  if (codes !== conditions) return []
  const detail = codes
    ? 'specifying both OnExitCodes and OnPodConditions is not supported'
    : 'specifying one of OnExitCodes and OnPodConditions is required'
  return [invalidField(path, OMITTED_VALUE, detail)]
}

/** Go prints a list of texts without commas. */
function printList(values: readonly string[]): string {
  return `[${values.map((value) => `"${value}"`).join(' ')}]`
}
