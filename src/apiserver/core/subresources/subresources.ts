/**
 * Subresources with a life of their own, and the two resources that keep nothing but work on others. What is only another
 * way to the object itself (`status`, `finalize`, `approval`, `ephemeralcontainers`, `resize`) is left to the ordinary
 * writes, which tell the kind's strategy which of them they came by. The tokens of ServiceAccounts are in `token.ts`,
 * because they are signed and never stored.
 */
import type { ResourceRequest } from '../../../kube/request-info.ts'
import { type Resource, storedResource } from '../../objects/resource.ts'
import type { RequestContext } from '../../request/handler.ts'
import { serveBinding } from './binding.ts'
import { serveComponentStatuses } from './component-status.ts'
import { serveConnection } from './connect.ts'
import { serveEviction } from './eviction.ts'
import type { SubresourceParts } from './parts.ts'
import { methodNotAllowed } from './places.ts'
import { serveScale } from './scale.ts'

type Serve = (
  parts: SubresourceParts,
  context: RequestContext,
  info: ResourceRequest,
  resource: Resource,
) => Promise<void>

/** By resource and subresource; all of them stand in core, except for the scales of `apps`. */
const serversOf: ReadonlyMap<string, Serve> = new Map<string, Serve>([
  ['deployments/scale', serveScale],
  ['replicasets/scale', serveScale],
  ['statefulsets/scale', serveScale],
  ['replicationcontrollers/scale', serveScale],
  ['pods/binding', serveBinding],
  ['pods/eviction', serveEviction],
  ['pods/log', serveConnection],
  ['pods/exec', serveConnection],
  ['pods/attach', serveConnection],
  ['pods/portforward', serveConnection],
  ['pods/proxy', serveConnection],
  ['services/proxy', serveConnection],
  ['nodes/proxy', serveConnection],
])

/** Resources that are served for old clients, who are told so with every answer. */
const deprecations: Readonly<Record<string, string>> = {
  '/v1/componentstatuses': 'v1 ComponentStatus is deprecated in v1.19+',
  '/v1/endpoints': 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
}

export class Subresources {
  readonly #parts: SubresourceParts

  constructor(parts: SubresourceParts) {
    this.#parts = parts
  }

  /** False when the request is for something else. */
  async handle(context: RequestContext, info: ResourceRequest): Promise<boolean> {
    const deprecation = deprecations[`${info.apiGroup}/${info.apiVersion}/${info.resource}`]
    if (deprecation !== undefined) context.warnings.add(deprecation)
    if (info.apiGroup === '' && info.resource === 'componentstatuses') {
      await serveComponentStatuses(this.#parts, context, info)
      return true
    }
    if (info.apiGroup === '' && info.resource === 'bindings') {
      if (info.verb !== 'create') throw methodNotAllowed()
      await serveBinding(this.#parts, context, info)
      return true
    }
    const serve = serversOf.get(`${info.resource}/${info.subresource}`)
    const resource = serve && storedResource(info.apiGroup, info.apiVersion, info.resource)
    const row = resource?.row.subresources?.find(({ name }) => name === info.subresource)
    if (serve === undefined || resource === undefined || row === undefined) return false
    // What is proxied may be asked with methods that are no verbs; routes have sorted out the others.
    if (info.subresource !== 'proxy' && !row.verbs.includes(info.verb)) throw methodNotAllowed()
    await serve(this.#parts, context, info, resource)
    return true
  }
}
