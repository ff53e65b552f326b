/** What the certificates of a node must say, and what is said to people when they do not. Pure. */

import type { Certificate } from '../../identity/certificate.ts'
import { formatName } from '../../identity/distinguished-name.ts'
import { nodeOfSubject } from '../../identity/node-name.ts'
import { speaksFor, type VerificationReason, verifyCertificate } from '../../identity/verify.ts'
import { canonicalIpAddress } from '../../network/ip-address.ts'
import type { CertificatePurpose } from '../../protocol/requests.ts'
import { ExplainedError } from '../../runtime/explained-error.ts'
import type { CertificateContent } from '../hub/hub-client.ts'

type Chain = readonly [Certificate, ...Certificate[]]

const usages = { serving: 'serverAuth', client: 'clientAuth' } as const
const dateReasons: ReadonlySet<VerificationReason> = new Set(['expired', 'not-yet-valid'])

/** The hub does not have addresses signed at which this edge is to serve. */
export class EndpointAddressError extends ExplainedError {
  override readonly name = 'EndpointAddressError'
}

export interface NodePairChecks {
  readonly purpose: CertificatePurpose
  readonly node: string
  readonly atMs: number
  /** `ignore` for what is on disk: an expired pair is replaced, and says until then whose it was. */
  readonly dates: 'check' | 'ignore'
}

/** Why a certificate cannot be this node's; who signed it is another question. */
export function nodePairProblem(
  [certificate]: Chain,
  { purpose, node, atMs, dates }: NodePairChecks,
): string | undefined {
  const verdict = verifyCertificate(certificate, { trust: [certificate], usage: usages[purpose], atMs })
  const failures = verdict.ok ? [] : verdict.failures
  const failure = failures.find(({ reason }) => dates === 'check' || !dateReasons.has(reason))
  if (failure !== undefined) return failure.message
  if (nodeOfSubject(certificate.subject) === node) return undefined
  return `the certificate is about ${formatName(certificate.subject)}, not about node ${node}`
}

export function addressesLackingIn(certificate: Certificate, wanted: readonly string[]): readonly string[] {
  return wanted.filter((address) => !speaksFor(certificate, address))
}

/** The error to end with if the hub would not have all addresses signed that are wanted. */
export function unlistedAddresses(
  { ipAddresses }: Pick<CertificateContent, 'ipAddresses'>,
  wanted: readonly string[],
): EndpointAddressError | undefined {
  const missing = wanted.filter((address) => !ipAddresses.includes(canonicalIpAddress(address) ?? address))
  if (missing.length === 0) return undefined
  return new EndpointAddressError(
    `the endpoint is to serve at ${missing.join(', ')}, which the hub does not list for this node; it lists ` +
      `${ipAddresses.join(', ') || 'no address'}. Add ${missing.length === 1 ? 'it' : 'them'} to --endpoint-addresses of ` +
      'every hub, or give this edge an --endpoint-address that is listed',
  )
}

/** Why clients that trust only `kubernetesCa`, as pods do, refuse the certificate; what is wrong with its dates passes. */
export function podTrustProblem(
  [certificate, ...intermediates]: Chain,
  kubernetesCa: readonly Certificate[],
  atMs: number,
): string | undefined {
  const verdict = verifyCertificate(certificate, { trust: kubernetesCa, intermediates, usage: 'serverAuth', atMs })
  const isOwnDate = (reason: VerificationReason, faulty: Certificate): boolean =>
    faulty === certificate && dateReasons.has(reason)
  if (verdict.ok || verdict.failures.every((each) => isOwnDate(each.reason, each.certificate))) return undefined
  const signer = named(certificate.issuer, certificate.authorityKeyId)
  const trusted = kubernetesCa.map(({ subject, subjectKeyId }) => named(subject, subjectKeyId)).join(', ')
  return (
    `pods refuse the endpoint's certificate: it was signed by ${signer}, and they trust only ${trusted}. Give ` +
    'kube-controller-manager the CA that pods trust in --cluster-signing-kubelet-serving-cert-file and ' +
    '--cluster-signing-kubelet-serving-key-file (or in --cluster-signing-cert-file and --cluster-signing-key-file), then ' +
    'restart this edge, which asks for another certificate'
  )
}

/** CAs of one program often have one name; the key id tells them apart. */
function named(name: Certificate['subject'], keyId: string | undefined): string {
  return keyId === undefined ? formatName(name) : `${formatName(name)} (key id ${keyId})`
}
