/** Keeps the authorizers' view of the policy and of the nodes' pods equal to the collections. */

import type { NodeGraph } from '../auth/node/graph.ts'
import type { RbacResource } from '../auth/rbac/objects.ts'
import type { RbacView } from '../auth/rbac/view.ts'
import type { Item } from '../objects/item.ts'
import type { ObjectCache } from './object-cache.ts'

const rbacResources: readonly RbacResource[] = ['clusterroles', 'roles', 'clusterrolebindings', 'rolebindings']
const graphPrefixes = {
  'core/pods/': 'pods',
  'core/persistentvolumes/': 'persistentvolumes',
  'storage.k8s.io/volumeattachments/': 'volumeattachments',
  'resource.k8s.io/resourceslices/': 'resourceslices',
} as const

interface Sink {
  put(item: Item): void
  remove(item: Item): void
}

export function followPolicy(cache: ObjectCache, view: RbacView, graph: NodeGraph): void {
  for (const resource of rbacResources) {
    feed(cache, `rbac.authorization.k8s.io/${resource}/`, {
      put: (item) => view.put(resource, item.object()),
      remove: (item) => view.remove(resource, ...placeOf(item)),
    })
  }
  for (const [prefix, resource] of Object.entries(graphPrefixes)) {
    feed(cache, prefix, {
      put: (item) => graph.put(resource, item.object()),
      remove: (item) => graph.remove(resource, ...placeOf(item)),
    })
  }
}

function feed(cache: ObjectCache, prefix: string, sink: Sink): void {
  const collection = cache.collection(prefix)
  for (const item of collection.list(prefix)) sink.put(item)
  collection.listen({
    changed: ({ before, after }) => {
      if (after !== undefined) sink.put(after)
      else if (before !== undefined) sink.remove(before)
    },
  })
}

function placeOf(item: Item): [namespace: string, name: string] {
  const { namespace = '', name = '' } = item.metadata()
  return [namespace, name]
}
