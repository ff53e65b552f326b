/** A running pod may only grow to what its node can offer at all. */

import type { KubeObject } from '../../kube/objects.ts'
import { forbidden } from '../../kube/status/resource-errors.ts'
import { ApiError } from '../../kube/status/status.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { struct, text } from '../kinds/fields.ts'
import { inMilli } from './amounts.ts'
import { NODES, type ObjectLookup, PODS } from './lookup.ts'
import { chargedPodTotals } from './pod-amounts.ts'
import { concerns, refusal } from './refusal.ts'
import { NOTHING, totalsOf } from './totals.ts'

const osLabel = 'kubernetes.io/os'
const nanoPerUnit = 1_000_000_000n

export class PodResizeValidator implements AdmissionPlugin {
  readonly name = 'PodResizeValidator'
  readonly #lookup: ObjectLookup

  constructor(lookup: ObjectLookup) {
    this.#lookup = lookup
  }

  validate(request: AdmissionRequest): void {
    if (request.operation !== 'UPDATE' || request.subresource !== 'resize' || !concerns(request, PODS)) return
    const { object: pod, old } = request
    const nodeName = text(struct(pod, 'spec'), 'nodeName')
    if (pod === undefined || nodeName === '' || pod.metadata?.generation === old?.metadata?.generation) return
    const node = this.#lookup.find(NODES, '', nodeName)
    if (node === undefined) throw refusal(request, `node "${nodeName}" not found`)
    const os = node.metadata?.labels?.[osLabel] ?? 'linux'
    if (os !== 'linux') {
      const why = `pod resize is only supported on linux nodes, node "${nodeName}" is "${os}"`
      throw refusalFor(request, why, 'UnsupportedPlatform')
    }
    const lacking = lackingOn(node, pod)
    if (lacking.length > 0) {
      const why = `node didn't have enough allocatable resources: ${lacking.join('; ')}`
      throw refusalFor(request, why, 'NodeCapacity')
    }
  }
}

function lackingOn(node: KubeObject, pod: KubeObject): string[] {
  const offered = totalsOf(struct(node, 'status'), 'allocatable')
  const wanted = chargedPodTotals(pod, 'requests', ['cpu', 'memory'])
  const units = { cpu: inMilli, memory: (nano: bigint) => nano / nanoPerUnit }
  return (['cpu', 'memory'] as const).flatMap((name) => {
    const [{ nano: want }, { nano: have }] = [wanted.get(name) ?? NOTHING, offered.get(name) ?? NOTHING]
    if (want <= have) return []
    return [`${name}, requested: ${units[name](want)}, allocatable: ${units[name](have)}`]
  })
}

/** Clients that resize for others tell by the cause whether another node would help. */
function refusalFor(request: AdmissionRequest, why: string, cause: string): ApiError {
  const { message, code, status } = forbidden(request.resource.groupResource, request.name, why)
  return new ApiError({
    code,
    reason: 'Forbidden',
    message,
    details: { ...status.details, causes: [{ reason: cause }] },
  })
}
