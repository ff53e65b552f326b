/**
 * A request as the labels of its metrics. A label has few values known in advance: what the catalogue does not know, no
 * client can make a label of.
 */
import type { RequestInfo, ResourceRequest } from '../../kube/request-info.ts'
import type { RequestQuery } from '../../kube/request-query.ts'
import { findResource } from '../../kube/schema/catalogue.ts'

export interface RequestLabels {
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly subresource: string
  /** `resource` for one object, `namespace` or `cluster` for a collection. */
  readonly scope: 'resource' | 'namespace' | 'cluster' | ''
  readonly dry_run: 'All' | ''
}

export const REQUEST_LABEL_NAMES = ['verb', 'group', 'version', 'resource', 'subresource', 'scope', 'dry_run'] as const

/** In the words of kube-apiserver's metrics: HTTP methods where there is one, and what a GET really was. */
const resourceVerbs: Readonly<Record<ResourceRequest['verb'], string>> = {
  get: 'GET',
  list: 'LIST',
  watch: 'WATCH',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETECOLLECTION',
  proxy: 'CONNECT',
  '': 'other',
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Paths without a resource that have a label of their own, each with everything below it. */
const paths = ['api', 'apis', 'openapi/v2', 'openapi/v3', 'openid', 'version', 'healthz', 'livez', 'readyz', 'metrics']

export function requestLabels(info: RequestInfo, query: RequestQuery): RequestLabels {
  if (info.kind === 'non-resource') return nonResourceLabels(info.verb, info.path)
  const { apiGroup, apiVersion, resource, subresource } = info
  const row = findResource(apiGroup, apiVersion, resource)
  const verb = resourceVerbs[info.verb]
  if (row === undefined) return { ...unknown, verb }
  const isKnown = subresource === '' || row.subresources?.some(({ name }) => name === subresource) === true
  return {
    verb,
    group: apiGroup,
    version: apiVersion,
    resource,
    subresource: isKnown ? subresource : 'other',
    scope: scopeOf(info),
    dry_run: query.first('dryRun') === 'All' ? 'All' : '',
  }
}

function nonResourceLabels(verb: string, path: string): RequestLabels {
  const method = verb.toUpperCase()
  const known = paths.find((each) => path === `/${each}` || path.startsWith(`/${each}/`))
  return { ...unknown, verb: methods.has(method) ? method : 'other', subresource: known ?? '' }
}

const unknown = { group: '', version: '', resource: '', subresource: '', scope: '', dry_run: '' } as const

function scopeOf({ name, namespace }: ResourceRequest): RequestLabels['scope'] {
  if (name !== '') return 'resource'
  return namespace === '' ? 'cluster' : 'namespace'
}
