/** Aggregated ClusterRoles: their rules follow the roles that their selectors match. */
import { inTurns } from '../../runtime/steps.ts'
import { Turns } from '../../runtime/turns.ts'
import { rulesBytes, staleAggregationSteps } from '../auth/rbac/aggregation.ts'
import { type ClusterRole, nameOf, RBAC_API_VERSION } from '../auth/rbac/objects.ts'
import { builtIn } from '../objects/resource.ts'
import type { Controller } from './controller.ts'
import type { InternalClient } from './internal-client.ts'

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
  for (const role of await staleRoles(client)) {
    const place = { resource: roles, namespace: '', name: nameOf(role) }
    const change = (present: ClusterRole): ClusterRole => ({ ...present, rules: role.rules ?? [] })
    await client.update(place, signal, change, '', { bytes: rulesBytes(role) })
  }
}

/** In slices. What changes meanwhile is looked at again. */
function staleRoles(client: InternalClient): Promise<ClusterRole[]> {
  const items = client.items(roles)
  const objects = (function* () {
    for (const item of items) yield item.object() as ClusterRole
  })()
  return inTurns(staleAggregationSteps(objects), new Turns(client.clock))
}
