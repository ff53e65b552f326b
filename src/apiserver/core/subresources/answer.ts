/** Answers whose object is made for the occasion and lies in no store: a Scale, a Status, a ComponentStatus. */

import { encodeBody } from '../../../kube/codec/encode-body.ts'
import { type NegotiatedOutput, negotiateOutput } from '../../../kube/negotiation.ts'
import { BUILT_IN_COLLECTION, BUILT_IN_OBJECT, type RouteOffer } from '../../../kube/negotiation-offers.ts'
import type { KubeList, KubeObject } from '../../../kube/objects.ts'
import { type Representation, responseContentType } from '../../../kube/representation.ts'
import { renderTable } from '../../../kube/tables/table.ts'
import { respond } from '../../answers/respond.ts'
import { type ExpectedKind, inOrder } from '../../objects/decode-body.ts'
import type { RequestContext } from '../../request/handler.ts'

/** Made before anything is written: a client that takes nothing we have must not have changed anything. */
export class Answer {
  readonly #context: RequestContext
  readonly #output: NegotiatedOutput
  readonly #nowMs: number

  private constructor(context: RequestContext, offer: RouteOffer, nowMs: number) {
    const { exchange, query } = context
    this.#context = context
    this.#nowMs = nowMs
    this.#output = negotiateOutput(
      {
        accept: exchange.headers.get('accept'),
        userAgent: exchange.headers.get('user-agent'),
        pretty: query.first('pretty'),
        includeObject: query.first('includeObject'),
        stream: false,
      },
      offer,
    )
  }

  static forObject(context: RequestContext, nowMs: number): Answer {
    return new Answer(context, BUILT_IN_OBJECT, nowMs)
  }

  static forList(context: RequestContext, nowMs: number): Answer {
    return new Answer(context, BUILT_IN_COLLECTION, nowMs)
  }

  async send(status: number, object: KubeObject, expected: ExpectedKind): Promise<void> {
    const ordered = inOrder(object, expected)
    await this.#respond(status, this.#rendered([ordered], expected, undefined) ?? ordered)
  }

  async sendList(list: KubeList, expected: ExpectedKind): Promise<void> {
    await this.#respond(200, this.#rendered(list.items, expected, list) ?? (list as unknown as KubeObject))
  }

  /** A Status is never shown as anything else, whatever the client prefers. */
  async sendStatus(status: number, body: object): Promise<void> {
    const { encoding } = this.#output.representation
    await this.#respondAs(status, body as KubeObject, { as: 'Object', encoding })
  }

  /** undefined where the object is wanted as it is. */
  #rendered(objects: readonly KubeObject[], { kind, apiVersion }: ExpectedKind, list: KubeList | undefined) {
    const { representation } = this.#output
    if (representation.as === 'Table') {
      const { includeObject, version } = representation
      const table = renderTable(objects, {
        kind,
        apiVersion,
        includeObject,
        version,
        nowMs: this.#nowMs,
        withHeaders: true,
        listMeta: list?.metadata,
      })
      return table as unknown as KubeObject
    }
    if (representation.as === 'Object' || representation.as === 'APIGroupDiscoveryList') return undefined
    const metaVersion = `meta.k8s.io/${representation.version}`
    const metadata = objects.map((object) => object.metadata ?? {})
    if (representation.as === 'PartialObjectMetadata') {
      return { kind: representation.as, apiVersion: metaVersion, metadata: metadata[0] ?? {} }
    }
    const items = metadata.map((own) => ({ metadata: own }))
    return { kind: representation.as, apiVersion: metaVersion, metadata: list?.metadata ?? {}, items } as KubeObject
  }

  async #respond(status: number, body: KubeObject): Promise<void> {
    await this.#respondAs(status, body, this.#output.representation)
  }

  async #respondAs(status: number, body: KubeObject, representation: Representation): Promise<void> {
    const headers = { 'content-type': responseContentType(representation, { stream: false }) }
    await respond(this.#context, status, headers, encodeBody(body, representation.encoding, this.#output.pretty))
  }
}
