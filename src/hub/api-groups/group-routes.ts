/** `GET /v1/api-groups`: what of the API all readers of a node may share, for a node that has proven who it is. */
import { HUB_PATHS } from '../../protocol/requests.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { ClusterDoor } from '../port/connection.ts'
import { jsonResponse } from '../port/http-message.ts'
import type { Route } from '../port/http-routes.ts'
import type { NodeBudget, NodeBudgetLimits } from '../port/node-budget.ts'
import { checkPeer } from '../port/peer-check.ts'
import type { LocalGroups } from './local-groups.ts'

/** Answers to one node in a row: a link that comes and goes asks each time. */
export const GROUPS_BURST = 20
/** Between two answers to one node, once the burst is used up; a node asks every few minutes. */
const GROUPS_INTERVAL_MS = 10_000
/** Requests of one node at a time: one, and another after a connection was lost. */
const MAX_GROUP_REQUESTS_PER_NODE = 2

/** How often a node may ask: the answer is at hand, but may be long. */
export const groupLimits: NodeBudgetLimits = {
  what: 'API groups',
  burst: GROUPS_BURST,
  intervalMs: GROUPS_INTERVAL_MS,
  maxInFlight: MAX_GROUP_REQUESTS_PER_NODE,
}

export interface GroupRoutesOptions {
  readonly clock: Clock
  readonly budget: NodeBudget
  groupsOf(door: ClusterDoor): Pick<LocalGroups, 'groupVersions'>
}

export function groupRoutes(options: GroupRoutesOptions): Route[] {
  return [
    {
      method: 'GET',
      path: HUB_PATHS.apiGroups,
      handle: async ({ door, peer }) => {
        const { node } = await checkPeer(peer, door.cluster, options)
        const leave = options.budget.enter(door.cluster.name, node)
        try {
          return jsonResponse(200, { local: options.groupsOf(door).groupVersions() })
        } finally {
          leave()
        }
      },
    },
  ]
}
