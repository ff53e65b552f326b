/** Aggregated ClusterRoles: their rules follow the roles that their selectors match. */
import { staleAggregations } from '../auth/rbac/aggregation.ts'
import { type ClusterRole, nameOf, RBAC_API_VERSION } from '../auth/rbac/objects.ts'
import type { Controller } from './controller.ts'
import { builtIn, type InternalClient } from './internal-client.ts'

const roles = builtIn(RBAC_API_VERSION, 'clusterroles')
/** Any role may be part of any other: they are looked at together. */
const allRoles = 'all'

export function clusterRoleController(client: InternalClient): Controller {
  return {
    name: 'cluster-roles',
    sources: [{ resource: roles, keysOf: () => [allRoles] }],
    async reconcile(_key, signal) {
      await writeAggregations(client, signal)
      return undefined
    },
  }
}

export async function writeAggregations(client: InternalClient, signal: AbortSignal): Promise<void> {
  const stale = staleAggregations(client.list(roles) as ClusterRole[])
  await Promise.all(
    stale.map((role) =>
      client.update({ resource: roles, namespace: '', name: nameOf(role) }, signal, (present) => ({
        ...present,
        rules: role.rules,
      })),
    ),
  )
}
