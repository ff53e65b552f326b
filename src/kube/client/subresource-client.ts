/** One subresource of one object: `status`, `scale`, `token`, `approval`, ... */
import type { KubeObject } from '../objects.ts'
import type { KubeClient } from './client.ts'
import type { Resource, Subresource } from './kinds.ts'
import { type CallOptions, type GetQuery, resourceRequest, type WriteQuery, withKind } from './options.ts'
import { encodePatch, type Patch } from './patch.ts'
import type { PathParts } from './paths.ts'

export class SubresourceClient<S extends KubeObject> {
  readonly #client: KubeClient
  readonly #resource: Resource
  readonly #parts: PathParts
  readonly #kind: Pick<Resource, 'group' | 'version' | 'kind'>

  constructor(client: KubeClient, resource: Resource, parts: PathParts, subresource: Subresource<S>) {
    this.#client = client
    this.#resource = resource
    this.#parts = { ...parts, subresource: subresource.subresource }
    this.#kind = { ...resource, ...subresource }
  }

  get(query: GetQuery = {}, call: CallOptions = {}): Promise<S> {
    return this.#client.exchange<S>(resourceRequest('GET', this.#resource, this.#parts, query, call))
  }

  create(object: S, query: WriteQuery = {}, call: CallOptions = {}): Promise<S> {
    const request = resourceRequest('POST', this.#resource, this.#parts, query, call)
    return this.#client.exchange<S>(request, withKind(object, this.#kind))
  }

  update(object: S, query: WriteQuery = {}, call: CallOptions = {}): Promise<S> {
    const request = resourceRequest('PUT', this.#resource, this.#parts, query, call)
    return this.#client.exchange<S>(request, withKind(object, this.#kind))
  }

  patch(patch: Patch, query: WriteQuery = {}, call: CallOptions = {}): Promise<S> {
    const encoded = encodePatch(patch)
    const request = resourceRequest('PATCH', this.#resource, this.#parts, { ...query, ...encoded.query }, call)
    return this.#client.exchangeBytes<S>(request, encoded)
  }
}
