/**
 * Items in the form that a client asked for. Small ones are worked on here and now, large ones on the thread for heavy
 * work. Methods that end in `Now` need no wait where `isReady`; whoever has many small items spares a promise for each.
 */

import { type BodyForm, bodyForm, encodeBody, encodeJson } from '../../kube/codec/encode-body.ts'
import { printJson } from '../../kube/codec/json.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Encoding } from '../../kube/representation.ts'
import { rowHead } from '../../kube/tables/table.ts'
import { type HeavyTask, renderedOf } from '../heavy/heavy-task.ts'
import type { HeavyWork } from '../heavy/heavy-work.ts'
import { keepServed, knownItem, servedItem } from '../objects/conversion/served-item.ts'
import { type Item, MAX_INLINE_OBJECT_BYTES } from '../objects/item.ts'
import type { OutputContext } from './output.ts'

/** A byte of an object takes as long in YAML as this many in other encodings. */
const YAML_OUTPUT_WEIGHT = 4

const noRow = Buffer.alloc(0)

/** Who waits for work on another thread, and until when. */
export interface RenderAsker {
  readonly caller: string
  readonly signal: AbortSignal
}

/** An item in the version that is served, and the head of its row where a Table is wanted. */
export interface ReadyItem {
  readonly item: Item
  readonly row: Buffer
}

export class Renderer {
  readonly #heavy: Pick<HeavyWork, 'run'>

  constructor(heavy: Pick<HeavyWork, 'run'>) {
    this.#heavy = heavy
  }

  /** Whether `readyNow` takes no longer for this item than one may work at a time. */
  isReady(stored: Item, output: OutputContext): boolean {
    if (!stored.isLarge) return true
    const { representation, resource } = output
    const item = knownItem(stored, resource)
    if (item === undefined || representation.as === 'Table') return false
    return representation.as !== 'Object' || representation.encoding !== 'protobuf' || item.hasProtobuf
  }

  /** The item in the version and form that the client asked for, made here and now: see `isReady`. */
  readyNow(stored: Item, { representation, resource, nowMs }: OutputContext): ReadyItem {
    const item = servedItem(stored, resource)
    if (representation.as !== 'Table') return { item, row: noRow }
    return { item, row: Buffer.from(rowHead(item.object(), resource.apiVersion, resource.kind, nowMs)) }
  }

  /** What `readyNow` gives, with all that takes long done on another thread, and kept with the item. */
  async ready(stored: Item, output: OutputContext, asker: RenderAsker): Promise<ReadyItem> {
    if (this.isReady(stored, output)) return this.readyNow(stored, output)
    const { representation, resource, nowMs } = output
    const { apiVersion, kind } = resource
    const item =
      knownItem(stored, resource) ??
      keepServed(stored, apiVersion, await this.#run({ step: 'convert', json: stored.json, apiVersion }, asker))
    if (representation.as === 'Table') {
      return { item, row: await this.#run({ step: 'row', json: item.json, kind, apiVersion, nowMs }, asker) }
    }
    if (representation.as === 'Object' && representation.encoding === 'protobuf' && !item.hasProtobuf) {
      item.keepProtobuf(await this.encode([item.json], 'protobuf', asker))
    }
    return { item, row: noRow }
  }

  /** Printed JSON in another form; on another thread where it is much. */
  async encode(json: readonly Buffer[], form: BodyForm, asker: RenderAsker): Promise<Buffer> {
    const whole = json.length === 1 ? (json[0] as Buffer) : Buffer.concat(json)
    if (isLight(whole.length, form)) return encodeJson(whole.toString('utf8'), form)
    return await this.#run({ step: 'encode', json: whole, form }, asker)
  }

  /** The body of an answer that is made for the occasion and lies in no store. */
  async body(object: KubeObject, encoding: Encoding, pretty: boolean, asker: RenderAsker): Promise<Buffer> {
    const json = printJson(object)
    const form = bodyForm(encoding, pretty)
    if (form === 'compact') return encodeJson(json, form)
    if (form === 'protobuf' && isLight(json.length, form)) return encodeBody(object, encoding, pretty)
    return await this.encode([Buffer.from(json)], form, asker)
  }

  async #run(task: HeavyTask, { caller, signal }: RenderAsker): Promise<Buffer> {
    return renderedOf(await this.#heavy.run(task, caller, signal))
  }
}

/** Whether so much JSON may be encoded here and now. */
export function isLight(jsonBytes: number, form: BodyForm): boolean {
  if (form === 'compact') return true
  return jsonBytes * (form === 'yaml' ? YAML_OUTPUT_WEIGHT : 1) <= MAX_INLINE_OBJECT_BYTES
}
