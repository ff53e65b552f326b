/** No certificate of the client signer makes its holder an administrator that RBAC cannot bind. */
import { attributeValues } from '../../identity/distinguished-name.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { struct, text } from '../kinds/fields.ts'
import { MASTERS_GROUP } from '../request/user.ts'
import { SIGNING_REQUESTS } from './lookup.ts'
import { concernsObject, refusal } from './refusal.ts'
import { requestedSubject } from './requested-subject.ts'

const clientSigner = 'kubernetes.io/kube-apiserver-client'

export class CertificateSubjectRestriction implements AdmissionPlugin {
  readonly name = 'CertificateSubjectRestriction'

  async validate(request: AdmissionRequest): Promise<void> {
    if (request.operation !== 'CREATE' || !concernsObject(request, SIGNING_REQUESTS)) return
    const spec = struct(request.object, 'spec')
    if (text(spec, 'signerName') !== clientSigner) return
    const subject = await requestedSubject(spec)
    if (!subject.readable) throw refusal(request, `failed to parse CSR: ${subject.why}`)
    if (attributeValues(subject.name, 'O').includes(MASTERS_GROUP)) {
      throw refusal(request, `use of ${clientSigner} signer with ${MASTERS_GROUP} group is not allowed`)
    }
  }
}
