/** What every write needs to know. */
import type { KubeObject } from '../../../kube/objects.ts'
import { badRequest } from '../../../kube/status/request-errors.ts'
import type { Resource } from '../../objects/resource.ts'
import { readDryRun } from '../../objects/write-options.ts'
import type { RequestContext } from '../../request/handler.ts'
import type { UserInfo } from '../../request/user.ts'

export interface WriteRequest {
  readonly resource: Resource
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly user: UserInfo
  readonly dryRun: boolean
  readonly signal: AbortSignal
  readonly warnings: Set<string>
  /** How much a client has sent; 0 for writes of our own. */
  readonly bodyBytes: number
  /** Whether the object comes with its defaults. */
  readonly hasDefaults: boolean
}

/** The write that a request for a resource asks for. Throws where its `dryRun` makes no sense. */
export function writeRequestOf(context: RequestContext, resource: Resource, bodyBytes = 0): WriteRequest {
  if (context.info.kind !== 'resource') throw new Error('only requests for resources write')
  const { subresource, namespace, name } = context.info
  const { user, signal, warnings } = context
  const dryRun = readDryRun(context.query.all('dryRun'))
  return {
    resource,
    subresource,
    namespace: resource.namespaced ? namespace : '',
    name,
    user,
    dryRun,
    signal,
    warnings,
    bodyBytes,
    hasDefaults: false,
  }
}

/** The namespace of the object and of the path must agree; an object may leave its own away. */
export function placeInNamespace(object: KubeObject, { resource, namespace }: WriteRequest): void {
  const metadata = object.metadata ?? {}
  object.metadata = metadata
  if (!resource.namespaced) {
    delete metadata.namespace
    return
  }
  if (metadata.namespace === undefined || metadata.namespace === '') metadata.namespace = namespace
  if (metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
}
