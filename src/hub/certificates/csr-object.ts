/** Our CertificateSigningRequests: how they are named and marked, what one says, and how it stands. */

import type { CertificateRequest } from '../../identity/csr.ts'
import { REQUEST_LABEL } from '../../identity/csr.ts'
import { writePem } from '../../identity/pem.ts'
import type { CertificateSigningRequest } from '../../kube/client/types.ts'
import { CERTIFICATE_PURPOSES, type CertificatePurpose } from '../../protocol/requests.ts'
import { type CertificateContent, objectDigest, SIGNER_NAMES, usagesOf } from './template.ts'

/** Nobody else may use either: what wears one of them and is not ours is denied. */
export const CSR_NAME_PREFIX = 'causeway-edge-'
export const CSR_LABEL = 'causeway.io/node-certificate'
/** Node names are too long for a label. */
export const CSR_NODE_ANNOTATION = 'causeway.io/node'

export function csrName(content: CertificateContent, request: CertificateRequest): string {
  return `${CSR_NAME_PREFIX}${content.purpose}-${objectDigest(content, request)}`
}

export function csrObject(content: CertificateContent, request: CertificateRequest): CertificateSigningRequest {
  const { purpose, node, expirationSeconds } = content
  return {
    metadata: {
      name: csrName(content, request),
      labels: { [CSR_LABEL]: purpose, 'causeway.io/part-of': 'causeway' },
      annotations: { [CSR_NODE_ANNOTATION]: node },
    },
    spec: {
      request: Buffer.from(writePem(REQUEST_LABEL, request.der)).toString('base64'),
      signerName: SIGNER_NAMES[purpose],
      usages: [...usagesOf(purpose, request)],
      expirationSeconds,
    },
  }
}

/**
 * Whether it claims to be one of ours. What asks another signer cannot be, whatever it wears: nobody would take its certificate
 * for one of ours, and a hub may not decide on it.
 */
export function wearsOurMarks({ metadata, spec }: CertificateSigningRequest): boolean {
  if (!Object.values(SIGNER_NAMES).includes(spec.signerName)) return false
  return metadata?.name?.startsWith(CSR_NAME_PREFIX) === true || metadata?.labels?.[CSR_LABEL] !== undefined
}

export function purposeOf({ metadata }: CertificateSigningRequest): CertificatePurpose | undefined {
  return CERTIFICATE_PURPOSES.find((purpose) => purpose === metadata?.labels?.[CSR_LABEL])
}

export type CsrOutcome =
  | { readonly state: 'pending' }
  | { readonly state: 'approved' }
  | { readonly state: 'issued'; readonly certificatePem: string }
  | { readonly state: 'refused'; readonly message: string }

export function outcomeOf({ status }: CertificateSigningRequest): CsrOutcome {
  if (status?.certificate) {
    return { state: 'issued', certificatePem: Buffer.from(status.certificate, 'base64').toString('utf8') }
  }
  const conditions = status?.conditions ?? []
  const bad = conditions.find(({ type }) => type === 'Denied' || type === 'Failed')
  if (bad !== undefined) {
    const why = [bad.reason, bad.message].filter((text) => text !== undefined && text !== '').join(': ')
    return {
      state: 'refused',
      message: `${bad.type === 'Denied' ? 'denied' : 'failed'}${why === '' ? '' : ` (${why})`}`,
    }
  }
  return { state: conditions.some(({ type }) => type === 'Approved') ? 'approved' : 'pending' }
}
