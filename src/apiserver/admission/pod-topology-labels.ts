/** A pod learns from its labels in which zone and region it runs: those of its node, from the moment it has one. */
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { ensureStruct, struct, text } from '../kinds/fields.ts'
import { NODES, type ObjectLookup, PODS } from './lookup.ts'
import { concerns } from './refusal.ts'

const topologyLabels = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region']

export class PodTopologyLabels implements AdmissionPlugin {
  readonly name = 'PodTopologyLabels'
  readonly #lookup: ObjectLookup

  constructor(lookup: ObjectLookup) {
    this.#lookup = lookup
  }

  admit(request: AdmissionRequest): void {
    if (request.operation !== 'CREATE' || request.object === undefined || !concerns(request, PODS)) return
    const nodeName = nodeOf(request)
    if (nodeName === '') return
    const labels = this.#lookup.find(NODES, '', nodeName)?.metadata?.labels ?? {}
    for (const key of topologyLabels) {
      const value = labels[key]
      // A binding hands its labels on to the pod.
      if (value !== undefined) ensureStruct(ensureStruct(request.object, 'metadata'), 'labels')[key] = value
    }
  }
}

function nodeOf({ subresource, object }: AdmissionRequest): string {
  if (subresource === '') return text(struct(object, 'spec'), 'nodeName')
  const target = struct(object, 'target')
  return subresource === 'binding' && text(target, 'kind') === 'Node' ? text(target, 'name') : ''
}
