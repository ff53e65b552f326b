/** The built-in resources over HTTP: finds out which verb is meant, and serves those that read; `core-writes.ts` has the others. */

import { namedRevision, readCollectionOptions } from '../../kube/collection/options.ts'
import { BUILT_IN_COLLECTION, BUILT_IN_OBJECT } from '../../kube/negotiation-offers.ts'
import type { ResourceRequest } from '../../kube/request-info.ts'
import { findResource } from '../../kube/schema/catalogue.ts'
import { respondStream } from '../answers/respond.ts'
import { checkPlace, collectionPrefix, type Resource, storedResource } from '../objects/resource.ts'
import type { RequestContext } from '../request/handler.ts'
import type { Store } from '../storage/store.ts'
import { CoreAnswers, type CoreAnswersParts, contentType } from './core-answers.ts'
import { CoreWrites, type CoreWritesParts } from './core-writes.ts'
import { EventFrames } from './event-frames.ts'
import type { ObjectCache } from './object-cache.ts'
import { selectionOf } from './selection.ts'
import { methodNotAllowed } from './subresources/places.ts'
import { Watch } from './watch.ts'
import { WatchQueue } from './watch-queue.ts'

export interface CoreParts extends CoreAnswersParts, CoreWritesParts {
  readonly store: Store
  readonly cache: ObjectCache
  /** Draws from [0, 1). */
  readonly random: () => number
  /** Resources that keep nothing, and subresources with a life of their own. False: not one of them. */
  special(context: RequestContext, info: ResourceRequest): Promise<boolean>
}

export class CoreHandler {
  readonly #parts: CoreParts
  readonly #frames: EventFrames
  readonly #answers: CoreAnswers
  readonly #writes: CoreWrites

  constructor(parts: CoreParts) {
    this.#parts = parts
    this.#frames = new EventFrames(parts.renderer)
    this.#answers = new CoreAnswers(parts)
    this.#writes = new CoreWrites(parts, this.#answers)
  }

  readonly handle = async (context: RequestContext): Promise<boolean> => {
    const { info } = context
    if (info.kind !== 'resource') return false
    const row = findResource(info.apiGroup, info.apiVersion, info.resource)
    if (row === undefined) return false
    checkPlace(row, info)
    if (await this.#parts.special(context, info)) return true
    const resource = storedResource(info.apiGroup, info.apiVersion, info.resource)
    // A subresource that the resource does not have is a path that nobody owns.
    if (resource === undefined || !hasSubresource(resource, info.subresource)) return false
    this.#checkVerb(resource, info)
    await this.#dispatch(context, info, resource)
    return true
  }

  #checkVerb(resource: Resource, { verb, subresource }: ResourceRequest): void {
    const offered = resource.row.subresources?.find(({ name }) => name === subresource) ?? resource.row
    if (!offered.verbs.includes(verb)) throw methodNotAllowed()
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
        return await this.#writes.create(context, resource)
      case 'update':
        return await this.#writes.update(context, info, resource)
      case 'patch':
        return await this.#writes.patch(context, resource)
      case 'delete':
        return await this.#writes.delete(context, resource)
      case 'deletecollection':
        return await this.#writes.deleteCollection(context, info, resource)
      default:
        throw methodNotAllowed()
    }
  }

  async #get(context: RequestContext, { namespace, name }: ResourceRequest, resource: Resource): Promise<void> {
    const output = this.#answers.negotiateShown(context, BUILT_IN_OBJECT, resource)
    await this.#answers.sendItem(
      context,
      200,
      await this.#parts.reader.get(resource, namespace, name, context),
      resource,
      output,
    )
  }

  async #list(context: RequestContext, info: ResourceRequest, resource: Resource): Promise<void> {
    const output = this.#answers.negotiateShown(context, BUILT_IN_COLLECTION, resource)
    const options = readCollectionOptions({ info, query: context.query }, resource.kind, false)
    const listed = await this.#parts.reader.list(resource, info.namespace, options, context.signal)
    await this.#answers.sendList(context, listed, resource, output)
  }

  async #watch(context: RequestContext, info: ResourceRequest, resource: Resource): Promise<void> {
    const { cache, store, clock, random, reader } = this.#parts
    const output = this.#answers.negotiate(context, BUILT_IN_COLLECTION, true)
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
      output: this.#answers.outputContext(resource, output),
      frames: this.#frames,
      queue,
      store,
      clock,
      random,
      caller: context.user.name,
    })
    await watch.run(AbortSignal.any([context.signal, slow.signal]))
  }
}

function hasSubresource({ row }: Resource, subresource: string): boolean {
  return subresource === '' || row.subresources?.some(({ name }) => name === subresource) === true
}
