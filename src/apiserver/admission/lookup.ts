/** What plugins may ask about other objects. They see the state in memory, which holds every write that was answered. */
import type { KubeObject } from '../../kube/objects.ts'
import type { GroupResource } from '../../kube/status/group-names.ts'
import { notFound } from '../../kube/status/resource-errors.ts'
import type { ApiError } from '../../kube/status/status.ts'
import type { ObjectCache } from '../core/object-cache.ts'
import type { Item } from '../objects/item.ts'

export interface ObjectLookup {
  /** The namespace is empty for resources of the whole cluster. */
  find(resource: GroupResource, namespace: string, name: string): KubeObject | undefined
  /** In order of names; an empty namespace means all of them. */
  list(resource: GroupResource, namespace: string): readonly KubeObject[]
  /** The objects of a collection unread, for whoever reads them by himself. */
  unread(resource: GroupResource, namespace: string): readonly UnreadObject[]
  /** What is to know of each of them, worked out when its turn comes. */
  reads<Read>(resource: GroupResource, namespace: string, reading: Reading<Read>): Iterable<Read>
  count(resource: GroupResource, namespace: string): number
  has(resource: GroupResource, namespace: string, name: string): boolean
}

/** An object that is read when somebody asks for it; its metadata alone take far less time. */
export type UnreadObject = Pick<Item, 'metadata' | 'object'>

/** Something that is worked out from an object, never undefined, and kept with it until it changes. */
export interface Reading<Read> {
  /** The result must not change, nor hold the object. */
  read(object: KubeObject): Read
  /** Whether it is small enough to be kept for as long as the object. */
  isKept(read: Read): boolean
}

/** Looks things up in the server's own memory. Callers get copies and may keep or change them. */
export function lookupIn(cache: ObjectCache): ObjectLookup {
  const prefixOf = ({ group, resource }: GroupResource, namespace: string): string =>
    `${group === '' ? 'core' : group}/${resource}/${namespace === '' ? '' : `${namespace}/`}`
  const collectionOf = (resource: GroupResource) => cache.collection(prefixOf(resource, ''))
  const itemsOf = (resource: GroupResource, namespace: string) =>
    collectionOf(resource).list(prefixOf(resource, namespace))
  return {
    find: (resource, namespace, name) =>
      collectionOf(resource)
        .get(`${prefixOf(resource, namespace)}${name}`)
        ?.object(),
    list: (resource, namespace) => itemsOf(resource, namespace).map((item) => item.object()),
    unread: itemsOf,
    reads: (resource, namespace, reading) => readsOf(itemsOf(resource, namespace), reading),
    count: (resource, namespace) => itemsOf(resource, namespace).length,
    has: (resource, namespace, name) =>
      collectionOf(resource).get(`${prefixOf(resource, namespace)}${name}`) !== undefined,
  }
}

/** An item never changes, so neither does what is read from it. */
const keptReads = new WeakMap<Reading<unknown>, WeakMap<Item, unknown>>()

function* readsOf<Read>(items: readonly Item[], reading: Reading<Read>): Generator<Read, void, undefined> {
  const kept = (keptReads.get(reading) ?? new WeakMap()) as WeakMap<Item, Read>
  keptReads.set(reading, kept)
  for (const item of items) {
    const known = kept.get(item)
    if (known !== undefined) {
      yield known
      continue
    }
    const read = reading.read(item.object())
    if (reading.isKept(read)) kept.set(item, read)
    yield read
  }
}

function core(resource: string): GroupResource {
  return { group: '', resource }
}

export const NAMESPACES = core('namespaces')
export const NODES = core('nodes')
export const PODS = core('pods')
export const SERVICES = core('services')
export const SERVICE_ACCOUNTS = core('serviceaccounts')
export const LIMIT_RANGES = core('limitranges')
export const RESOURCE_QUOTAS = core('resourcequotas')
export const CLAIMS = core('persistentvolumeclaims')
export const VOLUMES = core('persistentvolumes')
export const PRIORITY_CLASSES: GroupResource = { group: 'scheduling.k8s.io', resource: 'priorityclasses' }
export const RUNTIME_CLASSES: GroupResource = { group: 'node.k8s.io', resource: 'runtimeclasses' }
export const STORAGE_CLASSES: GroupResource = { group: 'storage.k8s.io', resource: 'storageclasses' }
export const VOLUME_ATTRIBUTES_CLASSES: GroupResource = { group: 'storage.k8s.io', resource: 'volumeattributesclasses' }
export const CSI_DRIVERS: GroupResource = { group: 'storage.k8s.io', resource: 'csidrivers' }
export const CSI_NODES: GroupResource = { group: 'storage.k8s.io', resource: 'csinodes' }
export const INGRESSES: GroupResource = { group: 'networking.k8s.io', resource: 'ingresses' }
export const INGRESS_CLASSES: GroupResource = { group: 'networking.k8s.io', resource: 'ingressclasses' }
export const LEASES: GroupResource = { group: 'coordination.k8s.io', resource: 'leases' }
export const RESOURCE_SLICES: GroupResource = { group: 'resource.k8s.io', resource: 'resourceslices' }
export const SIGNING_REQUESTS: GroupResource = { group: 'certificates.k8s.io', resource: 'certificatesigningrequests' }
export const POD_CERTIFICATE_REQUESTS: GroupResource = {
  group: 'certificates.k8s.io',
  resource: 'podcertificaterequests',
}

/** What the API server calls an object that its memory does not hold: by the word for one, `pod "x" not found`. */
export function missingText(resource: GroupResource, name: string): string {
  return missing(resource, name).message
}

export function missing({ group, resource }: GroupResource, name: string): ApiError {
  return notFound({ group, resource: resource.replace(/s$/, '') }, name)
}
