/** How many objects there are, read from memory whenever somebody asks for the metrics. */
import { Gauge, type Registry } from 'prom-client'
import { listGroupVersions, splitApiVersion } from '../../kube/schema/catalogue.ts'

/** What is kept in memory of the objects whose keys start so. */
export interface ObjectCounts {
  collection(keyPrefix: string): { readonly size: number }
}

export function addObjectMetrics(registry: Registry, counts: ObjectCounts): void {
  const resources = storedResources()
  // Its older name, which many dashboards still use.
  const byOldName: Gauge = new Gauge({
    name: 'apiserver_storage_objects',
    help: 'Stored objects of each resource, as resource.group; kube-apiserver calls this name deprecated.',
    labelNames: ['resource'],
    registers: [registry],
    collect() {
      for (const { group, resource, keyPrefix } of resources) {
        const name = group === '' ? resource : `${resource}.${group}`
        byOldName.set({ resource: name }, counts.collection(keyPrefix).size)
      }
    },
  })
  const gauge: Gauge = new Gauge({
    name: 'apiserver_resource_objects',
    help: 'Stored objects of each resource.',
    labelNames: ['group', 'resource'],
    registers: [registry],
    collect() {
      for (const { group, resource, keyPrefix } of resources) {
        gauge.set({ group, resource }, counts.collection(keyPrefix).size)
      }
    },
  })
}

interface StoredResource {
  readonly group: string
  readonly resource: string
  readonly keyPrefix: string
}

/** Each once, under the group in which it is kept, whatever number of groups and versions serve it. */
function storedResources(): StoredResource[] {
  const byPrefix = new Map<string, StoredResource>()
  for (const { resource, stored } of listGroupVersions().flatMap(({ resources }) => resources)) {
    if (stored === undefined) continue
    const { group } = splitApiVersion(stored)
    const keyPrefix = `${group === '' ? 'core' : group}/${resource}/`
    byPrefix.set(keyPrefix, { group, resource, keyPrefix })
  }
  return [...byPrefix.values()]
}
