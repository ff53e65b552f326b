/**
 * What the certificates say that the cluster signs for a node. The hub decides all of it; the node's key has to sign the
 * request, so the node is told what to ask for and anything else is refused.
 */
import { createHash } from 'node:crypto'
import type { CertificateRequest } from '../../identity/csr.ts'
import { formatName } from '../../identity/distinguished-name.ts'
import { keyFingerprint, keyKind } from '../../identity/keys.ts'
import { NODES_GROUP, nodeSubject } from '../../identity/node-name.ts'
import { canonicalIpAddress } from '../../network/ip-address.ts'
import type { CertificatePurpose } from '../../protocol/requests.ts'
import { Refusal } from '../refusal.ts'

export const SIGNER_NAMES: Readonly<Record<CertificatePurpose, string>> = {
  serving: 'kubernetes.io/kubelet-serving',
  client: 'kubernetes.io/kube-apiserver-client-kubelet',
}

export interface CertificateContent {
  readonly purpose: CertificatePurpose
  readonly node: string
  /** Sorted, each once. */
  readonly dnsNames: readonly string[]
  /** In canonical spelling, sorted, each once. */
  readonly ipAddresses: readonly string[]
  readonly expirationSeconds: number
}

export interface ServingFacts {
  /** Where the endpoint of this node may be reached. */
  readonly endpointAddresses: readonly string[]
  /** Addresses of the Service `default/kubernetes`. */
  readonly clusterIps: readonly string[]
  readonly clusterDomain: string
}

export function servingContent(node: string, expirationSeconds: number, facts: ServingFacts): CertificateContent {
  const addresses = [...facts.endpointAddresses, ...facts.clusterIps]
  const names = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc']
  return {
    purpose: 'serving',
    node,
    dnsNames: sorted([...names, `kubernetes.default.svc.${facts.clusterDomain}`]),
    ipAddresses: sorted(addresses.map((address) => canonicalIpAddress(address) ?? address)),
    expirationSeconds,
  }
}

export function clientContent(node: string, expirationSeconds: number): CertificateContent {
  return { purpose: 'client', node, dnsNames: [], ipAddresses: [], expirationSeconds }
}

/** The content as the node gets to see it. The usages are those of every key; for RSA keys the hub adds one. */
export function describeContent({ purpose, node, dnsNames, ipAddresses, expirationSeconds }: CertificateContent) {
  const commonName = nodeSubject(node).find(({ type }) => type === 'CN')?.value
  const usages = ['digital signature', authenticationOf(purpose)]
  return { subject: { commonName, organizations: [NODES_GROUP] }, dnsNames, ipAddresses, usages, expirationSeconds }
}

/** Refuses a request that does not say exactly what `content` says. */
export function checkRequest(request: CertificateRequest, content: CertificateContent): void {
  const problem = differenceOf(request, content)
  if (problem === undefined) return
  const details = { expected: describeContent(content) }
  throw new Refusal('content-mismatch', `the signing request ${problem}; sign what "expected" says`, { details })
}

/** What the request says otherwise than `content`; `undefined` if nothing. */
export function differenceOf(request: CertificateRequest, content: CertificateContent): string | undefined {
  const wanted = nodeSubject(content.node)
  if (subjectKey(request.subject) !== subjectKey(wanted))
    return `is for ${formatName(request.subject)}, not for ${formatName(wanted)}`
  const { dnsNames, ipAddresses, emailAddresses, uris, otherKinds } = request.names
  if (emailAddresses.length + uris.length + otherKinds.length > 0)
    return 'asks for names that are neither DNS names nor addresses'
  return listDifference('DNS names', dnsNames, content.dnsNames) ?? addressDifference(ipAddresses, content.ipAddresses)
}

function addressDifference(asked: readonly string[], expected: readonly string[]): string | undefined {
  const unlisted = asked.filter((address) => !expected.includes(address))
  if (unlisted.length > 0 && expected.length > 0)
    return (
      `asks for the address ${unlisted.join(', ')}, which this hub does not list for this node ` +
      `(its --endpoint-addresses and the cluster's own give ${expected.join(', ')})`
    )
  return listDifference('IP addresses', asked, expected)
}

function listDifference(what: string, asked: readonly string[], expected: readonly string[]): string | undefined {
  if (sorted(asked).join() === expected.join()) return undefined
  return `asks for the ${what} ${asked.join(', ') || '(none)'}, not for ${expected.join(', ') || '(none)'}`
}

/** Attributes in any order: OpenSSL users write them as they come. */
function subjectKey(subject: CertificateRequest['subject']): string {
  return sorted(subject.map(({ type, value }) => `${type}=${value}`)).join('\n')
}

/** The names Kubernetes has for the usages; only RSA keys encipher. */
export function usagesOf(
  purpose: CertificatePurpose,
  { publicKey }: Pick<CertificateRequest, 'publicKey'>,
): readonly string[] {
  const enciphers = keyKind(publicKey, 'the signing request').type === 'rsa'
  return ['digital signature', ...(enciphers ? ['key encipherment'] : []), authenticationOf(purpose)]
}

function authenticationOf(purpose: CertificatePurpose): string {
  return purpose === 'serving' ? 'server auth' : 'client auth'
}

/** What an object for a request is named by: the same request finds it again, on whichever hub it arrives; another key or content is another one. */
export function objectDigest(
  content: CertificateContent,
  { publicKey }: Pick<CertificateRequest, 'publicKey'>,
): string {
  const text = JSON.stringify([content, keyFingerprint(publicKey)])
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

function sorted(values: readonly string[]): string[] {
  return [...new Set(values)].toSorted()
}
