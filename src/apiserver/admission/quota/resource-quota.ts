/** ResourceQuotas: how many objects a namespace may hold and how much they may ask for together. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { inTurns, type Steps, tried } from '../../../runtime/steps.ts'
import { Turns } from '../../../runtime/turns.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../../core/admission.ts'
import { compareQuantities } from '../../kinds/quantities.ts'
import { type Amounts, addQuantities, formatAmounts, growth, maskAmounts, withoutZeros } from '../amounts.ts'
import { type ObjectLookup, RESOURCE_QUOTAS } from '../lookup.ts'
import { refusal } from '../refusal.ts'
import type { QuotaEvaluator } from './evaluator.ts'
import { PendingObjects } from './pending-objects.ts'
import { countsObject, evaluatorOf, hardOf, NEVER_COUNTED, quotaUsageSteps } from './usage.ts'

export class ResourceQuota implements AdmissionPlugin {
  readonly name = 'ResourceQuota'
  readonly #lookup: ObjectLookup
  readonly #clock: Clock
  readonly #objects: PendingObjects
  /** Namespaces whose objects are being counted: two who count at a time would both take the last place. */
  readonly #counting = new Map<string, Promise<void>>()

  constructor(lookup: ObjectLookup, clock: Clock) {
    this.#lookup = lookup
    this.#clock = clock
    this.#objects = new PendingObjects(lookup, clock)
  }

  /** The last look of all: what is admitted here is counted as if it were stored. */
  validate(request: AdmissionRequest): Promise<void> | void {
    const { namespace } = request
    const turns = new Turns(this.#clock)
    const steps = this.#steps(request)
    const before = this.#counting.get(namespace)
    if (before === undefined && tried(steps, turns) !== undefined) return
    const counting = this.#count(steps, turns, before)
    const settled = counting
      .catch(() => {})
      .finally(() => {
        if (this.#counting.get(namespace) === settled) this.#counting.delete(namespace)
      })
    this.#counting.set(namespace, settled)
    return counting
  }

  async #count(steps: Steps<void>, turns: Turns, before: Promise<void> | undefined): Promise<void> {
    await before
    await inTurns(steps, turns)
  }

  /** With a stop after each object that is counted. */
  *#steps(request: AdmissionRequest): Steps<void> {
    const { object, namespace, operation, resource, dryRun } = request
    const { groupResource } = resource
    if (object === undefined || namespace === '' || groupResource.resource === NEVER_COUNTED) return
    const evaluator = evaluatorOf(groupResource)
    if (!evaluator.handles(request)) return
    const quotas = this.#lookup
      .list(RESOURCE_QUOTAS, namespace)
      .filter((quota) => countsObject(quota, evaluator, object))
    if (quotas.length === 0) return
    for (const quota of quotas) requireAmounts(quota, evaluator, object, request)
    for (const quota of quotas) yield* this.#requireRoom(quota, evaluator, object, request)
    if (operation === 'CREATE' && !dryRun) this.#objects.add(groupResource, object)
  }

  *#requireRoom(
    quota: KubeObject,
    evaluator: QuotaEvaluator,
    object: KubeObject,
    request: AdmissionRequest,
  ): Steps<void> {
    const hard = hardOf(quota)
    const requested = maskAmounts(withoutZeros(this.#requested(quota, evaluator, object, request)), Object.keys(hard))
    if (Object.keys(requested).length === 0) return
    const used = yield* quotaUsageSteps(quota, this.#objects, this.#clock.nowMs())
    const exceeded = Object.keys(requested).filter((name) => {
      const sum = addQuantities(used[name] ?? '0', requested[name] ?? '0')
      return compareQuantities(sum, hard[name] ?? '0') > 0
    })
    if (exceeded.length === 0) return
    const [wanted, present, limit] = [requested, used, hard].map((amounts) =>
      formatAmounts(maskAmounts(amounts, exceeded)),
    )
    const name = quota.metadata?.name ?? ''
    throw refusal(request, `exceeded quota: ${name}, requested: ${wanted}, used: ${present}, limited: ${limit}`)
  }

  /** All that a new object uses; of a changed one, only what it uses more than before. */
  #requested(quota: KubeObject, evaluator: QuotaEvaluator, object: KubeObject, request: AdmissionRequest): Amounts {
    const nowMs = this.#clock.nowMs()
    const usage = evaluator.usage(object, nowMs)
    const { old, operation } = request
    const wasCounted = operation === 'UPDATE' && old !== undefined && countsObject(quota, evaluator, old)
    return wasCounted ? growth(usage, evaluator.usage(old, nowMs)) : usage
  }
}

function requireAmounts(
  quota: KubeObject,
  evaluator: QuotaEvaluator,
  object: KubeObject,
  request: AdmissionRequest,
): void {
  const missing = evaluator.unspecified?.(Object.keys(hardOf(quota)), object)
  if (missing !== undefined) throw refusal(request, `failed quota: ${quota.metadata?.name ?? ''}: ${missing}`)
}
