/** The answers of the built-in resources: in which form a client wants one, and sending it in that form. */
import { type NegotiatedOutput, renderingMismatch } from '../../kube/negotiation.ts'
import { BUILT_IN_COLLECTION, type RouteOffer } from '../../kube/negotiation-offers.ts'
import { responseContentType } from '../../kube/representation.ts'
import type { Clock } from '../../runtime/clock.ts'
import { respond } from '../answers/respond.ts'
import type { Item } from '../objects/item.ts'
import type { Resource } from '../objects/resource.ts'
import type { RequestContext } from '../request/handler.ts'
import { KeptNegotiations } from './kept-negotiations.ts'
import { respondList } from './list-response.ts'
import { type OutputContext, objectBody } from './output.ts'
import type { ListedItems } from './read.ts'
import type { Renderer } from './renderer.ts'

export interface CoreAnswersParts {
  readonly clock: Clock
  readonly renderer: Renderer
}

export class CoreAnswers {
  readonly #parts: CoreAnswersParts
  readonly #negotiations = new KeptNegotiations()

  constructor(parts: CoreAnswersParts) {
    this.#parts = parts
  }

  negotiate({ exchange, query }: RequestContext, offer: RouteOffer, stream: boolean): NegotiatedOutput {
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
  negotiateShown(context: RequestContext, offer: RouteOffer, { kind }: Resource): NegotiatedOutput {
    const output = this.negotiate(context, offer, false)
    const isList = offer === BUILT_IN_COLLECTION
    const mismatch = renderingMismatch(output.representation, isList, isList ? `${kind}List` : kind)
    if (mismatch !== undefined) throw mismatch
    return output
  }

  outputContext(resource: Resource, { representation, pretty }: NegotiatedOutput): OutputContext {
    return { resource, representation, pretty, nowMs: this.#parts.clock.nowMs() }
  }

  async sendItem(
    context: RequestContext,
    status: number,
    item: Item,
    resource: Resource,
    output: NegotiatedOutput,
  ): Promise<void> {
    const asker = { caller: context.user.name, signal: context.signal }
    const body = await objectBody(item, this.outputContext(resource, output), this.#parts.renderer, asker)
    await respond(context, status, contentType(output), body)
  }

  async sendList(
    context: RequestContext,
    { items, metadata }: ListedItems,
    resource: Resource,
    output: NegotiatedOutput,
  ): Promise<void> {
    const list = { headers: contentType(output), items, metadata, output: this.outputContext(resource, output) }
    await respondList(context, list, this.#parts)
  }
}

/** The header of an answer in this form. */
export function contentType({ representation, stream }: NegotiatedOutput): { 'content-type': string } {
  return { 'content-type': responseContentType(representation, { stream }) }
}
