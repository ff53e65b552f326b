/** The certificate of an edge. The hub decides all of it; the edge brings a key and, proven by a token or a certificate, a name. */
import type { KeyObject } from 'node:crypto'
import { type Certificate, certificatePem } from '../../identity/certificate.ts'
import { issueCertificate, validityFromNow } from '../../identity/issue.ts'
import { nodeSubject } from '../../identity/node-name.ts'
import type { Clock } from '../../telemetry/clock.ts'
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

export async function issueNodeCertificate(
  authority: HubAuthority,
  node: string,
  publicKey: KeyObject,
  { clock, lifeMs }: { readonly clock: Clock; readonly lifeMs: number },
): Promise<IssuedNodeCertificate> {
  const { signing, chainAbove } = authority
  if (clock.nowMs() > signing.certificate.notAfterMs)
    throw new Refusal('internal', "the hub's CA has expired and cannot sign; its operator has to replace it")
  const certificate = await issueCertificate(
    signing,
    {
      ...validityFromNow(clock, lifeMs),
      subject: nodeSubject(node),
      keyUsages: ['digitalSignature'],
      extendedKeyUsages: ['clientAuth'],
    },
    publicKey,
    { ifOutlivesCa: 'cap' },
  )
  return { certificate, chainPem: certificatePem(certificate, ...chainAbove) }
}
