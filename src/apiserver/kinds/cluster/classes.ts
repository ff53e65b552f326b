/** PriorityClasses and RuntimeClasses: names for what pods ask of the scheduler and of the node. */
import { type FieldError, forbiddenField } from '../../../kube/status/field-error.ts'
import { checkImmutable, checkRequiredName, checkRequiredSupported } from '../checks.ts'
import { type Fields, flag, has, integer, struct, structs, text, textMap } from '../fields.ts'
import { checkLabels } from '../metadata.ts'
import { dnsLabel } from '../names.ts'
import { checkResources, NO_CLAIMS } from '../pods/resources.ts'
import { checkTolerations } from '../pods/tolerations.ts'
import type { KindRules } from '../rules.ts'

const MAX_USER_PRIORITY = 1_000_000_000

const systemPriorityClasses: Readonly<Record<string, number>> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
}

export const PRIORITY_CLASS_RULES: KindRules = {
  generationOf: [],
  check: checkPriorityClass,
  checkUpdate: (object, old) => [
    ...(integer(object, 'value') === integer(old, 'value')
      ? []
      : [forbiddenField('value', 'may not be changed in an update.')]),
    ...checkImmutable(object['preemptionPolicy'], old['preemptionPolicy'], 'preemptionPolicy'),
  ],
}

function checkPriorityClass(object: Fields): FieldError[] {
  const [name, value] = [text(struct(object, 'metadata'), 'name'), integer(object, 'value') ?? 0]
  const errors: FieldError[] = []
  if (name.startsWith('system-')) {
    const reason = systemPriorityBreach(object, name, value)
    const rule = "priority class names with 'system-' prefix are reserved for system use only"
    if (reason !== undefined) errors.push(forbiddenField('metadata.name', `${rule}. error: ${reason}`))
  } else if (value > MAX_USER_PRIORITY) {
    const detail = `maximum allowed value of a user defined priority is ${MAX_USER_PRIORITY}`
    errors.push(forbiddenField('value', detail))
  }
  const policies = ['PreemptLowerPriority', 'Never']
  return has(object, 'preemptionPolicy')
    ? [...errors, ...checkRequiredSupported(text(object, 'preemptionPolicy'), 'preemptionPolicy', policies)]
    : errors
}

function systemPriorityBreach(object: Fields, name: string, value: number): string | undefined {
  const expected = systemPriorityClasses[name]
  if (expected === undefined) return `${name} is not a known system priority class`
  if (value !== expected) return `value of ${name} PriorityClass must be ${expected}`
  return flag(object, 'globalDefault') ? `globalDefault of ${name} PriorityClass must be false` : undefined
}

export const RUNTIME_CLASS_RULES: KindRules = {
  allowsCreateOnUpdate: true,
  allowsUnconditionalUpdate: false,
  check(object) {
    const scheduling = struct(object, 'scheduling')
    const overhead = struct(object, 'overhead')
    return [
      ...checkRequiredName(text(object, 'handler'), 'handler', dnsLabel),
      ...(overhead === undefined ? [] : checkResources({ limits: overhead['podFixed'] }, NO_CLAIMS, 'overhead')),
      ...checkLabels(textMap(scheduling, 'nodeSelector'), 'scheduling.nodeSelector'),
      ...checkTolerations(structs(scheduling, 'tolerations'), 'scheduling.tolerations'),
    ]
  },
  checkUpdate: (object, old) => checkImmutable(object['handler'], old['handler'], 'handler'),
}
