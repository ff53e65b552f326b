/** ResourceQuotas: how many objects a namespace may hold and how much they may ask for together. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { inTurns, type Steps, tried } from '../../../runtime/steps.ts'
import { Turns } from '../../../runtime/turns.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../../core/admission.ts'
import { type ObjectLookup, RESOURCE_QUOTAS } from '../lookup.ts'
import { refusal } from '../refusal.ts'
import { formatTotals, NOTHING, type Total, type Totals } from '../totals.ts'
import { type Counted, type QuotaEvaluator, usageAt } from './evaluator.ts'
import { PendingObjects } from './pending-objects.ts'
import { evaluatorOf, NEVER_COUNTED, QUOTA_READING, type QuotaFacts, resourceKey } from './quota-facts.ts'
import { matchesScopes } from './scopes.ts'
import { NamespaceUsage } from './usage.ts'

/** Of resources that are exceeded, and of containers that do not say what they need: a refusal is for people to read. */
export const MAX_TOLD_QUOTA_NAMES = 100

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

  /** With a stop after each quota and after each object that is counted. */
  *#steps(request: AdmissionRequest): Steps<void> {
    const { object, namespace, operation, resource, dryRun } = request
    const { groupResource } = resource
    if (object === undefined || namespace === '' || groupResource.resource === NEVER_COUNTED) return
    const evaluator = evaluatorOf(groupResource)
    if (!evaluator.handles(request)) return
    const present = yield* this.#quotasOf(evaluator, namespace)
    if (present.length === 0) return
    const counted = evaluator.counting.read(object)
    // Others first: the object may name thousands of resources.
    yield
    const quotas = present.filter(({ scopes }) => matchesScopes(scopes, counted.scopes))
    yield* requireAmounts(quotas, evaluator, object, request)
    yield* this.#requireRoom(quotas, evaluator, counted, request)
    if (quotas.length > 0 && operation === 'CREATE' && !dryRun) this.#objects.add(evaluator, object, counted)
  }

  /** The quotas that are about the resource. */
  *#quotasOf(evaluator: QuotaEvaluator, namespace: string): Steps<QuotaFacts[]> {
    const key = resourceKey(evaluator.resource)
    const quotas: QuotaFacts[] = []
    for (const quota of this.#lookup.reads(RESOURCE_QUOTAS, namespace, QUOTA_READING)) {
      if (quota.parts.has(key)) quotas.push(quota)
      yield
    }
    return quotas
  }

  *#requireRoom(
    quotas: readonly QuotaFacts[],
    evaluator: QuotaEvaluator,
    counted: Counted,
    request: AdmissionRequest,
  ): Steps<void> {
    const nowMs = this.#clock.nowMs()
    const asked = usageAt(counted, nowMs)
    const requestedOf = requests(evaluator, asked, request, nowMs)
    const usage = new NamespaceUsage(this.#objects, request.namespace, nowMs, new Set(asked.keys()))
    for (const quota of quotas) {
      const requested = granted(requestedOf(quota), quota)
      if (requested.size > 0) requireRoomIn(quota, requested, yield* usage.sums(evaluator, quota), request)
      yield
    }
  }
}

/** All that a new object uses; of a changed one, only what it uses more than before where it was counted then. */
function requests(
  { counting }: QuotaEvaluator,
  usage: Totals,
  { old, operation }: AdmissionRequest,
  nowMs: number,
): (quota: QuotaFacts) => Totals {
  if (operation !== 'UPDATE' || old === undefined) return () => usage
  const before = counting.read(old)
  const used = usageAt(before, nowMs)
  const growth = new Map([...usage].map(([name, total]) => [name, total.minus(used.get(name) ?? NOTHING)]))
  return ({ scopes }) => (matchesScopes(scopes, before.scopes) ? growth : usage)
}

/** As far as the quota grants some of it, and anything is asked for. */
function granted(requested: Totals, { hard }: QuotaFacts): Map<string, Total> {
  return new Map([...requested].filter(([name, total]) => hard.has(name) && total.nano !== 0n))
}

function requireRoomIn({ name, hard }: QuotaFacts, requested: Totals, used: Totals, request: AdmissionRequest): void {
  const limitOf = (resource: string): Total => hard.get(resource) ?? NOTHING
  const usedOf = (resource: string): Total => used.get(resource) ?? NOTHING
  const exceeded = [...requested]
    .filter(([resource, { nano }]) => usedOf(resource).nano + nano > limitOf(resource).nano)
    .map(([resource]) => resource)
    .slice(0, MAX_TOLD_QUOTA_NAMES)
  if (exceeded.length === 0) return
  const [wanted, present, limit] = [(each: string) => requested.get(each) ?? NOTHING, usedOf, limitOf].map((totalOf) =>
    formatTotals(new Map(exceeded.map((resource) => [resource, totalOf(resource)]))),
  )
  throw refusal(request, `exceeded quota: ${name}, requested: ${wanted}, used: ${present}, limited: ${limit}`)
}

function* requireAmounts(
  quotas: readonly QuotaFacts[],
  evaluator: QuotaEvaluator,
  object: KubeObject,
  request: AdmissionRequest,
): Steps<void> {
  const silent = evaluator.silent?.(object)
  if (silent === undefined || silent.size === 0) return
  yield
  for (const { name, hard } of quotas) {
    const missing = [...silent.keys()].filter((each) => hard.has(each)).toSorted()
    if (missing.length > 0) {
      const parts = missing.map((each) => `${each} for: ${toldNames(silent.get(each))}`)
      throw refusal(request, `failed quota: ${name}: must specify ${parts.join('; ')}`)
    }
    yield
  }
}

function toldNames(names: readonly string[] = []): string {
  return [...new Set(names)].toSorted().slice(0, MAX_TOLD_QUOTA_NAMES).join(',')
}
