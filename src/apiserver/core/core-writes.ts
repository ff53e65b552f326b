/** The verbs that change something: reads what the client wants, lets it happen, sends what came of it. */

import { encodeBody } from '../../kube/codec/encode-body.ts'
import { readCollectionOptions } from '../../kube/collection/options.ts'
import { BUILT_IN_COLLECTION, BUILT_IN_OBJECT } from '../../kube/negotiation-offers.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { ResourceRequest } from '../../kube/request-info.ts'
import { badRequest } from '../../kube/status/request-errors.ts'
import { successStatus } from '../../kube/status/status.ts'
import { respond } from '../answers/respond.ts'
import { readBody } from '../objects/decode-body.ts'
import type { Item } from '../objects/item.ts'
import { readPatch } from '../objects/patch.ts'
import type { Resource } from '../objects/resource.ts'
import { checkNamed, type Made, placeUnderName } from '../objects/write-steps.ts'
import { type Authorizer, allow } from '../request/authorizer.ts'
import type { RequestContext } from '../request/handler.ts'
import { type CoreAnswers, contentType } from './core-answers.ts'
import type { Reader } from './read.ts'
import { createObject } from './write/create.ts'
import { deleteObject, isShownWhenGone } from './write/delete.ts'
import { deleteItems } from './write/delete-collection.ts'
import { readDeleteOptions } from './write/delete-options.ts'
import { updateObject, withoutVersion } from './write/update.ts'
import { type WriteRequest, writeRequestOf } from './write/write-request.ts'
import type { Writer } from './write/writer.ts'

export interface CoreWritesParts {
  readonly reader: Reader
  readonly writer: Writer
  readonly authorizer: Authorizer
}

export class CoreWrites {
  readonly #parts: CoreWritesParts
  readonly #answers: CoreAnswers

  constructor(parts: CoreWritesParts, answers: CoreAnswers) {
    this.#parts = parts
    this.#answers = answers
  }

  async create(context: RequestContext, resource: Resource): Promise<void> {
    const { writer } = this.#parts
    const output = this.#answers.negotiateShown(context, BUILT_IN_OBJECT, resource)
    const body = await readBody(context)
    const request = { ...writeRequestOf(context, resource, body.bytes.length), hasDefaults: true }
    const object = noted(await writer.parts.maker.read(resource, body, request), request)
    const item = await createObject(writer, object, request)
    context.createdName = item.name
    await this.#answers.sendItem(context, 201, item, resource, output)
  }

  async update(context: RequestContext, info: ResourceRequest, resource: Resource): Promise<void> {
    const { writer, authorizer } = this.#parts
    const output = this.#answers.negotiateShown(context, BUILT_IN_OBJECT, resource)
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
    await this.#answers.sendItem(context, created ? 201 : 200, item, resource, output)
  }

  async patch(context: RequestContext, resource: Resource): Promise<void> {
    const { writer } = this.#parts
    const output = this.#answers.negotiateShown(context, BUILT_IN_OBJECT, resource)
    const patch = await readPatch(context)
    const request = { ...writeRequestOf(context, resource, patch.bytes.length), hasDefaults: true }
    const produce = async (current: Item): Promise<KubeObject> =>
      placeUnderName(noted(await writer.parts.maker.patch(resource, patch, current, request), request), request.name)
    const { item } = await updateObject(writer, request, produce)
    await this.#answers.sendItem(context, 200, item, resource, output)
  }

  async delete(context: RequestContext, resource: Resource): Promise<void> {
    const output = this.#answers.negotiate(context, BUILT_IN_OBJECT, false)
    const { options, dryRun } = await readDeleteOptions(context)
    const base = writeRequestOf(context, resource)
    const request = { ...base, dryRun: base.dryRun || dryRun }
    const { outcome, item } = await deleteObject(this.#parts.writer, request, options)
    if (outcome === 'waiting' || isShownWhenGone(resource))
      return await this.#answers.sendItem(context, 200, item, resource, output)
    const { name = '', uid = '' } = item.metadata()
    const details = { name, group: resource.group, kind: resource.row.resource, uid }
    const { encoding } = output.representation
    const body = encodeBody(successStatus(details) as unknown as KubeObject, encoding, output.pretty)
    await respond(context, 200, contentType(output), body)
  }

  async deleteCollection(context: RequestContext, info: ResourceRequest, resource: Resource): Promise<void> {
    const output = this.#answers.negotiate(context, BUILT_IN_COLLECTION, false)
    const { options: deleteOptions, dryRun } = await readDeleteOptions(context)
    const options = readCollectionOptions({ info, query: context.query }, resource.kind, false)
    const { items, metadata } = await this.#parts.reader.list(resource, info.namespace, options, context.signal)
    const base = writeRequestOf(context, resource)
    // Only what a path names is deleted: there is no deletion from all namespaces at once.
    if (resource.namespaced && info.namespace === '' && items.length > 0)
      throw badRequest('Namespace parameter required.')
    await deleteItems(this.#parts.writer, items, { ...base, dryRun: base.dryRun || dryRun }, deleteOptions)
    await this.#answers.sendList(context, { items, metadata }, resource, output)
  }
}

/** What was made, when its client has been warned. */
function noted({ object, warnings }: Made, request: WriteRequest): KubeObject {
  for (const warning of warnings) request.warnings.add(warning)
  return object
}
