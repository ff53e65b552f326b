/** Which node an agent is: by the certificate it presented, else, where that is allowed, by the token of its pod. */
import type { Clock } from '../../telemetry/clock.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { Refusal } from '../refusal.ts'
import type { Peer } from '../serving/connection.ts'
import { checkPeer } from '../serving/peer-check.ts'
import type { AgentTokens } from './agent-tokens.ts'

export interface AgentIdentity {
  readonly node: string
  /** Who vouches for it, for logs and lists. */
  readonly proof: string
  /** On the wall clock; absent where it is not known. */
  readonly validUntilMs?: number
  /** Looks again as at the begin; rejects with a `Refusal`. */
  recheck(): Promise<unknown>
}

/** Rejects with a `Refusal`. */
export type IdentifyAgent = (peer: Peer, authorization: string | undefined) => Promise<AgentIdentity>

export interface AgentIdentityOptions {
  readonly cluster: Cluster
  readonly clock: Clock
  /** Absent: certificates only. */
  readonly tokens?: AgentTokens
}

/** Who presents a certificate is judged by it alone: a token beside it cannot make up for what is wrong with it. */
export function createAgentIdentity({ cluster, clock, tokens }: AgentIdentityOptions): IdentifyAgent {
  return async (peer, authorization) => {
    if (peer.certificates.length > 0) {
      const check = (): ReturnType<typeof checkPeer> => checkPeer(peer, cluster, { clock })
      const { node, certificate } = await check()
      return { node, proof: 'certificate', validUntilMs: certificate.notAfterMs, recheck: check }
    }
    if (authorization === undefined)
      throw new Refusal('certificate-missing', 'an agent needs the certificate of its node (--agent-cert)')
    if (tokens === undefined)
      throw new Refusal('certificate-missing', 'this hub takes no tokens of agents; it needs the certificate of a node')
    const identity = await tokens.identify(authorization)
    peer.identified()
    return identity
  }
}
