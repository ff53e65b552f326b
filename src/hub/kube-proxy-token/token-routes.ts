/** `POST /v1/tokens/kube-proxy`: a token for the kube-proxy of a node that has proven who it is. */
import { HUB_PATHS } from '../../protocol/requests.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { ClusterDoor } from '../port/connection.ts'
import { type HubRequest, type HubResponse, jsonResponse } from '../port/http-message.ts'
import type { Route } from '../port/http-routes.ts'
import type { NodeBudget, NodeBudgetLimits } from '../port/node-budget.ts'
import type { WorkGate } from '../port/overload.ts'
import { checkPeer, type EdgePeer } from '../port/peer-check.ts'
import { onBehalfOfEdge } from '../shared/cluster-error.ts'
import type { KubeProxyAccount } from './kube-proxy-account.ts'

/** Tokens of one node in a row: a node that keeps crashing before it has written one asks again at every start. */
export const TOKEN_BURST = 10
/** Between two tokens for one node, once the burst is used up; a node needs one in twelve hours. */
const TOKEN_INTERVAL_MS = 300_000
/** Requests of one node at a time: one, and another after a connection was lost. */
const MAX_TOKENS_PER_NODE = 2
/** Requests to the API server for all nodes at a time. */
export const MAX_TOKENS_IN_FLIGHT = 32
/** Nodes that wait for their turn; the rest is asked to come back. */
export const MAX_TOKENS_QUEUED = 1_000

/** How often a node may have a token made: none of them can be taken back, so a node gets few more than it can use. */
export const tokenLimits: NodeBudgetLimits = {
  what: 'tokens',
  burst: TOKEN_BURST,
  intervalMs: TOKEN_INTERVAL_MS,
  maxInFlight: MAX_TOKENS_PER_NODE,
}

export interface TokenRoutesOptions {
  readonly clock: Clock
  readonly budget: NodeBudget
  readonly gate: WorkGate
  /** The component `audit`. */
  readonly audit: Logger
  kubeProxyOf(door: ClusterDoor): Pick<KubeProxyAccount, 'issue'>
}

export function tokenRoutes(options: TokenRoutesOptions): Route[] {
  return [{ method: 'POST', path: HUB_PATHS.kubeProxyToken, handle: (request) => issue(options, request) }]
}

/** Who asks is looked at again after the wait for the cluster: a node that was forgotten meanwhile gets nothing. */
async function issue(options: TokenRoutesOptions, request: HubRequest): Promise<HubResponse> {
  const { door, peer, signal } = request
  const { budget, gate, audit } = options
  const check = (): Promise<EdgePeer> => checkPeer(peer, door.cluster, options)
  const { node } = await check()
  const cluster = door.cluster.name
  const leave = budget.enter(cluster, node)
  const line = { event: 'kube-proxy-token', node, cluster, source: peer.address }
  try {
    const { token, expires } = await gate.run(() => onBehalfOfEdge(() => options.kubeProxyOf(door).issue()), signal)
    await check()
    audit.info({ ...line, result: 'ok', expires }, 'token handed to a node')
    return jsonResponse(200, { token, expires })
  } catch (error) {
    audit.warn({ ...line, result: (error as { code?: string }).code ?? 'internal' }, 'token refused')
    throw error
  } finally {
    leave()
  }
}
