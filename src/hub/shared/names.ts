/** What the hub's objects in the cluster are called. Everything of ours carries one label, so that people can find it. */
import { createHash } from 'node:crypto'

export const CA_SECRET = 'causeway-ca'
export const TOKEN_KEYS_SECRET = 'causeway-token-keys'
export const JOIN_TOKEN_SECRET = 'causeway-join-token'
export const CLUSTER_CONFIG_MAP = 'causeway-cluster'

const ourLabels: Readonly<Record<string, string>> = { 'causeway.io/part-of': 'causeway' }
export const TOKEN_LABEL = 'causeway.io/token'
export const CLAIM_LABEL = 'causeway.io/claim'

/** The longest name an object may have: a DNS subdomain. */
const maxNameLength = 253
const claimPrefix = 'causeway-claim.'
const hashedPrefix = 'sha256-'
const serverHashDigits = 10

export function tokenRecordName(id: string): string {
  return `causeway-token-${id}`
}

/** A node that is itself called like a hash gets one too, so that no two nodes ever share a name here. */
export function claimName(node: string): string {
  const plain = claimPrefix + node
  if (plain.length <= maxNameLength && !node.startsWith(hashedPrefix)) return plain
  return `${claimPrefix}${hashedPrefix}${sha256(node)}`
}

/** Hubs that answer to the same addresses share a server certificate; the order of the addresses means nothing. */
export function serverSecretName(addresses: readonly string[]): string {
  const sorted = [...new Set(addresses)].toSorted()
  return `causeway-server-${sha256(sorted.join('\n')).slice(0, serverHashDigits)}`
}

/** The labels of an object of ours; `kind` is the label that lists objects of one sort. */
export function labelsOf(kind?: string): Record<string, string> {
  return kind === undefined ? { ...ourLabels } : { ...ourLabels, [kind]: '' }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
