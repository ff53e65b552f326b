/** Which node an agent is: by the certificate it presented, else, where that is allowed, by the token of its pod. */
import type { Clock } from '../../runtime/clock.ts'
import type { Cluster, HubAuthority } from '../cluster/cluster.ts'
import type { Peer } from '../port/connection.ts'
import { checkPeer, type EdgePeer } from '../port/peer-check.ts'
import { Refusal } from '../refusal.ts'
import { type Standing, standingOf } from '../sessions/standing.ts'
import type { AgentTokens, TokenIdentity } from './agent-tokens.ts'

/** How often the cluster is asked whether the token of a connected agent is still good: its pod may be gone by then. */
export const AGENT_TOKEN_REVIEW_MS = 5 * 60 * 1000

export interface AgentIdentity {
  readonly node: string
  /** Who vouches for it, for logs and lists. */
  readonly proof: string
  /** On the wall clock; absent where it is not known. */
  readonly validUntilMs?: number | undefined
  /** Whether there is a reason to look again; told at once, without asking anybody. */
  isDoubtful(): boolean
  /** Whether the holder has rotated to another key, and nothing else is wrong: it is to connect with that one soon. */
  isSuperseded(): boolean
  /** Looks again as at the begin; rejects with a `Refusal`. */
  recheck(): Promise<unknown>
}

/** Rejects with a `Refusal`. */
export type IdentifyAgent = (peer: Peer, authorization: string | undefined) => Promise<AgentIdentity>

export interface AgentIdentityOptions {
  readonly cluster: Cluster
  readonly clock: Clock
  /** Absent: certificates only. */
  readonly tokens?: AgentTokens | undefined
}

/** Who presents a certificate is judged by it alone: a token beside it cannot make up for what is wrong with it. */
export function createAgentIdentity({ cluster, clock, tokens }: AgentIdentityOptions): IdentifyAgent {
  return async (peer, authorization) => {
    if (peer.certificates.length > 0) return await identifyByCertificate(peer, cluster, clock)
    if (authorization === undefined)
      throw new Refusal('certificate-missing', 'an agent needs the certificate of its node (--agent-cert)')
    if (tokens === undefined)
      throw new Refusal('certificate-missing', 'this hub takes no tokens of agents; it needs the certificate of a node')
    const identity = await tokens.identify(authorization)
    peer.identified()
    return reviewedRegularly(identity, clock)
  }
}

async function identifyByCertificate(peer: Peer, cluster: Cluster, clock: Clock): Promise<AgentIdentity> {
  let { trust } = cluster.authority()
  const check = async (): Promise<EdgePeer> => {
    const { trust: now } = cluster.authority()
    const found = await checkPeer(peer, cluster, { clock })
    trust = now
    return found
  }
  const { node, key, claim, certificate } = await check()
  const { notBeforeMs, notAfterMs } = certificate
  const proof = { node, key, claim, notBeforeMs, notAfterMs }
  const standing = (): Standing => standingOf(proof, cluster.claims.known(node), clock.nowMs())
  const isTrustChanged = (): boolean => !isSameTrust(trust, cluster.authority().trust)
  return {
    node,
    proof: 'certificate',
    validUntilMs: notAfterMs,
    isDoubtful: () => standing() !== 'good' || isTrustChanged(),
    isSuperseded: () => standing() === 'superseded' && !isTrustChanged(),
    recheck: check,
  }
}

function reviewedRegularly(identity: TokenIdentity, clock: Clock): AgentIdentity {
  let reviewedMs = clock.monotonicMs()
  return {
    ...identity,
    isSuperseded: () => false,
    isDoubtful: () => clock.monotonicMs() - reviewedMs >= AGENT_TOKEN_REVIEW_MS,
    recheck: async () => {
      // Also if the cluster does not answer: it is not asked more often for that.
      reviewedMs = clock.monotonicMs()
      await identity.recheck()
    },
  }
}

function isSameTrust(a: HubAuthority['trust'], b: HubAuthority['trust']): boolean {
  return a.length === b.length && a.every(({ fingerprint }, index) => fingerprint === b[index]?.fingerprint)
}
