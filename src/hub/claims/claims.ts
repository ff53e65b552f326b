/** The claims of one cluster, as the hub's routes see them: asked by name of a node, shared by all hubs. */
import type { Claim, HeldClaim, Joining, KeyFingerprint, Presented } from './claim.ts'

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
