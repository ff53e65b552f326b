/** What the API server knows about one resource in one version: where its objects live and what is special about them. */
import { isPathSegment, type ResourceRequest } from '../../kube/request-info.ts'
import { findResource, joinGroupVersion, type ResourceRow, splitApiVersion } from '../../kube/schema/catalogue.ts'
import { findKind, type MessageType } from '../../kube/schema/schema.ts'
import type { GroupKind, GroupResource } from '../../kube/status/group-names.ts'
import { badRequest } from '../../kube/status/request-errors.ts'

export interface Resource {
  readonly group: string
  readonly version: string
  /** `v1`, `apps/v1`: what objects of this version write into apiVersion. */
  readonly apiVersion: string
  readonly row: ResourceRow
  readonly kind: string
  readonly namespaced: boolean
  /** apiVersion in which the objects are kept. */
  readonly storedApiVersion: string
  /** The message of the kind in this version. */
  readonly message: MessageType
  /** The kind in the version in which it is kept: strategies and the store know no other. */
  readonly stored: { readonly apiVersion: string; readonly kind: string; readonly message: MessageType }
  /** Keys of all objects start with this. */
  readonly keyPrefix: string
  /** For error texts. */
  readonly groupResource: GroupResource
  readonly groupKind: GroupKind
}

/** undefined where the release has no such resource, or keeps no objects of it. */
export function storedResource(group: string, version: string, resource: string): Resource | undefined {
  const row = findResource(group, version, resource)
  if (row?.stored === undefined) return undefined
  const apiVersion = joinGroupVersion(group, version)
  const kind = findKind(apiVersion, row.kind)
  const stored = findKind(row.stored, row.kind) ?? kind
  if (kind === undefined || stored === undefined) return undefined
  return {
    group,
    version,
    apiVersion,
    row,
    kind: row.kind,
    namespaced: row.namespaced,
    storedApiVersion: stored.apiVersion,
    stored,
    message: kind.message,
    keyPrefix: `${keyGroup(row.stored)}/${resource}/`,
    groupResource: { group, resource },
    groupKind: { group, kind: row.kind },
  }
}

/** Both versions of an Event live in one place: the key is that of the stored version's group. */
function keyGroup(storedApiVersion: string): string {
  const slash = storedApiVersion.indexOf('/')
  return slash === -1 ? 'core' : storedApiVersion.slice(0, slash)
}

/** A resource that every release has. */
export function builtIn(apiVersion: string, resource: string): Resource {
  const { group, version } = splitApiVersion(apiVersion)
  const found = storedResource(group, version, resource)
  if (found === undefined) throw new Error(`the catalogue has no stored resource ${resource} in ${apiVersion}`)
  return found
}

/** What a path names must be able to be there. Lists and watches do without a namespace, and mean all of them. */
export function checkPlace({ namespaced }: ResourceRow, { verb, namespace, name }: ResourceRequest): void {
  if (!placedVerbs.includes(verb)) return
  if (!isPathSegment(name)) {
    throw badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${whyNoSegment(name)}`)
  }
  if (namespaced && namespace === '') throw badRequest('Namespace parameter required.')
}

const placedVerbs: readonly string[] = ['get', 'update', 'patch', 'delete']

function whyNoSegment(name: string): string {
  return name.includes('%') ? "may not contain '%'" : `may not be '${name}'`
}

export function keyOf(resource: Resource, namespace: string, name: string): string {
  return resource.namespaced ? `${resource.keyPrefix}${namespace}/${name}` : `${resource.keyPrefix}${name}`
}

/** The prefix of a collection: all of it, or one namespace. */
export function collectionPrefix(resource: Resource, namespace: string): string {
  return resource.namespaced && namespace !== '' ? `${resource.keyPrefix}${namespace}/` : resource.keyPrefix
}
