/** Nobody hands out by a role or a binding what they do not hold: the check of `auth/rbac`, as a step of every write. */

import type { Clock } from '../../runtime/clock.ts'
import { nowOrInTurns } from '../../runtime/steps.ts'
import { Turns } from '../../runtime/turns.ts'
import type { EscalationCheck, PolicyWrite } from '../auth/rbac/escalation.ts'
import { RBAC_GROUP, RBAC_RESOURCES } from '../auth/rbac/objects.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'

export class RbacEscalation implements AdmissionPlugin {
  readonly name = 'RbacEscalation'
  readonly #check: EscalationCheck
  readonly #clock: Clock

  constructor(check: EscalationCheck, clock: Clock) {
    this.#check = check
    this.#clock = clock
  }

  /** Before validation, so that the API server's order of refusals is kept; no later plugin changes roles or bindings. */
  admit(request: AdmissionRequest): Promise<void> | void {
    const write = policyWriteOf(request)
    if (write === undefined) return
    return nowOrInTurns(this.#check.checkSteps(write), new Turns(this.#clock))
  }
}

function policyWriteOf(request: AdmissionRequest): PolicyWrite | undefined {
  const { operation, resource, subresource, namespace, name, user, object, old } = request
  if (object === undefined || subresource !== '' || resource.group !== RBAC_GROUP) return undefined
  const policy = RBAC_RESOURCES.find((known) => known === resource.row.resource)
  if (policy === undefined) return undefined
  if (operation === 'CREATE') return { user, resource: policy, namespace, name: '', object }
  if (operation !== 'UPDATE' || old === undefined) return undefined
  return { user, resource: policy, namespace, name, object, previous: old }
}
