/** What roles answer on their control sockets, and how commands read it again. */
import * as v from 'valibot'
import type { Claim } from '../hub/claims/claim.ts'
import type { Hub } from '../hub/hub.ts'
import { isoTime } from '../runtime/iso-time.ts'

export const nodeEntry = v.object({
  node: v.string(),
  state: v.picklist(['held', 'released']),
  since: v.string(),
  certificateEnds: v.optional(v.string()),
  /** The key of the CA that signed the latest certificate, shortened. */
  issuer: v.optional(v.string()),
  rotating: v.optional(v.boolean()),
  token: v.optional(v.string()),
  /** How the node is connected: by the newest way into it, where this hub has one. */
  link: v.optional(v.string()),
  rtt: v.optional(v.string()),
  linkedSince: v.optional(v.string()),
  streams: v.optional(v.number()),
})

export type NodeEntry = v.InferOutput<typeof nodeEntry>

export function describeClaim(claim: Claim): NodeEntry {
  if (claim.state === 'released') return { node: claim.node, state: 'released', since: isoTime(claim.releasedAtMs) }
  return {
    node: claim.node,
    state: 'held',
    since: isoTime(claim.heldSinceMs),
    certificateEnds: claim.certificateEndsMs === undefined ? undefined : isoTime(claim.certificateEndsMs),
    issuer: claim.issuer === undefined ? undefined : shortKey(claim.issuer),
    rotating: claim.next !== undefined,
    token: claim.tokenId,
  }
}

const shownKeyLength = 16

/** Enough of a key's fingerprint to tell the CAs of one cluster apart. */
export function shortKey(fingerprint: string): string {
  return fingerprint.slice(0, shownKeyLength)
}

/** How a running hub is, and each cluster behind it. */
export function describeHub({ url, clusters }: Pick<Hub, 'url' | 'clusters'>) {
  return { url, clusters }
}

/** What a running hub knows of its nodes: who holds which name, and how they are connected. */
export function describeNodes({ claims, routes }: Pick<Hub, 'claims' | 'routes'>): NodeEntry[] {
  return claims.map((claim) => ({ ...describeClaim(claim), ...describeRoute(claim.node, routes) }))
}

function describeRoute(node: string, routes: Hub['routes']): Partial<NodeEntry> {
  const own = routes.filter((route) => route.node === node)
  const newest = own.toSorted((a, b) => b.sinceMs - a.sinceMs)[0]
  if (newest === undefined) return { link: 'none' }
  return {
    link: newest.isGoingAway ? 'draining' : 'up',
    rtt: newest.rttMs === undefined ? undefined : `${newest.rttMs.toFixed(1)}ms`,
    linkedSince: isoTime(newest.sinceMs),
    streams: own.reduce((sum, { streamCount }) => sum + streamCount, 0),
  }
}
