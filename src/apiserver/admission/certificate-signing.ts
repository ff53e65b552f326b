/** Issuing a certificate, or failing to, takes the verb `sign` on its signer, besides access to the status. */
import { goQuote } from '../../kube/status/go-text.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { sameValue } from '../kinds/equality.ts'
import { struct, text } from '../kinds/fields.ts'
import type { Authorizer } from '../request/authorizer.ts'
import { SIGNING_REQUESTS } from './lookup.ts'
import { concerns, refusal } from './refusal.ts'
import { maySigner } from './signer-permission.ts'

export class CertificateSigning implements AdmissionPlugin {
  readonly name = 'CertificateSigning'
  readonly #authorizer: Authorizer

  constructor(authorizer: Authorizer) {
    this.#authorizer = authorizer
  }

  validate(request: AdmissionRequest): void {
    const { operation, subresource, object, user } = request
    if (operation !== 'UPDATE' || subresource !== 'status' || !concerns(request, SIGNING_REQUESTS)) return
    const { old } = request
    const [now, before] = [struct(object, 'status'), struct(old, 'status')]
    if (['certificate', 'conditions'].every((field) => sameValue(now?.[field], before?.[field]))) return
    const signer = text(struct(old, 'spec'), 'signerName')
    if (!maySigner(this.#authorizer, user, 'sign', signer)) {
      throw refusal(request, `user not permitted to sign requests with signerName ${goQuote(signer)}`)
    }
  }
}
