/** API paths and queries. A name that could change which resource a path means is refused, not escaped. */
import type { Resource } from './kinds.ts'

export interface PathParts {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly subresource?: string | undefined
}

export type QueryValue = string | number | boolean | undefined

export function resourcePath(resource: Resource, parts: PathParts): string {
  const { group, version, namespaced } = resource
  const segments = group === '' ? ['api', version] : ['apis', group, version]
  if (parts.namespace !== undefined) {
    if (!namespaced) throw new TypeError(`${resource.resource} is not namespaced, but a namespace is given`)
    segments.push('namespaces', parts.namespace)
  } else if (namespaced && parts.name !== undefined) {
    throw new TypeError(`${resource.resource} ${JSON.stringify(parts.name)}: a namespace is needed`)
  }
  segments.push(resource.resource)
  if (parts.name !== undefined) segments.push(parts.name)
  if (parts.subresource !== undefined) segments.push(...parts.subresource.split('/'))
  return `/${segments.map(checkedSegment).join('/')}`
}

/** `?a=1&b=2`, or nothing; undefined values are left out. */
export function queryString(query: Readonly<Record<string, QueryValue>>): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined)
  if (pairs.length === 0) return ''
  return `?${pairs.map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(String(value))}`).join('&')}`
}

function checkedSegment(segment: string): string {
  if (segment === '' || segment === '.' || segment === '..' || /[/%]/.test(segment)) {
    throw new TypeError(`${JSON.stringify(segment)} cannot be part of an API path`)
  }
  return encodeURIComponent(segment)
}
