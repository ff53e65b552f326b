/** LimitRanges: what containers get that ask for nothing, and how much containers, pods and claims may ask for. */
import type { KubeObject } from '../../kube/objects.ts'
import { joinErrors } from '../auth/authorizer.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { ensureStruct, type Fields, struct, structs, text } from '../kinds/fields.ts'
import { type Amounts, amountsOf } from './amounts.ts'
import { breaches, type LimitedAmounts, maximum, maximumRatio, maximumRequest, minimum } from './limit-constraints.ts'
import { CLAIMS, LIMIT_RANGES, type ObjectLookup, PODS } from './lookup.ts'
import { specifiedPodAmounts } from './pod-amounts.ts'
import { concerns, concernsObject, refusal } from './refusal.ts'

/** Tells users why their pod asks for something that they never wrote. */
const annotation = 'kubernetes.io/limit-ranger'

export class LimitRanger implements AdmissionPlugin {
  readonly name = 'LimitRanger'
  readonly #lookup: ObjectLookup

  constructor(lookup: ObjectLookup) {
    this.#lookup = lookup
  }

  admit(request: AdmissionRequest): void {
    const { object } = request
    if (object === undefined || !concerns(request, PODS)) return
    const ranges = this.#rangesFor(request)
    checkPrice(request, object, ranges)
    for (const range of ranges) giveDefaults(object, range)
  }

  validate(request: AdmissionRequest): void {
    const { object } = request
    if (object === undefined) return
    for (const range of this.#rangesFor(request)) {
      const limits = structs(struct(range, 'spec'), 'limits')
      const broken = concerns(request, PODS)
        ? limits.flatMap((limit) => podBreaches(limit, object))
        : limits.flatMap((limit) => claimBreaches(limit, object))
      if (broken.length > 0) throw refusal(request, joinErrors(broken))
    }
  }

  #rangesFor(request: AdmissionRequest): readonly KubeObject[] {
    const isGoing = request.old?.metadata?.deletionTimestamp !== undefined
    return isLimited(request) && !isGoing ? this.#lookup.list(LIMIT_RANGES, request.namespace) : []
  }
}

/** The amounts of a pod are fixed at its creation and change only by a resize; those of a claim by any update. */
function isLimited(request: AdmissionRequest): boolean {
  const { operation, subresource } = request
  if (concerns(request, PODS)) {
    return (operation === 'CREATE' && subresource === '') || (operation === 'UPDATE' && subresource === 'resize')
  }
  return (operation === 'CREATE' || operation === 'UPDATE') && concernsObject(request, CLAIMS)
}

/** Of one pod: each container is held against each resource of each LimitRange. Far more than there are in use. */
export const MAX_LIMIT_CHECKS = 10_000

function checkPrice(request: AdmissionRequest, pod: KubeObject, ranges: readonly KubeObject[]): void {
  const spec = struct(pod, 'spec')
  const containers = structs(spec, 'containers').length + structs(spec, 'initContainers').length
  let bounds = 0
  for (const range of ranges) {
    for (const limit of structs(struct(range, 'spec'), 'limits'))
      for (const amounts of Object.values(limit)) bounds += Object.keys(amounts ?? {}).length
  }
  if ((containers + 1) * bounds <= MAX_LIMIT_CHECKS) return
  throw refusal(
    request,
    `its containers and the LimitRanges of its namespace need more than ${MAX_LIMIT_CHECKS} checks`,
  )
}

function giveDefaults(pod: KubeObject, range: KubeObject): void {
  const perContainer = structs(struct(range, 'spec'), 'limits').filter((limit) => text(limit, 'type') === 'Container')
  const requests = Object.assign({}, ...perContainer.map((limit) => amountsOf(limit, 'defaultRequest'))) as Amounts
  const limits = Object.assign({}, ...perContainer.map((limit) => amountsOf(limit, 'default'))) as Amounts
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

function podBreaches(limit: Fields, pod: KubeObject): string[] {
  const type = text(limit, 'type')
  return limitedParts(type, pod).flatMap((amounts) => [
    ...breaches(minimum, type, amountsOf(limit, 'min'), amounts),
    ...breaches(maximum, type, amountsOf(limit, 'max'), amounts),
    ...breaches(maximumRatio, type, amountsOf(limit, 'maxLimitRequestRatio'), amounts),
  ])
}

function limitedParts(type: string, pod: KubeObject): LimitedAmounts[] {
  if (type === 'Pod') {
    return [{ requests: specifiedPodAmounts(pod, 'requests'), limits: specifiedPodAmounts(pod, 'limits') }]
  }
  if (type !== 'Container') return []
  const spec = struct(pod, 'spec')
  return [...structs(spec, 'containers'), ...structs(spec, 'initContainers')].map((container) => ({
    requests: amountsOf(struct(container, 'resources'), 'requests'),
    limits: amountsOf(struct(container, 'resources'), 'limits'),
  }))
}

function claimBreaches(limit: Fields, claim: KubeObject): string[] {
  const type = text(limit, 'type')
  if (type !== 'PersistentVolumeClaim') return []
  const requests = amountsOf(struct(struct(claim, 'spec'), 'resources'), 'requests')
  return [
    ...breaches(minimum, type, amountsOf(limit, 'min'), { requests, limits: {} }),
    ...breaches(maximumRequest, type, amountsOf(limit, 'max'), { requests, limits: {} }),
  ]
}
