/** What each built-in signer signs. A request outside of its rules fails for good, with the reason. */

import type { CertificateRequest } from '../../identity/csr.ts'
import { attributeValues, commonName } from '../../identity/distinguished-name.ts'

export const KUBELET_SERVING_SIGNER = 'kubernetes.io/kubelet-serving'
export const KUBELET_CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet'
export const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client'

const signature = 'digital signature'
const encipherment = 'key encipherment'
const clientAuth = 'client auth'
const serverAuth = 'server auth'

/** Returns why a request cannot be signed, undefined if it can. */
export type SignerRule = (request: CertificateRequest, usages: readonly string[]) => string | undefined

export const SIGNER_RULES: Readonly<Record<string, SignerRule>> = {
  [KUBELET_SERVING_SIGNER]: kubeletServingBreach,
  [KUBELET_CLIENT_SIGNER]: kubeletClientBreach,
  [CLIENT_SIGNER]: (_request, usages) => clientUsageBreach(usages),
}

function kubeletServingBreach({ subject, names }: CertificateRequest, usages: readonly string[]): string | undefined {
  if (!isOfNodes(attributeValues(subject, 'O'))) return 'subject organization is not system:nodes'
  if (names.dnsNames.length === 0 && names.ipAddresses.length === 0) return 'DNS or IP subjectAltName is required'
  if (names.emailAddresses.length > 0) return 'Email subjectAltNames are not allowed'
  if (names.uris.length > 0) return 'URI subjectAltNames are not allowed'
  return usagesBreach(usages, serverAuth) ?? nodeNameBreach(commonName(subject))
}

export function kubeletClientBreach(
  { subject, names }: CertificateRequest,
  usages: readonly string[],
): string | undefined {
  if (!isOfNodes(attributeValues(subject, 'O'))) return 'subject organization is not system:nodes'
  if (names.dnsNames.length > 0) return 'DNS subjectAltNames are not allowed'
  if (names.emailAddresses.length > 0) return 'Email subjectAltNames are not allowed'
  if (names.ipAddresses.length > 0) return 'IP subjectAltNames are not allowed'
  if (names.uris.length > 0) return 'URI subjectAltNames are not allowed'
  return nodeNameBreach(commonName(subject)) ?? usagesBreach(usages, clientAuth)
}

function isOfNodes(organizations: readonly string[]): boolean {
  return organizations.length === 1 && organizations[0] === 'system:nodes'
}

function nodeNameBreach(name: string | undefined): string | undefined {
  return name?.startsWith('system:node:') ? undefined : 'subject common name does not begin with system:node:'
}

/** Encipherment is for RSA keys and may be left out; everything else must be exactly there. */
function usagesBreach(usages: readonly string[], purpose: string): string | undefined {
  const given = new Set(usages)
  const required = [signature, purpose]
  const extra = [...given].filter((usage) => !required.includes(usage) && usage !== encipherment)
  const isMatch = required.every((usage) => given.has(usage)) && extra.length === 0
  return isMatch ? undefined : `usages did not match [${[...required, encipherment].sort().join(' ')}]`
}

function clientUsageBreach(usages: readonly string[]): string | undefined {
  const foreign = usages.find((usage) => ![signature, encipherment, clientAuth].includes(usage))
  if (foreign !== undefined) return `invalid usage for client certificate: ${foreign}`
  return usages.includes(clientAuth) ? undefined : `missing required usage for client certificate: ${clientAuth}`
}
