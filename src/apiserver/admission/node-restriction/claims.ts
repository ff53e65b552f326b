/** A kubelet reports how the expansion of a claim goes, and changes nothing else about claims. */
import type { KubeObject } from '../../../kube/objects.ts'
import { goQuote } from '../../../kube/status/go-text.ts'
import type { AdmissionRequest } from '../../core/admission.ts'
import { sameValue } from '../../kinds/equality.ts'
import { type Fields, struct } from '../../kinds/fields.ts'
import { specDifference } from '../../kinds/pods/spec-difference.ts'
import { earlyRefusal } from '../refusal.ts'

const reportedFields = new Set(['capacity', 'conditions', 'allocatedResourceStatuses', 'allocatedResources'])

export function checkClaim(node: string, request: AdmissionRequest): void {
  const { object = {}, old = {}, operation, subresource } = request
  if (subresource !== 'status') throw earlyRefusal(request, 'may only update PVC status')
  if (operation !== 'UPDATE') throw earlyRefusal(request, `unexpected operation ${goQuote(operation)}`)
  const [now, before] = [withoutReport(object), withoutReport(old)]
  if (sameValue(now, before)) return
  const why = `node ${goQuote(node)} is not allowed to update fields other than status.quantity and status.conditions`
  throw earlyRefusal(request, `${why}: ${specDifference(before, now)}`)
}

function withoutReport(claim: KubeObject): Fields {
  const { resourceVersion: _version, managedFields: _fields, ...metadata } = claim.metadata ?? {}
  const status = Object.entries(struct(claim, 'status') ?? {}).filter(([name]) => !reportedFields.has(name))
  return { ...claim, metadata, status: Object.fromEntries(status) }
}
