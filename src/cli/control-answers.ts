/** What roles answer on their control sockets, and how commands read it again. */
import * as v from 'valibot'
import type { Claim } from '../hub/claims/claim.ts'

export const nodeEntry = v.object({
  node: v.string(),
  state: v.picklist(['held', 'released']),
  since: v.string(),
  certificateEnds: v.optional(v.string()),
  rotating: v.optional(v.boolean()),
  token: v.optional(v.string()),
})

export type NodeEntry = v.InferOutput<typeof nodeEntry>

export function describeClaim(claim: Claim): NodeEntry {
  if (claim.state === 'released') return { node: claim.node, state: 'released', since: isoTime(claim.releasedAtMs) }
  return {
    node: claim.node,
    state: 'held',
    since: isoTime(claim.heldSinceMs),
    ...(claim.certificateEndsMs === undefined ? {} : { certificateEnds: isoTime(claim.certificateEndsMs) }),
    rotating: claim.next !== undefined,
    ...(claim.tokenId === undefined ? {} : { token: claim.tokenId }),
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
