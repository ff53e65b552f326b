/**
 * Which methods a path has. An API server finds the path first and the method second: a path that does not exist is 404
 * whatever the method, and one that exists for other methods is 405. Everything behind this may rely on it: nobody
 * creates at the path of an object, or watches with a POST.
 */
import type { NonResourceRequest, ResourceRequest } from '../../kube/request-info.ts'
import { findResource, joinGroupVersion, listGroupVersions, type ResourceRow } from '../../kube/schema/catalogue.ts'
import { genericServerResponse } from '../../kube/status/generic-response.ts'
import type { Delegate } from './delegate.ts'
import { notFoundHandler } from './not-found.ts'

type Methods = readonly string[]

/** `unknown`: not a path of the built-in API; somebody else may own it. */
type Offer = Methods | 'unknown'

export const routes: Delegate = async (context) => {
  const { info, exchange } = context
  if (info.kind === 'resource' && !isRooted(info)) {
    await notFoundHandler(context)
    return true
  }
  const offer = info.kind === 'resource' ? resourceOffer(info) : documentOffer(info)
  if (offer === 'unknown') return false
  if (!offer.includes(exchange.method)) throw refusal(offer.length === 0 ? 404 : 405)
  return false
}

/** `//api/v1/pods` and `/apis//v1/pods` read like requests for pods, and lead nowhere. */
function isRooted({ path, apiPrefix, apiGroup }: ResourceRequest): boolean {
  return path.startsWith(`/${apiPrefix}/`) && (apiPrefix === 'api') === (apiGroup === '')
}

function refusal(code: 404 | 405): Error {
  return genericServerResponse({ code, method: '', serverMessage: '', unexpected: false })
}

const none: Methods = []
const readOnly: Methods = ['GET']
const anyRead: Methods = ['GET', 'HEAD']

/** In the spelling of discovery; a watch is a GET too, but has its own paths. */
const collectionMethods: Readonly<Record<string, string>> = { list: 'GET', create: 'POST', deletecollection: 'DELETE' }
const itemMethods: Readonly<Record<string, string>> = { get: 'GET', update: 'PUT', patch: 'PATCH', delete: 'DELETE' }
const subresourceMethods = { ...itemMethods, create: 'POST' }

function resourceOffer(info: ResourceRequest): Offer {
  const { apiGroup, apiVersion } = info
  if (!servesVersion(apiGroup, apiVersion)) return servesGroup(apiGroup) ? none : 'unknown'
  const { isInNamespace: inNamespace, isWatchPath: isWatch } = info
  const [resource = '', name, subresource, ...rest] = info.parts
  const row = findResource(apiGroup, apiVersion, resource)
  if (row === undefined) return none
  const isWhole = name === undefined && row.namespaced && !inNamespace
  // Proxies by that path are long gone.
  if (info.verb === 'proxy' || (row.namespaced !== inNamespace && !isWhole)) return none
  if (isWatch) return subresource === undefined && row.verbs.includes('watch') ? readOnly : none
  if (isWhole) return row.verbs.includes('list') ? readOnly : none
  if (name === undefined) return pick(row.verbs, collectionMethods)
  return subresource === undefined ? pick(row.verbs, itemMethods) : subresourceOffer(row, subresource, rest)
}

interface Served {
  readonly groups: ReadonlySet<string>
  /** As they stand in an apiVersion. */
  readonly versions: ReadonlySet<string>
}

let served: Served | undefined

function servedNames(): Served {
  served ??= {
    groups: new Set(listGroupVersions().map(({ group }) => group)),
    versions: new Set(listGroupVersions().map(({ group, version }) => joinGroupVersion(group, version))),
  }
  return served
}

function servesVersion(group: string, version: string): boolean {
  return servedNames().versions.has(joinGroupVersion(group, version))
}

function servesGroup(group: string): boolean {
  return servedNames().groups.has(group)
}

/** What is proxied has paths and methods of its own. */
function subresourceOffer({ subresources = [] }: ResourceRow, name: string, rest: readonly string[]): Methods {
  const subresource = subresources.find((each) => each.name === name)
  if (subresource === undefined || (rest.length > 0 && name !== 'proxy')) return none
  const methods = pick(subresource.verbs, subresourceMethods)
  return name === 'proxy' ? [...methods, 'HEAD', 'OPTIONS'] : methods
}

function pick(verbs: readonly string[], methods: Readonly<Record<string, string>>): Methods {
  return verbs.flatMap((verb) => methods[verb] ?? [])
}

/** What everybody may read; some of it only by a plain GET, as the real one has it. */
function documentOffer({ path }: NonResourceRequest): Offer {
  const [prefix = '', group, version] = path.split('/').filter((part) => part !== '')
  if (prefix === 'version') return group === undefined ? readOnly : none
  if (prefix === 'openapi') return anyRead
  if (prefix === 'api') return group === undefined || servesVersion('', group) ? readOnly : none
  if (prefix !== 'apis') return 'unknown'
  if (group === undefined) return anyRead
  if (!servesGroup(group)) return 'unknown'
  if (version === undefined) return anyRead
  return servesVersion(group, version) ? readOnly : none
}
