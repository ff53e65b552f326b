/** Approving a certificate takes the verb `approve` on its signer, besides access to the request. */
import { goQuote } from '../../kube/status/go-text.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { struct, text } from '../kinds/fields.ts'
import type { Authorizer } from '../request/authorizer.ts'
import { SIGNING_REQUESTS } from './lookup.ts'
import { concerns, refusal } from './refusal.ts'
import { maySigner } from './signer-permission.ts'

export class CertificateApproval implements AdmissionPlugin {
  readonly name = 'CertificateApproval'
  readonly #authorizer: Authorizer

  constructor(authorizer: Authorizer) {
    this.#authorizer = authorizer
  }

  validate(request: AdmissionRequest): void {
    const { operation, subresource, user } = request
    if (operation !== 'UPDATE' || subresource !== 'approval' || !concerns(request, SIGNING_REQUESTS)) return
    const { old } = request
    const signer = text(struct(old, 'spec'), 'signerName')
    if (!maySigner(this.#authorizer, user, 'approve', signer)) {
      throw refusal(request, `user not permitted to approve requests with signerName ${goQuote(signer)}`)
    }
  }
}
