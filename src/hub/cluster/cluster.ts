/**
 * One control plane behind the hub, as the hub's routes see it: who signs, which tokens count, who owns which name. Hubs of
 * the same cluster share all of it through the cluster's own API server; nothing is kept on a hub's disk.
 */
import type { Certificate } from '../../identity/certificate.ts'
import type { CertificateAuthority } from '../../identity/issue.ts'
import type { JoinClaims } from '../../identity/join-token.ts'
import type { Claim, HeldClaim, Joining, KeyFingerprint, Presented } from '../claims/claim.ts'

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

/** With the end of the certificate that is issued if this is allowed: for lists and metrics, never for a decision. */
export interface JoiningWithCertificate extends Omit<Joining, 'nowMs'> {
  readonly certificateEndsMs: number
}

/** The claims of the cluster. Writes are seen by all hubs; a lost race is judged again by the same rules. */
export interface Claims {
  /** As far as this hub knows, without asking: for what happens on every request of a node. */
  known(node: string): Claim | undefined
  byToken(joining: JoiningWithCertificate): Promise<HeldClaim>
  /** Records and allows the use of a certificate, or refuses it. */
  byCertificate(presented: Omit<Presented, 'nowMs'>): Promise<HeldClaim>
  byRotation(
    node: string,
    presented: KeyFingerprint,
    wanted: KeyFingerprint,
    certificateEndsMs: number,
  ): Promise<HeldClaim>
  /** False if nobody held the name. */
  forget(node: string): Promise<boolean>
  /** Hears of each change, whichever hub made it; also of those that were missed while the API server was away. */
  onChange(listener: (node: string, claim: Claim | undefined) => void): () => void
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
