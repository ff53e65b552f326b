/** A new node takes no pods before it has reported that it is ready. */
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { ensureStruct, structs, text } from '../kinds/fields.ts'
import { NODES } from './lookup.ts'
import { concernsObject } from './refusal.ts'

const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }

export class TaintNodesByCondition implements AdmissionPlugin {
  readonly name = 'TaintNodesByCondition'

  admit(request: AdmissionRequest): void {
    if (request.operation !== 'CREATE' || request.object === undefined || !concernsObject(request, NODES)) return
    const spec = ensureStruct(request.object, 'spec')
    const taints = structs(spec, 'taints')
    const isTainted = taints.some(
      (taint) => text(taint, 'key') === notReady.key && text(taint, 'effect') === notReady.effect,
    )
    if (!isTainted) spec['taints'] = [...taints, { ...notReady }]
  }
}
