/** The certificate of an edge. The hub decides all of it; the edge brings a key and, proven by a token or a certificate, a name. */
import type { KeyObject } from 'node:crypto'
import { type Certificate, certificatePem, type Validity } from '../../identity/certificate.ts'
import { issueCertificate, validityFromNow } from '../../identity/issue.ts'
import { nodeSubject } from '../../identity/node-name.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { HubAuthority } from '../cluster/cluster.ts'
import { Refusal } from '../refusal.ts'

/** A quarter of a year: renewed long before, and a claim can be taken back at any time anyway. */
export const NODE_CERTIFICATE_LIFE_MS = 90 * 24 * 60 * 60 * 1000
/** How long past its end a certificate may still be renewed by itself: a month offline beyond the whole life. */
export const NODE_CERTIFICATE_GRACE_MS = 30 * 24 * 60 * 60 * 1000

export interface IssuedNodeCertificate {
  readonly certificate: Certificate
  /** With the CAs between it and the root, if there are any. */
  readonly chainPem: string
}

/** The life of a certificate that is issued now: never beyond the CA's own end. */
export function nodeCertificateValidity(
  { signing }: HubAuthority,
  { clock, lifeMs }: { readonly clock: Clock; readonly lifeMs: number },
): Validity {
  const { notAfterMs: caEndsMs } = signing.certificate
  if (clock.nowMs() > caEndsMs)
    throw new Refusal('internal', "the hub's CA has expired and cannot sign; its operator has to replace it")
  const { notBeforeMs, notAfterMs } = validityFromNow(clock, lifeMs)
  return { notBeforeMs, notAfterMs: Math.min(notAfterMs, caEndsMs) }
}

export async function issueNodeCertificate(
  { signing, chainAbove }: HubAuthority,
  node: string,
  publicKey: KeyObject,
  validity: Validity,
): Promise<IssuedNodeCertificate> {
  const certificate = await issueCertificate(
    signing,
    {
      ...validity,
      subject: nodeSubject(node),
      keyUsages: ['digitalSignature'],
      extendedKeyUsages: ['clientAuth'],
    },
    publicKey,
  )
  return { certificate, chainPem: certificatePem(certificate, ...chainAbove) }
}
