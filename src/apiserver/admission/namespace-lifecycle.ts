/** Objects live in namespaces that exist, nothing new comes into one that is going, and three of them never go. */

import { notFound } from '../../kube/status/resource-errors.ts'
import { ApiError } from '../../kube/status/status.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { struct, text } from '../kinds/fields.ts'
import { NAMESPACES, type ObjectLookup } from './lookup.ts'
import { concerns, earlyRefusal, refusal } from './refusal.ts'

const protectedNamespaces = new Set(['default', 'kube-system', 'kube-public'])

export class NamespaceLifecycle implements AdmissionPlugin {
  readonly name = 'NamespaceLifecycle'
  readonly #lookup: ObjectLookup

  constructor(lookup: ObjectLookup) {
    this.#lookup = lookup
  }

  admit(request: AdmissionRequest): void {
    const { namespace, operation, resource } = request
    if (namespace === '' || concerns(request, NAMESPACES)) return
    if (operation !== 'CREATE' && operation !== 'UPDATE') return
    // Whether somebody may do something is a fair question about a namespace that is not there.
    if (resource.row.resource === 'localsubjectaccessreviews') return
    const found = this.#lookup.find(NAMESPACES, '', namespace)
    if (found === undefined) throw notFound(NAMESPACES, namespace)
    if (operation === 'CREATE' && text(struct(found, 'status'), 'phase') === 'Terminating') {
      throw terminating(request)
    }
  }

  /** A delete changes no object, so it is only ever asked here. */
  validate(request: AdmissionRequest): void {
    const isDelete = request.operation === 'DELETE' && request.subresource === ''
    if (isDelete && concerns(request, NAMESPACES) && protectedNamespaces.has(request.name)) {
      throw refusal(request, 'this namespace may not be deleted')
    }
  }
}

/** Garbage collection and clients tell this refusal from others by its cause. */
function terminating(request: AdmissionRequest): ApiError {
  const { namespace } = request
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`
  const { code, reason = '', message = '', details } = earlyRefusal(request, why).status
  const cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${namespace} is being terminated`,
    field: 'metadata.namespace',
  }
  return new ApiError({ code, reason, message, details: { ...details, causes: [cause] } })
}
