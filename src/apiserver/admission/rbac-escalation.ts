/** Nobody hands out by a role or a binding what they do not hold: the check of `auth/rbac`, as a step of every write. */

import type { EscalationCheck } from '../auth/rbac/escalation.ts'
import { RBAC_GROUP, RBAC_RESOURCES } from '../auth/rbac/objects.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'

export class RbacEscalation implements AdmissionPlugin {
  readonly name = 'RbacEscalation'
  readonly #check: EscalationCheck

  constructor(check: EscalationCheck) {
    this.#check = check
  }

  /** Before validation, so that the API server's order of refusals is kept; no later plugin changes roles or bindings. */
  admit({ operation, resource, subresource, namespace, name, user, object, old }: AdmissionRequest): void {
    if (object === undefined || subresource !== '' || resource.group !== RBAC_GROUP) return
    const policy = RBAC_RESOURCES.find((known) => known === resource.row.resource)
    if (policy === undefined) return
    if (operation === 'CREATE') this.#check.check({ user, resource: policy, namespace, name: '', object })
    if (operation === 'UPDATE' && old !== undefined) {
      this.#check.check({ user, resource: policy, namespace, name, object, previous: old })
    }
  }
}
