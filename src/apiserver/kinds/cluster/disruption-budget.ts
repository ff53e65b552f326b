/** PodDisruptionBudgets. */
import { type FieldError, invalidField } from '../../../kube/status/field-error.ts'
import { checkNotNegative, checkSupported } from '../checks.ts'
import { type Fields, has, integer, intOrText, struct, text } from '../fields.ts'
import { checkLabelSelector } from '../label-selector.ts'
import type { KindRules } from '../rules.ts'
import { checkAtMostHundredPercent, checkIntOrPercent } from '../workloads/int-or-percent.ts'

export const DISRUPTION_BUDGET_RULES: KindRules = {
  name: 'any',
  generationOf: ['spec'],
  allowsUnconditionalUpdate: false,
  check: checkBudget,
  checkStatusUpdate: (budget) =>
    ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'].flatMap((name) =>
      checkNotNegative(integer(struct(budget, 'status'), name), `status.${name}`),
    ),
}

function checkBudget(budget: Fields): FieldError[] {
  const spec = struct(budget, 'spec') ?? {}
  const amounts = ['minAvailable', 'maxUnavailable'].filter((name) => has(spec, name))
  const errors: FieldError[] = []
  if (amounts.length === 2) {
    errors.push(invalidField('spec', asInternal(spec), 'minAvailable and maxUnavailable cannot be both set'))
  }
  for (const name of amounts) {
    const amount = intOrText(spec, name) ?? 0
    errors.push(...checkIntOrPercent(amount, `spec.${name}`), ...checkAtMostHundredPercent(amount, `spec.${name}`))
  }
  errors.push(...checkLabelSelector(struct(spec, 'selector'), 'spec.selector'))
  const policy = 'unhealthyPodEvictionPolicy'
  if (has(spec, policy))
    errors.push(...checkSupported(text(spec, policy), `spec.${policy}`, ['AlwaysAllow', 'IfHealthyBudget']))
  return errors
}

/** The API server shows the spec with the names of its Go fields. */
function asInternal(spec: Fields): Fields {
  return {
    MinAvailable: spec['minAvailable'] ?? null,
    Selector: spec['selector'] ?? null,
    MaxUnavailable: spec['maxUnavailable'] ?? null,
    UnhealthyPodEvictionPolicy: spec['unhealthyPodEvictionPolicy'] ?? null,
  }
}
