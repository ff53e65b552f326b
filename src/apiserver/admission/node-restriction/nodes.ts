/** A kubelet writes its own Node only, and there nothing by which it could attract pods or outlive its owner. */
import { goQuote } from '../../../kube/status/go-text.ts'
import type { AdmissionRequest } from '../../core/admission.ts'
import { sameValue } from '../../kinds/equality.ts'
import { has, struct } from '../../kinds/fields.ts'
import { earlyRefusal } from '../refusal.ts'
import { forbiddenLabelChanges } from './node-labels.ts'

export function checkNode(node: string, request: AdmissionRequest): void {
  const quoted = goQuote(node)
  if (request.name !== node) {
    throw earlyRefusal(request, `node ${quoted} is not allowed to modify node ${goQuote(request.name)}`)
  }
  if (request.operation === 'CREATE') checkCreate(quoted, request)
  if (request.operation === 'UPDATE') checkUpdate(quoted, request)
}

function checkCreate(quoted: string, request: AdmissionRequest): void {
  if (has(struct(request.object, 'spec'), 'configSource')) {
    throw earlyRefusal(request, `node ${quoted} is not allowed to create pods with a non-nil configSource`)
  }
  const labels = forbiddenLabelChanges(request.object?.metadata?.labels ?? {}, {})
  if (labels.length > 0) {
    throw earlyRefusal(request, `node ${quoted} is not allowed to set the following labels: ${labels.join(', ')}`)
  }
}

function checkUpdate(quoted: string, request: AdmissionRequest): void {
  const { object, old } = request
  const [spec, oldSpec] = [struct(object, 'spec'), struct(old, 'spec')]
  if (has(spec, 'configSource') && !sameValue(spec?.['configSource'], oldSpec?.['configSource'])) {
    throw earlyRefusal(request, `node ${quoted} is not allowed to update configSource to a new non-nil configSource`)
  }
  if (!sameValue(spec?.['taints'], oldSpec?.['taints'])) {
    throw earlyRefusal(request, `node ${quoted} is not allowed to modify taints`)
  }
  if (!sameValue(object?.metadata?.ownerReferences, old?.metadata?.ownerReferences)) {
    throw earlyRefusal(request, `node ${quoted} is not allowed to modify ownerReferences`)
  }
  const labels = forbiddenLabelChanges(object?.metadata?.labels ?? {}, old?.metadata?.labels ?? {})
  if (labels.length > 0) throw earlyRefusal(request, `is not allowed to modify labels: ${labels.join(', ')}`)
}
