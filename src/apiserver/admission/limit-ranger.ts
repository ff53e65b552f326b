/** LimitRanges: what containers get that ask for nothing, and how much containers, pods and claims may ask for. */
import type { KubeObject } from '../../kube/objects.ts'
import type { Clock } from '../../runtime/clock.ts'
import { nowOrInTurns, type Steps } from '../../runtime/steps.ts'
import { Turns } from '../../runtime/turns.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { ensureStruct, type Fields, struct, structs, text } from '../kinds/fields.ts'
import { joinErrors } from '../request/authorizer.ts'
import { type Amounts, amountsOf } from './amounts.ts'
import { breaches, type LimitedAmounts, maximum, maximumRatio, maximumRequest, minimum } from './limit-constraints.ts'
import { type Limit, MAX_LIMIT_CHECKS, RANGE_READING } from './limit-facts.ts'
import { CLAIMS, LIMIT_RANGES, type ObjectLookup, PODS } from './lookup.ts'
import { specifiedPodTotals } from './pod-amounts.ts'
import { concerns, concernsObject, refusal } from './refusal.ts'
import { type Totals, totalsOf } from './totals.ts'

/** Tells users why their pod asks for something that they never wrote. */
const annotation = 'kubernetes.io/limit-ranger'

export class LimitRanger implements AdmissionPlugin {
  readonly name = 'LimitRanger'
  readonly #lookup: ObjectLookup
  readonly #clock: Clock

  constructor(lookup: ObjectLookup, clock: Clock) {
    this.#lookup = lookup
    this.#clock = clock
  }

  admit(request: AdmissionRequest): Promise<void> | void {
    const { object } = request
    if (object === undefined || !concerns(request, PODS) || !isLimited(request)) return
    return nowOrInTurns(this.#giveDefaults(request, object), new Turns(this.#clock))
  }

  validate(request: AdmissionRequest): Promise<void> | void {
    const { object } = request
    if (object === undefined || !isLimited(request)) return
    return nowOrInTurns(this.#check(request, object), new Turns(this.#clock))
  }

  *#giveDefaults(request: AdmissionRequest, pod: KubeObject): Steps<void> {
    for (const limits of yield* this.#limitsFor(request, pod)) {
      giveDefaults(pod, limits)
      yield
    }
  }

  *#check(request: AdmissionRequest, object: KubeObject): Steps<void> {
    const ranges = yield* this.#limitsFor(request, object)
    if (ranges.length === 0) return
    const pod = concerns(request, PODS) ? yield* podTotalsOf(object, ranges.flat()) : undefined
    const claimed = totalsOf(struct(struct(object, 'spec'), 'resources'), 'requests')
    for (const limits of ranges) {
      const broken: string[] = []
      for (const limit of limits) {
        if (pod === undefined) broken.push(...claimBreaches(limit, claimed))
        else broken.push(...(yield* podBreaches(limit, pod)))
        yield
      }
      if (broken.length > 0) throw refusal(request, joinErrors(broken))
    }
  }

  /** The limits of each LimitRange, in order. Throws where reading or checking them would take too long. */
  *#limitsFor(request: AdmissionRequest, object: KubeObject): Steps<(readonly Limit[])[]> {
    const parts = partsOf(object)
    const ranges: (readonly Limit[])[] = []
    let checks = 0
    for (const { bounds, limits } of this.#lookup.reads(LIMIT_RANGES, request.namespace, RANGE_READING)) {
      checks += bounds * parts
      if (checks > MAX_LIMIT_CHECKS) {
        const why = 'its containers and the LimitRanges of its namespace need more than'
        throw refusal(request, `${why} ${MAX_LIMIT_CHECKS} checks`)
      }
      ranges.push(limits)
      yield
    }
    return ranges
  }
}

/** What each bound is held against: the containers and the whole. */
function partsOf(object: KubeObject): number {
  const spec = struct(object, 'spec')
  return 1 + structs(spec, 'containers').length + structs(spec, 'initContainers').length
}

/** The amounts of a pod are fixed at its creation and change only by a resize; those of a claim by any update. */
function isLimited(request: AdmissionRequest): boolean {
  const { operation, subresource, old } = request
  if (old?.metadata?.deletionTimestamp !== undefined) return false
  if (concerns(request, PODS)) {
    return (operation === 'CREATE' && subresource === '') || (operation === 'UPDATE' && subresource === 'resize')
  }
  return (operation === 'CREATE' || operation === 'UPDATE') && concernsObject(request, CLAIMS)
}

function giveDefaults(pod: KubeObject, range: readonly Limit[]): void {
  const perContainer = range.filter(({ type }) => type === 'Container')
  const requests = Object.assign({}, ...perContainer.map(({ defaultRequests }) => defaultRequests)) as Amounts
  const limits = Object.assign({}, ...perContainer.map(({ defaultLimits }) => defaultLimits)) as Amounts
  const spec = ensureStruct(pod, 'spec')
  const given = (['containers', 'initContainers'] as const).flatMap((list) =>
    structs(spec, list).flatMap((container) => {
      const owner = `${list === 'containers' ? 'container' : 'init container'} ${text(container, 'name')}`
      const setLimits = fillIn(container, 'limits', limits)
      const setRequests = fillIn(container, 'requests', requests)
      return [
        ...(setRequests.length > 0 ? [`${setRequests.join(', ')} request for ${owner}`] : []),
        ...(setLimits.length > 0 ? [`${setLimits.join(', ')} limit for ${owner}`] : []),
      ]
    }),
  )
  if (given.length === 0) return
  const annotations = { ...pod.metadata?.annotations, [annotation]: `LimitRanger plugin set: ${given.join('; ')}` }
  pod.metadata = { ...pod.metadata, annotations }
}

/** Returns the names of what was missing, sorted. */
function fillIn(container: Fields, kind: 'requests' | 'limits', defaults: Amounts): string[] {
  const present = amountsOf(struct(container, 'resources'), kind)
  const missing = Object.keys(defaults)
    .filter((name) => present[name] === undefined)
    .sort()
  if (missing.length > 0) {
    const target = ensureStruct(ensureStruct(container, 'resources'), kind)
    for (const name of missing) target[name] = defaults[name]
  }
  return missing
}

interface PodTotals {
  readonly containers: readonly LimitedAmounts[]
  readonly whole: LimitedAmounts
}

const nothing: LimitedAmounts = { requests: new Map(), limits: new Map() }

/** As far as the limits ask for it. With stops: it may name thousands of resources. */
function* podTotalsOf(pod: KubeObject, limits: readonly Limit[]): Steps<PodTotals> {
  const isWholeLimited = limits.some(({ type }) => type === 'Pod')
  const spec = struct(pod, 'spec')
  const containers: LimitedAmounts[] = []
  for (const container of [...structs(spec, 'containers'), ...structs(spec, 'initContainers')]) {
    const resources = struct(container, 'resources')
    containers.push({ requests: totalsOf(resources, 'requests'), limits: totalsOf(resources, 'limits') })
    yield
  }
  if (!isWholeLimited) return { containers, whole: nothing }
  const requests = specifiedPodTotals(pod, 'requests')
  yield
  return { containers, whole: { requests, limits: specifiedPodTotals(pod, 'limits') } }
}

function* podBreaches({ type, min, max, ratio }: Limit, pod: PodTotals): Steps<string[]> {
  const parts = type === 'Pod' ? [pod.whole] : type === 'Container' ? pod.containers : []
  const broken: string[] = []
  for (const amounts of parts) {
    broken.push(...breaches(minimum, type, min, amounts))
    broken.push(...breaches(maximum, type, max, amounts))
    broken.push(...breaches(maximumRatio, type, ratio, amounts))
    yield
  }
  return broken
}

function claimBreaches({ type, min, max }: Limit, requests: Totals): string[] {
  if (type !== 'PersistentVolumeClaim') return []
  const amounts = { requests, limits: new Map() }
  return [...breaches(minimum, type, min, amounts), ...breaches(maximumRequest, type, max, amounts)]
}
