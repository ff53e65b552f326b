/** Leases. */
import { type FieldError, forbiddenField, invalidField } from '../../../kube/status/field-error.ts'
import { integer, struct, text } from '../fields.ts'
import type { KindRules } from '../rules.ts'

export const LEASE_RULES: KindRules = {
  allowsCreateOnUpdate: true,
  allowsUnconditionalUpdate: false,
  check(lease) {
    const spec = struct(lease, 'spec')
    const [seconds, transitions] = [integer(spec, 'leaseDurationSeconds'), integer(spec, 'leaseTransitions')]
    const errors: FieldError[] = []
    if (seconds !== undefined && seconds <= 0) {
      errors.push(invalidField('spec.leaseDurationSeconds', seconds, 'must be greater than 0'))
    }
    if (transitions !== undefined && transitions < 0) {
      errors.push(invalidField('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'))
    }
    if (text(spec, 'preferredHolder') !== '' && text(spec, 'strategy') === '') {
      errors.push(forbiddenField('spec.preferredHolder', 'may only be specified if `strategy` is defined'))
    }
    return errors
  },
}
