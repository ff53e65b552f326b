/** The built-in resources over HTTP: finds out which verb is meant, lets it happen, sends what came of it. */

import { encodeBody } from '../../kube/codec/encode-body.ts'
import { namedRevision, readCollectionOptions } from '../../kube/collection/options.ts'
import { type NegotiatedOutput, renderingMismatch } from '../../kube/negotiation.ts'
import { BUILT_IN_COLLECTION, BUILT_IN_OBJECT, type RouteOffer } from '../../kube/negotiation-offers.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { responseContentType } from '../../kube/representation.ts'
import type { ResourceRequest } from '../../kube/request-info.ts'
import { findResource } from '../../kube/schema/catalogue.ts'
import { badRequest } from '../../kube/status/request-errors.ts'
import { successStatus } from '../../kube/status/status.ts'
import type { Clock } from '../../runtime/clock.ts'
import { respond, respondStream } from '../answers/respond.ts'
import { readBody } from '../objects/decode-body.ts'
import type { Item } from '../objects/item.ts'
import { readPatch } from '../objects/patch.ts'
import { checkPlace, collectionPrefix, type Resource, storedResource } from '../objects/resource.ts'
import { checkNamed, type Made, placeUnderName } from '../objects/write-steps.ts'
import { type Authorizer, allow } from '../request/authorizer.ts'
import type { RequestContext } from '../request/handler.ts'
import type { Store } from '../storage/store.ts'
import { EventFrames } from './event-frames.ts'
import { KeptNegotiations } from './kept-negotiations.ts'
import { respondList } from './list-response.ts'
import type { ObjectCache } from './object-cache.ts'
import { type OutputContext, objectBody } from './output.ts'
import type { ListedItems, Reader } from './read.ts'
import type { Renderer } from './renderer.ts'
import { selectionOf } from './selection.ts'
import { methodNotAllowed } from './subresources/places.ts'
import { Watch } from './watch.ts'
import { WatchQueue } from './watch-queue.ts'
import { createObject } from './write/create.ts'
import { deleteObject, isShownWhenGone } from './write/delete.ts'
import { deleteItems } from './write/delete-collection.ts'
import { readDeleteOptions } from './write/delete-options.ts'
import { updateObject, withoutVersion } from './write/update.ts'
import { type WriteRequest, writeRequestOf } from './write/write-request.ts'
import type { Writer } from './write/writer.ts'

export interface CoreParts {
  readonly store: Store
  readonly cache: ObjectCache
  readonly reader: Reader
  readonly writer: Writer
  readonly clock: Clock
  readonly renderer: Renderer
  readonly authorizer: Authorizer
  /** Resources that keep nothing, and subresources with a life of their own. False: not one of them. */
  special(context: RequestContext, info: ResourceRequest): Promise<boolean>
}

export class CoreHandler {
  readonly #parts: CoreParts
  readonly #frames: EventFrames
  readonly #negotiations = new KeptNegotiations()

  constructor(parts: CoreParts) {
    this.#parts = parts
    this.#frames = new EventFrames(parts.renderer)
  }

  readonly handle = async (context: RequestContext): Promise<boolean> => {
    const { info } = context
    if (info.kind !== 'resource') return false
    const row = findResource(info.apiGroup, info.apiVersion, info.resource)
    if (row === undefined) return false
    checkPlace(row, info)
    if (await this.#parts.special(context, info)) return true
    const resource = storedResource(info.apiGroup, info.apiVersion, info.resource)
    // A door that the resource does not have is a path that nobody owns.
    if (resource === undefined || !hasDoor(resource, info.subresource)) return false
    this.#checkVerb(resource, info)
    await this.#dispatch(context, info, resource)
    return true
  }

  #checkVerb(resource: Resource, { verb, subresource }: ResourceRequest): void {
    const door = resource.row.subresources?.find(({ name }) => name === subresource) ?? resource.row
    if (!door.verbs.includes(verb)) throw methodNotAllowed()
  }

  async #dispatch(context: RequestContext, info: ResourceRequest, resource: Resource): Promise<void> {
    switch (info.verb) {
      case 'get':
        return await this.#get(context, info, resource)
      case 'list':
        return await this.#list(context, info, resource)
      case 'watch':
        return await this.#watch(context, info, resource)
      case 'create':
        return await this.#create(context, resource)
      case 'update':
        return await this.#update(context, info, resource)
      case 'patch':
        return await this.#patch(context, resource)
      case 'delete':
        return await this.#delete(context, resource)
      case 'deletecollection':
        return await this.#deleteCollection(context, info, resource)
      default:
        throw methodNotAllowed()
    }
  }

  async #get(context: RequestContext, { namespace, name }: ResourceRequest, resource: Resource): Promise<void> {
    const output = this.#negotiateShown(context, BUILT_IN_OBJECT, resource)
    await this.#sendItem(
      context,
      200,
      await this.#parts.reader.get(resource, namespace, name, context),
      resource,
      output,
    )
  }

  async #list(context: RequestContext, info: ResourceRequest, resource: Resource): Promise<void> {
    const output = this.#negotiateShown(context, BUILT_IN_COLLECTION, resource)
    const options = readCollectionOptions({ info, query: context.query }, resource.kind, false)
    const listed = await this.#parts.reader.list(resource, info.namespace, options, context.signal)
    await this.#sendList(context, listed, resource, output)
  }

  async #watch(context: RequestContext, info: ResourceRequest, resource: Resource): Promise<void> {
    const { cache, store, clock, reader } = this.#parts
    const output = this.#negotiate(context, BUILT_IN_COLLECTION, true)
    const { labels, fields, ...options } = readCollectionOptions({ info, query: context.query }, resource.kind, true)
    namedRevision(options.resourceVersion)
    if (options.sendInitialEvents === true || options.resourceVersion === '') {
      await reader.catchUp(options.resourceVersion, context.signal)
    }
    const stream = respondStream(context, 200, contentType(output))
    const slow = new AbortController()
    const queue = new WatchQueue(stream, () => slow.abort())
    const watch = new Watch({
      collection: cache.collection(resource.keyPrefix),
      prefix: collectionPrefix(resource, info.namespace),
      selection: selectionOf(resource.kind, labels, fields),
      options,
      output: this.#outputContext(resource, output),
      frames: this.#frames,
      queue,
      store,
      clock,
      caller: context.user.name,
    })
    await watch.run(AbortSignal.any([context.signal, slow.signal]))
  }

  async #create(context: RequestContext, resource: Resource): Promise<void> {
    const { writer } = this.#parts
    const output = this.#negotiateShown(context, BUILT_IN_OBJECT, resource)
    const body = await readBody(context)
    const request = { ...writeRequestOf(context, resource, body.bytes.length), hasDefaults: true }
    const object = noted(await writer.parts.maker.read(resource, body, request), request)
    const item = await createObject(writer, object, request)
    context.createdName = item.name
    await this.#sendItem(context, 201, item, resource, output)
  }

  async #update(context: RequestContext, info: ResourceRequest, resource: Resource): Promise<void> {
    const { writer, authorizer } = this.#parts
    const output = this.#negotiateShown(context, BUILT_IN_OBJECT, resource)
    const body = await readBody(context)
    const request = { ...writeRequestOf(context, resource, body.bytes.length), hasDefaults: true }
    const read = async (): Promise<KubeObject> =>
      checkNamed(noted(await writer.parts.maker.read(resource, body, request), request), request.name)
    // Each try changes its object, so that each but the first reads its own. A body that makes no sense is refused first.
    let first: KubeObject | undefined = await read()
    const produce = async (): Promise<KubeObject> => {
      const object = first ?? (await read())
      first = undefined
      return object
    }
    const allowsCreate = writer.parts.strategyOf(resource).allowsCreateOnUpdate === true && request.subresource === ''
    const create = async (): Promise<Item> => {
      // So far only the update was allowed.
      allow(authorizer, { ...info, user: context.user, verb: 'create' })
      return await createObject(writer, withoutVersion(await produce()), request)
    }
    const { item, created } = await updateObject(writer, request, produce, allowsCreate ? create : undefined)
    await this.#sendItem(context, created ? 201 : 200, item, resource, output)
  }

  async #patch(context: RequestContext, resource: Resource): Promise<void> {
    const { writer } = this.#parts
    const output = this.#negotiateShown(context, BUILT_IN_OBJECT, resource)
    const patch = await readPatch(context)
    const request = { ...writeRequestOf(context, resource, patch.bytes.length), hasDefaults: true }
    const produce = async (current: Item): Promise<KubeObject> =>
      placeUnderName(noted(await writer.parts.maker.patch(resource, patch, current, request), request), request.name)
    const { item } = await updateObject(writer, request, produce)
    await this.#sendItem(context, 200, item, resource, output)
  }

  async #delete(context: RequestContext, resource: Resource): Promise<void> {
    const output = this.#negotiate(context, BUILT_IN_OBJECT, false)
    const { options, dryRun } = await readDeleteOptions(context)
    const base = writeRequestOf(context, resource)
    const request = { ...base, dryRun: base.dryRun || dryRun }
    const { outcome, item } = await deleteObject(this.#parts.writer, request, options)
    if (outcome === 'waiting' || isShownWhenGone(resource))
      return await this.#sendItem(context, 200, item, resource, output)
    const { name = '', uid = '' } = item.metadata()
    const details = { name, group: resource.group, kind: resource.row.resource, uid }
    const { encoding } = output.representation
    const body = encodeBody(successStatus(details) as unknown as KubeObject, encoding, output.pretty)
    await respond(context, 200, contentType(output), body)
  }

  async #deleteCollection(context: RequestContext, info: ResourceRequest, resource: Resource): Promise<void> {
    const output = this.#negotiate(context, BUILT_IN_COLLECTION, false)
    const { options: deleteOptions, dryRun } = await readDeleteOptions(context)
    const options = readCollectionOptions({ info, query: context.query }, resource.kind, false)
    const { items, metadata } = await this.#parts.reader.list(resource, info.namespace, options, context.signal)
    const base = writeRequestOf(context, resource)
    // Only what a path names is deleted: there is no deletion from all namespaces at once.
    if (resource.namespaced && info.namespace === '' && items.length > 0)
      throw badRequest('Namespace parameter required.')
    await deleteItems(this.#parts.writer, items, { ...base, dryRun: base.dryRun || dryRun }, deleteOptions)
    await this.#sendList(context, { items, metadata }, resource, output)
  }

  #negotiate({ exchange, query }: RequestContext, offer: RouteOffer, stream: boolean): NegotiatedOutput {
    const request = {
      accept: exchange.headers.get('accept'),
      userAgent: exchange.headers.get('user-agent'),
      pretty: query.first('pretty'),
      includeObject: query.first('includeObject'),
      stream,
    }
    return this.#negotiations.negotiate(request, offer)
  }

  /** For what is certain to show objects: the metadata of a list is no form of one object, nor the other way round. */
  #negotiateShown(context: RequestContext, offer: RouteOffer, { kind }: Resource): NegotiatedOutput {
    const output = this.#negotiate(context, offer, false)
    const isList = offer === BUILT_IN_COLLECTION
    const mismatch = renderingMismatch(output.representation, isList, isList ? `${kind}List` : kind)
    if (mismatch !== undefined) throw mismatch
    return output
  }

  #outputContext(resource: Resource, { representation, pretty }: NegotiatedOutput): OutputContext {
    return { resource, representation, pretty, nowMs: this.#parts.clock.nowMs() }
  }

  async #sendItem(
    context: RequestContext,
    status: number,
    item: Item,
    resource: Resource,
    output: NegotiatedOutput,
  ): Promise<void> {
    const asker = { caller: context.user.name, signal: context.signal }
    const body = await objectBody(item, this.#outputContext(resource, output), this.#parts.renderer, asker)
    await respond(context, status, contentType(output), body)
  }

  async #sendList(
    context: RequestContext,
    { items, metadata }: ListedItems,
    resource: Resource,
    output: NegotiatedOutput,
  ): Promise<void> {
    const list = { headers: contentType(output), items, metadata, output: this.#outputContext(resource, output) }
    await respondList(context, list, this.#parts)
  }
}

function contentType({ representation, stream }: NegotiatedOutput): { 'content-type': string } {
  return { 'content-type': responseContentType(representation, { stream }) }
}

function hasDoor({ row }: Resource, subresource: string): boolean {
  return subresource === '' || row.subresources?.some(({ name }) => name === subresource) === true
}

/** What was made, when its client has been warned. */
function noted({ object, warnings }: Made, request: WriteRequest): KubeObject {
  for (const warning of warnings) request.warnings.add(warning)
  return object
}
