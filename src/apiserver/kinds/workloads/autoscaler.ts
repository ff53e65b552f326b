/** HorizontalPodAutoscalers of both versions. */
import { type FieldError, forbiddenField, invalidField, requiredField } from '../../../kube/status/field-error.ts'
import { checkEach, checkNotNegative, checkSupported, POSITIVE } from '../checks.ts'
import { type Fields, has, integer, struct, structs, text } from '../fields.ts'
import type { KindRules } from '../rules.ts'
import { checkMetric, checkReference, checkReferenceNames } from './autoscaler-metrics.ts'

const MAX_POLICY_PERIOD_SECONDS = 1800
const MAX_STABILIZATION_SECONDS = 3600

export const AUTOSCALER_RULES: KindRules = {
  check: (autoscaler) => checkAutoscaler(autoscaler, undefined),
  checkUpdate: checkAutoscaler,
  checkStatusUpdate: (autoscaler) =>
    ['currentReplicas', 'desiredReplicas'].flatMap((name) =>
      checkNotNegative(integer(struct(autoscaler, 'status'), name), `status.${name}`),
    ),
}

function checkAutoscaler(autoscaler: Fields, old: Fields | undefined): FieldError[] {
  const spec = struct(autoscaler, 'spec') ?? {}
  return [
    ...checkReplicas(spec),
    ...checkTarget(struct(spec, 'scaleTargetRef') ?? {}, struct(struct(old, 'spec'), 'scaleTargetRef')),
    ...checkMetrics(spec),
    ...checkScaling(struct(struct(spec, 'behavior'), 'scaleUp'), 'spec.behavior.scaleUp'),
    ...checkScaling(struct(struct(spec, 'behavior'), 'scaleDown'), 'spec.behavior.scaleDown'),
  ]
}

/** What is scaled is named with its group; only one scalable kind has none. A target that stays the same may stay wrong. */
function checkTarget(reference: Fields, old: Fields | undefined): FieldError[] {
  const [kind, apiVersion] = [text(reference, 'kind'), text(reference, 'apiVersion')]
  const at = 'spec.scaleTargetRef'
  if (old !== undefined && kind === text(old, 'kind') && apiVersion === text(old, 'apiVersion')) {
    return checkReferenceNames(reference, at)
  }
  const needsGroup = kind !== 'ReplicationController' && !apiVersion.includes('/')
  const detail = 'apiVersion must specify API group'
  return [
    ...checkReference(reference, at),
    ...(needsGroup ? [invalidField(`${at}.apiVersion`, apiVersion, detail)] : []),
  ]
}

/** Scaling to nothing needs a metric that exists without pods. Version 1 has one metric, in a field of its own. */
function checkMetrics(spec: Fields): FieldError[] {
  const percent = integer(spec, 'targetCPUUtilizationPercentage')
  if (percent !== undefined && percent < 1) {
    return [invalidField('spec.metrics[0].resource.target.averageUtilization', percent, 'must be greater than 0')]
  }
  const metrics = structs(spec, 'metrics')
  const errors = checkEach(metrics, 'spec.metrics', checkMetric)
  const reachesZero = metrics.some((metric) => ['Object', 'External'].includes(text(metric, 'type')))
  if (integer(spec, 'minReplicas') !== 0 || reachesZero) return errors
  const detail = 'must specify at least one Object or External metric to support scaling to zero replicas'
  return [...errors, forbiddenField('spec.metrics', detail)]
}

function checkReplicas(spec: Fields): FieldError[] {
  const [min, max] = [integer(spec, 'minReplicas'), integer(spec, 'maxReplicas') ?? 0]
  const errors: FieldError[] = []
  if (min !== undefined && min < 1) {
    errors.push(invalidField('spec.minReplicas', min, 'must be greater than or equal to 1'))
  }
  if (max === 0) errors.push(requiredField('spec.maxReplicas', 'must be set and greater than 0'))
  else if (max < 0) errors.push(invalidField('spec.maxReplicas', max, 'must be greater than or equal to 1'))
  if (min !== undefined && max < min) {
    errors.push(invalidField('spec.maxReplicas', max, 'must be greater than or equal to `minReplicas`'))
  }
  return errors
}

function checkScaling(rules: Fields | undefined, path: string): FieldError[] {
  if (rules === undefined) return []
  const seconds = integer(rules, 'stabilizationWindowSeconds') ?? 0
  const at = `${path}.stabilizationWindowSeconds`
  const errors: FieldError[] = []
  if (seconds < 0) errors.push(invalidField(at, seconds, 'must be greater than or equal to zero'))
  if (seconds > MAX_STABILIZATION_SECONDS) {
    errors.push(invalidField(at, seconds, `must be less than or equal to ${MAX_STABILIZATION_SECONDS}`))
  }
  if (has(rules, 'selectPolicy')) {
    errors.push(...checkSupported(text(rules, 'selectPolicy'), `${path}.selectPolicy`, ['Disabled', 'Max', 'Min']))
  }
  const policies = structs(rules, 'policies')
  if (policies.length === 0) errors.push(requiredField(`${path}.policies`, 'must specify at least one Policy'))
  return [...errors, ...checkEach(policies, `${path}.policies`, checkPolicy)]
}

function checkPolicy(policy: Fields, path: string): FieldError[] {
  const [value, period] = [integer(policy, 'value') ?? 0, integer(policy, 'periodSeconds') ?? 0]
  const tooLong = `must be less than or equal to ${MAX_POLICY_PERIOD_SECONDS}`
  return [
    ...checkSupported(text(policy, 'type'), `${path}.type`, ['Percent', 'Pods']),
    ...(value <= 0 ? [invalidField(`${path}.value`, value, POSITIVE)] : []),
    ...(period <= 0 ? [invalidField(`${path}.periodSeconds`, period, POSITIVE)] : []),
    ...(period > MAX_POLICY_PERIOD_SECONDS ? [invalidField(`${path}.periodSeconds`, period, tooLong)] : []),
  ]
}
