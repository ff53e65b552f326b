/** The claims of a cluster as numbers, and in the audit log. */
import { Gauge, type Registry } from 'prom-client'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Claim, ReleasedClaim } from './claim.ts'
import type { ClaimStore } from './claim-store.ts'

const dayMs = 86_400_000
/** How soon a certificate ends, for alerts: renewal begins long before the last of these is left. */
const horizons = [
  { within: 'expired', ms: 0 },
  { within: '1d', ms: dayMs },
  { within: '7d', ms: 7 * dayMs },
  { within: '30d', ms: 30 * dayMs },
] as const

/** `known` gives the claims of all clusters of the hub. */
export function createClaimMetrics(registry: Registry, known: () => readonly Claim[], clock: Clock): void {
  const nodes = new Gauge({
    name: 'causeway_hub_nodes',
    help: 'Node names by the state of their claim.',
    labelNames: ['state'],
    registers: [],
    collect() {
      for (const state of ['held', 'released'] as const)
        this.set({ state }, known().filter((claim) => claim.state === state).length)
    },
  })
  const ending = new Gauge({
    name: 'causeway_hub_node_certificates_ending',
    help: 'Certificates of nodes that have ended, or end within the given time unless they are renewed.',
    labelNames: ['within'],
    registers: [],
    collect() {
      const nowMs = clock.nowMs()
      for (const { within, ms } of horizons)
        this.set({ within }, known().filter((claim) => endsBefore(claim, nowMs + ms)).length)
    },
  })
  registry.registerMetric(nodes)
  registry.registerMetric(ending)
}

type WatchedClaims = Pick<ClaimStore, 'onChange' | 'isLive'>

/**
 * A line for each name that an operator takes back, on whichever machine, and for each that somebody takes without a token,
 * with a certificate alone. Only for what happens while the hub looks on: what it finds at its start is no event.
 */
export function auditClaims({ name, claims }: { name: string; claims: WatchedClaims }, audit: Logger): void {
  const seen = new Map<string, Claim>()
  claims.onChange((node, claim) => {
    const before = seen.get(node)
    if (claim === undefined) seen.delete(node)
    else seen.set(node, claim)
    if (!claims.isLive || claim === undefined) return
    if (claim.state === 'released' && !isSameRelease(before, claim))
      audit.info({ event: 'node-forgotten', node, cluster: name }, 'the name was released')
    if (claim.state === 'held' && claim.tokenId === undefined && before?.state !== 'held')
      audit.info({ event: 'node-claimed', node, cluster: name, key: claim.current }, 'a certificate claimed the name')
  })
}

function isSameRelease(before: Claim | undefined, { releasedAtMs }: ReleasedClaim): boolean {
  return before?.state === 'released' && before.releasedAtMs === releasedAtMs
}

function endsBefore(claim: Claim, atMs: number): boolean {
  return claim.state === 'held' && claim.certificateEndsMs !== undefined && claim.certificateEndsMs <= atMs
}
