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

/** Keys of one name that operators took it from; more than a name sees in a year, and the whole list is four kilobytes. */
export const MAX_FORGOTTEN_KEYS = 64

/** SHA-256 of a public key's DER, in hex: see `keyFingerprint`. */
export type KeyFingerprint = string

export interface HeldClaim {
  readonly state: 'held'
  readonly node: string
  readonly current: KeyFingerprint
  readonly next?: KeyFingerprint | undefined
  readonly heldSinceMs: number
  /** The token that brought the present owner in; absent for one that came with a certificate of its own. */
  readonly tokenId?: string | undefined
  /** When the latest certificate for the name ends, for lists and metrics. */
  readonly certificateEndsMs?: number | undefined
  /** The key of the CA that signed that certificate: who still has one of a CA that is to be retired. */
  readonly issuer?: KeyFingerprint | undefined
  /** Keys from which the name was taken back, the latest first. */
  readonly forgotten?: readonly KeyFingerprint[] | undefined
}

export interface ReleasedClaim {
  readonly state: 'released'
  readonly node: string
  readonly releasedAtMs: number
  /** Keys from which the name was taken back, the latest first. */
  readonly forgotten?: readonly KeyFingerprint[] | undefined
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
  // A token is an operator's word: it also brings back a key that was forgotten.
  const forgotten = claim?.forgotten?.filter((each) => each !== key) ?? []
  return { state: 'held', node, current: key, heldSinceMs: nowMs, tokenId: token.id, ...listed(forgotten) }
}

/** The mark that an operator leaves who takes a name back: none of the keys that held it counts any more. */
export function releaseClaim(claim: Claim | undefined, node: string, releasedAtMs: number): ReleasedClaim {
  const holders = claim?.state === 'held' ? [claim.current, claim.next] : []
  const all = [...holders.filter((key) => key !== undefined), ...(claim?.forgotten ?? [])]
  return { state: 'released', node, releasedAtMs, ...listed([...new Set(all)].slice(0, MAX_FORGOTTEN_KEYS)) }
}

function listed(forgotten: readonly KeyFingerprint[]): { forgotten?: readonly KeyFingerprint[] } {
  return forgotten.length === 0 ? {} : { forgotten }
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
  /** End of the certificate, and the key of the CA that signed it: noted where nothing is noted yet. */
  readonly notAfterMs?: number
  readonly issuer?: KeyFingerprint
  readonly nowMs: number
}

/**
 * The claim after a certificate of our CA was presented; the same object if nothing changes. Without a claim the first use
 * makes it: that is how certificates work that an operator issued by hand, and how a hub recovers that lost its records.
 */
export function claimByCertificate(claim: Claim | undefined, presented: Presented): HeldClaim {
  const { node, key, nowMs } = presented
  if (claim?.state === 'held') return noted(claimByUse(claim, key), presented)
  if (claim !== undefined && isFromBefore(claim, presented))
    throw new Refusal(
      'certificate-revoked',
      `node ${node} was forgotten at ${new Date(claim.releasedAtMs).toISOString()}, ` +
        'and certificates from before that time count for nothing; join again with a token',
    )
  return noted({ state: 'held', node, current: key, heldSinceMs: nowMs, ...listed(claim?.forgotten ?? []) }, presented)
}

/**
 * The dates alone do not tell: the release has the time of the API server, the certificate that of the hub that signed it,
 * whose clock may be ahead. So the keys that held the name are refused by themselves; dates are for those nobody noted.
 */
function isFromBefore({ releasedAtMs, forgotten = [] }: ReleasedClaim, { key, notBeforeMs }: Presented): boolean {
  return forgotten.includes(key) || notBeforeMs <= releasedAtMs
}

/** The claim with what a certificate tells; the same object if there is nothing to add. What was noted when a certificate was issued is the later truth. */
function noted(claim: HeldClaim, { notAfterMs: certificateEndsMs, issuer }: Presented): HeldClaim {
  const lacksEnd = claim.certificateEndsMs === undefined && certificateEndsMs !== undefined
  const lacksIssuer = claim.issuer === undefined && issuer !== undefined
  if (!lacksEnd && !lacksIssuer) return claim
  return {
    ...claim,
    certificateEndsMs: claim.certificateEndsMs ?? certificateEndsMs,
    issuer: claim.issuer ?? issuer,
  }
}
