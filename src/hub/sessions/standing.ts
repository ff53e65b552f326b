/** Whether a session may go on, by the claim on its node's name: the rules, without I/O. */
import { type Claim, claimByCertificate, type HeldClaim, type KeyFingerprint } from '../claims/claim.ts'

/** What a session was let in with. */
export interface SessionProof {
  readonly node: string
  readonly key: KeyFingerprint
  readonly notBeforeMs: number
  readonly notAfterMs: number
  readonly claim: HeldClaim
}

/**
 * - `good`: the key holds the name.
 * - `superseded`: the same holder has rotated to another key, so this session is to be replaced by one with that key.
 * - `contested`: somebody else holds the name, unless the claim is older than the session; the record itself must say.
 * - `revoked`: the name was released, and no later claim can make this certificate count again.
 * - `expired`: the certificate has ended.
 */
export type Standing = 'good' | 'superseded' | 'contested' | 'revoked' | 'expired'

/** A certificate is good to the end of the second that it names as its last. */
const lastSecondMs = 1_000

export function standingOf(proof: SessionProof, claim: Claim | undefined, nowMs: number): Standing {
  if (proof.notAfterMs + lastSecondMs <= nowMs) return 'expired'
  if (isAllowed(proof, claim, nowMs)) return 'good'
  if (claim?.state !== 'held') return 'revoked'
  return isSameHolder(proof.claim, claim) ? 'superseded' : 'contested'
}

function isAllowed(proof: SessionProof, claim: Claim | undefined, nowMs: number): boolean {
  try {
    claimByCertificate(claim, { ...proof, nowMs })
    return true
  } catch {
    return false
  }
}

/** A rotation keeps both; whoever takes the name by a token changes at least one. */
function isSameHolder(a: HeldClaim, b: HeldClaim): boolean {
  return a.heldSinceMs === b.heldSinceMs && a.tokenId === b.tokenId
}
