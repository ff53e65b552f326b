/** The verbs on one resource, in all namespaces or in one. */
import type { KubeList, KubeObject } from '../objects.ts'
import { isExpired } from '../status/predicates.ts'
import { BodyDecodeError } from './body-codec.ts'
import type { KubeClient } from './client.ts'
import type { Resource, Subresource } from './kinds.ts'
import {
  type CallOptions,
  type ClientRequest,
  type DeleteOptions,
  type GetQuery,
  type ListQuery,
  resourceRequest,
  type WatchQuery,
  type WriteQuery,
  withKind,
} from './options.ts'
import { encodePatch, type Patch } from './patch.ts'
import type { PathParts } from './paths.ts'
import { SubresourceClient } from './subresource-client.ts'
import type { WatchStream } from './watch-stream.ts'

/** What kubectl uses: few round trips, and no burden to the server. */
const DEFAULT_PAGE_SIZE = 500
/** A quiet watch is healthy until the time the server was asked to end it, and this much longer. */
const WATCH_TIMEOUT_GRACE_MS = 30_000

export class ResourceClient<T extends KubeObject> {
  readonly resource: Resource<T>
  readonly namespace: string | undefined
  readonly #client: KubeClient

  constructor(client: KubeClient, resource: Resource<T>, namespace?: string) {
    this.#client = client
    this.resource = resource
    this.namespace = namespace
  }

  in(namespace: string): ResourceClient<T> {
    return new ResourceClient(this.#client, this.resource, namespace)
  }

  get(name: string, query: GetQuery = {}, call: CallOptions = {}): Promise<T> {
    return this.#client.exchange<T>(this.#request('GET', { name }, query, call))
  }

  /** One page, or everything when no limit is given. Items carry their `apiVersion` and `kind`, unlike on the wire. */
  async list(query: ListQuery = {}, call: CallOptions = {}): Promise<KubeList<T>> {
    return asList<T>(await this.#client.exchange(this.#request('GET', {}, query, call)))
  }

  /**
   * Page after page of one consistent snapshot. If the server forgets the snapshot on the way, its 410 is thrown: the
   * token in its `status.metadata.continue` would go on with newer objects, which is for the caller to decide.
   */
  async *pages(query: ListQuery = {}, call: CallOptions = {}): AsyncGenerator<KubeList<T>, void, undefined> {
    let page = await this.list({ limit: DEFAULT_PAGE_SIZE, ...query }, call)
    yield page
    // A continuation fixes the version by itself; the server refuses to be told both.
    const { resourceVersion: _version, resourceVersionMatch: _match, ...rest } = query
    while (page.metadata.continue) {
      page = await this.list({ limit: DEFAULT_PAGE_SIZE, ...rest, continue: page.metadata.continue }, call)
      yield page
    }
  }

  /** Everything, read in pages; if the snapshot expires between two pages, read again in one piece. */
  async listAll(query: Omit<ListQuery, 'continue'> = {}, call: CallOptions = {}): Promise<KubeList<T>> {
    const pages: KubeList<T>[] = []
    try {
      for await (const page of this.pages(query, call)) pages.push(page)
    } catch (error) {
      if (pages.length === 0 || !isExpired(error)) throw error
      const { limit: _limit, ...unpaged } = query
      return await this.list(unpaged, call)
    }
    return { ...pages[0], metadata: pages.at(-1)?.metadata ?? {}, items: pages.flatMap((page) => page.items) }
  }

  watch(query: WatchQuery = {}, call: CallOptions = {}): Promise<WatchStream<T>> {
    const bodyTimeoutMs = query.timeoutSeconds === undefined ? 0 : query.timeoutSeconds * 1000 + WATCH_TIMEOUT_GRACE_MS
    const request = this.#request('GET', {}, { ...query, watch: true }, call)
    return this.#client.watch<T>({ ...request, bodyTimeoutMs })
  }

  async create(object: T, query: WriteQuery = {}, call: CallOptions = {}): Promise<T> {
    const request = this.#request('POST', this.#placeOf(object), query, call)
    return await this.#client.exchange<T>(request, withKind(object, this.resource))
  }

  /** Replaces the object; if it carries a resourceVersion, only when nobody else replaced that one meanwhile. */
  async update(object: T, query: WriteQuery = {}, call: CallOptions = {}): Promise<T> {
    const name = object.metadata?.name
    if (name === undefined) throw new TypeError(`cannot update an object of ${this.resource.resource} without a name`)
    const request = this.#request('PUT', { ...this.#placeOf(object), name }, query, call)
    return await this.#client.exchange<T>(request, withKind(object, this.resource))
  }

  async patch(name: string, patch: Patch, query: WriteQuery = {}, call: CallOptions = {}): Promise<T> {
    const encoded = encodePatch(patch)
    const request = this.#request('PATCH', { name }, { ...query, ...encoded.query }, call)
    return await this.#client.exchangeBytes<T>(request, encoded)
  }

  /** The object while finalizers or a grace period still hold it, else a Status. */
  delete(name: string, options: DeleteOptions = {}, call: CallOptions = {}): Promise<KubeObject> {
    return this.#client.exchange(this.#request('DELETE', { name }, {}, call), deleteOptions(options))
  }

  deleteCollection(query: ListQuery = {}, options: DeleteOptions = {}, call: CallOptions = {}): Promise<KubeObject> {
    return this.#client.exchange(this.#request('DELETE', {}, query, call), deleteOptions(options))
  }

  /** A plain name means that the subresource holds the object's own kind, as `status` does. */
  subresource<S extends KubeObject = T>(name: string, subresource: Subresource<S> | string): SubresourceClient<S> {
    const described: Subresource<S> = typeof subresource === 'string' ? { subresource } : subresource
    return new SubresourceClient<S>(this.#client, this.resource, { namespace: this.namespace, name }, described)
  }

  #request(method: string, parts: PathParts, query: object, call: CallOptions): ClientRequest {
    return resourceRequest(method, this.resource, { namespace: this.namespace, ...parts }, query, call)
  }

  /** An object may bring its namespace; one that contradicts the client's would land where nobody looks for it. */
  #placeOf(object: KubeObject): PathParts {
    const own = this.resource.namespaced ? object.metadata?.namespace : undefined
    if (own !== undefined && this.namespace !== undefined && own !== this.namespace) {
      throw new TypeError(`the object belongs to namespace ${own}, but this client works in ${this.namespace}`)
    }
    const namespace = this.namespace ?? own
    if (this.resource.namespaced && namespace === undefined) {
      throw new TypeError(`an object of ${this.resource.resource} needs a namespace; set one or use in(namespace)`)
    }
    return { namespace }
  }
}

function deleteOptions(options: DeleteOptions): KubeObject {
  return { apiVersion: 'v1', kind: 'DeleteOptions', ...options }
}

function asList<T extends KubeObject>(list: KubeObject): KubeList<T> {
  const { apiVersion, kind, metadata, items } = list
  // Some servers write null for an empty list.
  if (items !== null && !Array.isArray(items)) throw new BodyDecodeError(`expected a list, got ${kind ?? 'no kind'}`)
  const itemKind = kind?.endsWith('List') === true ? kind.slice(0, -'List'.length) : undefined
  const common = itemKind === undefined || itemKind === '' ? {} : { apiVersion, kind: itemKind }
  const complete = (items ?? []).map((item) => ({ ...common, ...(item as T) }))
  return { ...list, metadata: metadata ?? {}, items: complete }
}
