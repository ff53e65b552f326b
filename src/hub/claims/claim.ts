/**
 * Who owns a node name: the rules, without I/O. A claim binds a name to a key, never to a certificate, so that renewing one
 * for the same key changes nothing.
 *
 *   absent    nobody owns the name
 *   held      `current` owns it; `next`, if there, is the key of a certificate that was issued and not yet seen in use
 *   released  an operator took the name back: certificates from before count for nothing any more
 *
 * A holder that rotates gets a certificate for its next key. The answer may be lost on the way, so `current` stays good, and
 * may ask again with yet another key, until `next` is first presented; from then on only that one counts.
 */
import { Refusal } from '../refusal.ts'

/** SHA-256 of a public key's DER, in hex: see `keyFingerprint`. */
export type KeyFingerprint = string

export interface HeldClaim {
  readonly state: 'held'
  readonly node: string
  readonly current: KeyFingerprint
  readonly next?: KeyFingerprint
  readonly heldSinceMs: number
  /** The token that brought the present owner in; absent for one that came with a certificate of its own. */
  readonly tokenId?: string
  /** When the latest certificate for the name ends, for lists and metrics. */
  readonly certificateEndsMs?: number
}

export interface ReleasedClaim {
  readonly state: 'released'
  readonly node: string
  readonly releasedAtMs: number
}

export type Claim = HeldClaim | ReleasedClaim

export interface Joining {
  readonly node: string
  readonly key: KeyFingerprint
  readonly token: { readonly id: string; readonly namesNode: boolean }
  /** Whether the cluster has a Node of that name, whoever made it. */
  readonly nodeExists: boolean
  readonly nowMs: number
}

/** The claim after a join by token; the same object if nothing changes. */
export function claimByToken(claim: Claim | undefined, joining: Joining): HeldClaim {
  const { node, key, token, nodeExists, nowMs } = joining
  if (claim?.state === 'held') {
    if (claim.current === key || claim.next === key) return claimByUse(claim, key)
    if (!token.namesNode)
      throw new Refusal(
        'name-taken',
        `node ${node} has joined with another key; to replace it use a token for this node ` +
          `(causeway token create --node ${node}), or release the name first (causeway nodes forget ${node})`,
      )
  } else if (nodeExists && !token.namesNode) {
    throw new Refusal(
      'node-exists',
      `the cluster has a node ${node} that did not join through this hub; ` +
        `use a token for this node: causeway token create --node ${node}`,
    )
  }
  return { state: 'held', node, current: key, heldSinceMs: nowMs, tokenId: token.id }
}

/** The claim after its holder, who presented `presented`, asked for a certificate for `wanted`. */
export function claimByRotation(claim: HeldClaim, presented: KeyFingerprint, wanted: KeyFingerprint): HeldClaim {
  const { next: _replaced, ...held } = claimByUse(claim, presented)
  return wanted === held.current ? held : { ...held, next: wanted }
}

/** The claim after `presented` was shown in use; the same object if nothing changes. */
function claimByUse(claim: HeldClaim, presented: KeyFingerprint): HeldClaim {
  if (claim.current === presented) return claim
  const { next, ...rest } = claim
  if (next === presented) return { ...rest, current: next }
  throw new Refusal(
    'certificate-revoked',
    `the certificate for node ${claim.node} was replaced: another key holds that name now; ` +
      `to join again use a token for this node (causeway token create --node ${claim.node})`,
  )
}

export interface Presented {
  readonly node: string
  readonly key: KeyFingerprint
  /** The begin of the certificate's life. */
  readonly notBeforeMs: number
  readonly nowMs: number
}

/**
 * The claim after a certificate of our CA was presented; the same object if nothing changes. Without a claim the first use
 * makes it: that is how certificates work that an operator issued by hand, and how a hub recovers that lost its records.
 */
export function claimByCertificate(claim: Claim | undefined, presented: Presented): HeldClaim {
  const { node, key, notBeforeMs, nowMs } = presented
  if (claim?.state === 'held') return claimByUse(claim, key)
  // Whatever we issued before the release begins before it too, even without the allowance for clocks.
  if (claim?.state === 'released' && notBeforeMs <= claim.releasedAtMs)
    throw new Refusal(
      'certificate-revoked',
      `node ${node} was forgotten at ${new Date(claim.releasedAtMs).toISOString()}, ` +
        'and certificates from before that time count for nothing; join again with a token',
    )
  return { state: 'held', node, current: key, heldSinceMs: nowMs }
}
