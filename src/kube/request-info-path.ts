/** Builds the path of a resource: the inverse of `parseRequestInfo`. What could not be read back is refused. */
import { isPathSegment, NAMESPACE_SUBRESOURCES } from './request-info.ts'

export interface ResourcePath {
  /** Empty for the core group. */
  readonly apiGroup: string
  readonly apiVersion: string
  /** Empty for cluster-scoped resources and for all namespaces. */
  readonly namespace: string
  readonly resource: string
  /** Empty for the collection. */
  readonly name: string
  readonly subresource: string
}

/** The path cannot be built, because the request that it would make is another one. */
export class ResourcePathError extends Error {
  override readonly name = 'ResourcePathError'
}

export function buildPath(target: ResourcePath): string {
  checkTarget(target)
  const { apiGroup, apiVersion, namespace, resource, name, subresource } = target
  const root = apiGroup === '' ? ['api', apiVersion] : ['apis', apiGroup, apiVersion]
  const scope = namespace === '' || resource === 'namespaces' ? [] : ['namespaces', namespace]
  const object = [resource, name, subresource].filter((segment) => segment !== '')
  return `/${[...root, ...scope, ...object].map(encodeSegment).join('/')}`
}

function checkTarget({ apiVersion, namespace, resource, name, subresource }: ResourcePath): void {
  if (apiVersion === '' || resource === '')
    throw new ResourcePathError('a resource path needs a version and a resource')
  if (subresource !== '' && name === '') throw new ResourcePathError(`subresource ${subresource} needs a name`)
  if (resource === 'namespaces') checkNamespace(namespace, name, subresource)
  const isTaken = namespace === '' ? ['watch', 'proxy'].includes(resource) : NAMESPACE_SUBRESOURCES.includes(resource)
  if (isTaken) throw new ResourcePathError(`resource ${resource} means something else at this place of a path`)
}

function checkNamespace(namespace: string, name: string, subresource: string): void {
  if (namespace !== '' && namespace !== name) {
    throw new ResourcePathError(`namespace ${name} cannot be inside the namespace ${namespace}`)
  }
  if (subresource !== '' && !NAMESPACE_SUBRESOURCES.includes(subresource)) {
    throw new ResourcePathError(`${subresource} is not a subresource of namespaces`)
  }
}

function encodeSegment(segment: string): string {
  if (!isPathSegment(segment)) throw new ResourcePathError(`${JSON.stringify(segment)} cannot be a segment of a path`)
  try {
    return encodeURIComponent(segment)
  } catch (error) {
    throw new ResourcePathError(`${JSON.stringify(segment)} is not valid Unicode`, { cause: error })
  }
}
