/** What a PodDisruptionBudget says to an eviction. Its status is a controller's count; here one more pod is taken off. */
import type { KubeObject } from '../../../kube/objects.ts'
import { forbidden } from '../../../kube/status/resource-errors.ts'
import { ApiError } from '../../../kube/status/status.ts'
import { ensureStruct, integer, struct, text } from '../../kinds/fields.ts'
import { findCondition, setCondition } from './conditions.ts'

/** So many evictions may be under way that the controller has not seen happen. */
const MAX_DISRUPTED_PODS = 2000

/** When to ask again while the controller has not looked at the budget yet. */
const unprocessedRetrySeconds = 10
const allowedCondition = 'DisruptionAllowed'

/** A pod that serves nobody may go even though the budget is spent, if the others are enough or the budget says so. */
export function sparesUnhealthyPods(budget: KubeObject): boolean {
  if (text(struct(budget, 'spec'), 'unhealthyPodEvictionPolicy') === 'AlwaysAllow') return true
  const desired = count(budget, 'desiredHealthy')
  return count(budget, 'currentHealthy') >= desired && desired > 0
}

/** Throws where the budget allows no disruption. */
export function checkBudget(budget: KubeObject): void {
  const name = budget.metadata?.name ?? ''
  const refuse = (why: string): never => {
    throw forbidden({ group: 'policy', resource: 'poddisruptionbudget' }, name, why)
  }
  if (count(budget, 'observedGeneration') < (budget.metadata?.generation ?? 0)) throw budgetNotProcessed(name)
  const allowed = count(budget, 'disruptionsAllowed')
  if (allowed < 0) refuse('pdb disruptions allowed is negative')
  if (Object.keys(struct(struct(budget, 'status'), 'disruptedPods') ?? {}).length > MAX_DISRUPTED_PODS) {
    refuse('DisruptedPods map too big - too many evictions not confirmed by PDB controller')
  }
  if (allowed === 0) throw tooMany(whyNotAllowed(budget, name), 0)
}

/** Takes one disruption from the budget, in place; `checkBudget` has found that there is one. */
export function takeDisruption(budget: KubeObject, podName: string, now: string): void {
  const status = ensureStruct(budget, 'status')
  const left = count(budget, 'disruptionsAllowed') - 1
  status['disruptionsAllowed'] = left
  ensureStruct(status, 'disruptedPods')[podName] = now
  if (left > 0) return
  const observedGeneration = count(budget, 'observedGeneration')
  const condition = { type: allowedCondition, status: 'False', reason: 'InsufficientPods', message: '' } as const
  setCondition(budget, { ...condition, observedGeneration }, now)
}

/** The refusal of an eviction about whose budget nobody knows yet: the client shall ask again. */
export function budgetNotProcessed(name: string): ApiError {
  return tooMany(`The disruption budget ${name} is still being processed by the server.`, unprocessedRetrySeconds)
}

function tooMany(why: string, retryAfterSeconds: number): ApiError {
  return new ApiError({
    code: 429,
    reason: 'TooManyRequests',
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    details: { causes: [{ reason: 'DisruptionBudget', message: why }], retryAfterSeconds },
  })
}

function whyNotAllowed(budget: KubeObject, name: string): string {
  const condition = findCondition(budget, allowedCondition)
  const message = text(condition, 'status') === 'False' ? text(condition, 'message') : ''
  const reason = text(condition, 'reason')
  const not = `The disruption budget ${name} does not allow evicting pods currently`
  // When the controller failed, its counts are not to be believed.
  if (message !== '' && reason === 'SyncFailed') return `${not} because it failed sync: ${message}`
  const [healthy, desired] = [count(budget, 'currentHealthy'), count(budget, 'desiredHealthy')]
  if (healthy <= desired) {
    return `The disruption budget ${name} needs ${desired} healthy pods and has ${healthy} currently`
  }
  return message === '' ? not : `${not} (${reason}): ${message}`
}

function count(budget: KubeObject, name: string): number {
  return integer(struct(budget, 'status'), name) ?? 0
}
