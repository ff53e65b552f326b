/**
 * One control plane behind the hub, as the hub's routes see it: who signs, which tokens count, who owns which name. Hubs of
 * the same cluster share all of it through the cluster's own API server; nothing is kept on a hub's disk.
 */
import type { Certificate } from '../../identity/certificate.ts'
import type { CertificateAuthority } from '../../identity/issue.ts'
import type { JoinClaims } from '../../identity/join-token.ts'
import type { KeyFingerprint } from '../claims/claim.ts'
import type { Claims } from '../claims/claims.ts'

/** What signs the certificates of edges, and whose signatures on them count. */
export interface HubAuthority {
  readonly signing: CertificateAuthority
  /** The signing CA and, during a roll-over, those before it. */
  readonly trust: readonly Certificate[]
  /** What is sent along with the certificates it signs: itself and those above it; nothing if it is a root. */
  readonly chainAbove: readonly Certificate[]
}

/** How the cluster's API server is recognised. A join token pins both members. */
export interface KubernetesTrust {
  /** PEM of every CA that may have signed the API server's certificate. */
  readonly caPem: string
  /** The name in the API server's certificate. */
  readonly apiServerName: string
}

/** The join tokens of the cluster. Every refusal is a `Refusal`; a cluster that cannot be asked is `cluster-unavailable`. */
export interface JoinTokens {
  /** Checks signature, times, audience and that the token is on record and not revoked. */
  verify(jwt: string): Promise<JoinClaims>
  /**
   * Looks again whether the token is on record and not revoked, and counts a use of one that has a limit. The same node with
   * the same key again is the same use.
   */
  use(claims: JoinClaims, node: string, key: KeyFingerprint): Promise<void>
}

export interface ClusterNodes {
  exists(name: string): Promise<boolean>
}

export interface Cluster {
  readonly name: string
  authority(): HubAuthority
  kubernetes(): KubernetesTrust
  readonly tokens: JoinTokens
  readonly claims: Claims
  readonly nodes: ClusterNodes
}
