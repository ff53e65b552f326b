/** Questions about namespaces that several controllers ask. */
import { builtIn } from '../objects/resource.ts'
import type { InternalClient } from './internal-client.ts'

export const NAMESPACES = builtIn('v1', 'namespaces')

/** Whether something may still be made in it. */
export function isActiveNamespace(client: InternalClient, name: string): boolean {
  const namespace = client.get({ resource: NAMESPACES, namespace: '', name })
  return namespace !== undefined && namespace.metadata?.deletionTimestamp === undefined
}
