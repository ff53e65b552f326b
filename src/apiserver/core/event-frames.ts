/**
 * Watch events as they are sent. A change is told to all its watchers, so each frame of it is made once and kept for a
 * while; frames of all events would be a second copy of everything that is watched.
 */

import { encodeJson } from '../../kube/codec/encode-body.ts'
import { printJson } from '../../kube/codec/json.ts'
import { encodeProtobuf } from '../../kube/codec/object-codec.ts'
import { joinWatchEvent } from '../../kube/codec/watch-event.ts'
import type { KubeObject, WatchEventType } from '../../kube/objects.ts'
import { encodeLengthDelimited } from '../../kube/watch/frames.ts'
import type { Item } from '../objects/item.ts'
import type { OutputContext } from './output.ts'
import type { ReadyItem, RenderAsker, Renderer } from './renderer.ts'
import { objectParts } from './shape.ts'

/** As many events as the store reports at once, and a moment's worth of large ones. */
const MAX_KEPT_EVENTS = 512
const MAX_KEPT_FRAME_BYTES = 8 * 1024 * 1024

const msPerSecond = 1000
const endOfEvent = Buffer.from('}\n')

/** What a watcher is told: the object as it is, or as it last was, under the version at which that happened. */
export interface ItemEvent {
  readonly type: WatchEventType
  readonly item: Item
  readonly revision: number
}

interface KeptEvent {
  readonly revision: number
  /** The item under that version. */
  readonly told: Item
  readonly frames: Map<string, Buffer>
  /** Frames that are being made: many watchers ask for the same one in one breath. */
  readonly coming: Map<string, Promise<Buffer>>
}

/** The frames of watch events in every form that somebody wants: each is made once, and kept while others may ask for it. */
export class EventFrames {
  readonly #renderer: Renderer
  /** The oldest first. */
  readonly #kept = new Map<Item, KeptEvent>()
  #bytes = 0

  constructor(renderer: Renderer) {
    this.#renderer = renderer
  }

  /** One watch event, ready to be written to the stream: at once, where that is not long. */
  frame(event: ItemEvent, output: OutputContext, isFirst: boolean, asker: RenderAsker): Buffer | Promise<Buffer> {
    const kept = this.#eventOf(event)
    const key = keyOf(event, output, isFirst)
    const known = kept.frames.get(key) ?? kept.coming.get(key)
    if (known !== undefined) return known
    if (this.#isShort(kept.told, output)) {
      const ready = this.#renderer.readyNow(kept.told, output)
      return this.#keep(kept, key, joined(event.type, shown(ready, output, isFirst), output))
    }
    const coming = this.#make(event.type, kept.told, output, isFirst, asker).finally(() => kept.coming.delete(key))
    kept.coming.set(key, coming)
    return coming.then((frame) => this.#keep(kept, key, frame))
  }

  #isShort(told: Item, output: OutputContext): boolean {
    const { as, encoding } = output.representation
    if (!this.#renderer.isReady(told, output)) return false
    return !told.isLarge || as === 'Object' || encoding !== 'protobuf'
  }

  async #make(
    type: WatchEventType,
    told: Item,
    output: OutputContext,
    isFirst: boolean,
    asker: RenderAsker,
  ): Promise<Buffer> {
    const { as, encoding } = output.representation
    const ready = await this.#renderer.ready(told, output, asker)
    if (as === 'Object' || encoding !== 'protobuf') return joined(type, shown(ready, output, isFirst), output)
    const json = objectParts(ready.item, output, ready.row, isFirst)
    return joined(type, [await this.#renderer.encode(json, 'protobuf', asker)], output)
  }

  #eventOf({ item, revision }: ItemEvent): KeptEvent {
    let kept = this.#kept.get(item)
    if (kept?.revision !== revision) {
      this.#forget(item)
      const told = item.revision === revision ? item : item.at(revision)
      kept = { revision, told, frames: new Map(), coming: new Map() }
      this.#kept.set(item, kept)
    }
    return kept
  }

  #keep(kept: KeptEvent, key: string, frame: Buffer): Buffer {
    if (!kept.frames.has(key)) {
      kept.frames.set(key, frame)
      this.#bytes += frame.length
    }
    for (const [oldest, event] of this.#kept) {
      if (event === kept || (this.#kept.size <= MAX_KEPT_EVENTS && this.#bytes <= MAX_KEPT_FRAME_BYTES)) break
      this.#forget(oldest)
    }
    return frame
  }

  #forget(item: Item): void {
    for (const frame of this.#kept.get(item)?.frames.values() ?? []) this.#bytes -= frame.length
    this.#kept.delete(item)
  }
}

/** Only the first event of a Table stream carries the columns, and ages differ from second to second. */
function keyOf({ type }: ItemEvent, { resource, representation, nowMs }: OutputContext, isFirst: boolean): string {
  const { as, encoding } = representation
  const shape = `${type} ${resource.apiVersion} ${as} ${encoding}`
  if (as === 'Object') return shape
  if (as !== 'Table') return `${shape} ${representation.version}`
  const second = Math.floor(nowMs / msPerSecond)
  return `${shape} ${representation.version} ${representation.includeObject} ${isFirst} ${second}`
}

/** The object of an event, encoded. */
function shown({ item, row }: ReadyItem, output: OutputContext, isFirst: boolean): Buffer[] {
  const { as, encoding } = output.representation
  if (encoding !== 'protobuf') return objectParts(item, output, row, isFirst)
  if (as === 'Object') return [item.protobuf]
  return [encodeJson(Buffer.concat(objectParts(item, output, row, isFirst)).toString('utf8'), 'protobuf')]
}

function joined(type: WatchEventType, object: readonly Buffer[], { representation }: OutputContext): Buffer {
  if (representation.encoding === 'protobuf') return lengthDelimited(joinWatchEvent(type, object[0] as Buffer))
  return Buffer.concat([Buffer.from(`{"type":"${type}","object":`), ...object, endOfEvent])
}

/** An event whose object is made for the occasion: a bookmark, an error. */
export function encodedFrame(type: WatchEventType, object: KubeObject, output: OutputContext): Buffer {
  const isProtobuf = output.representation.encoding === 'protobuf'
  return joined(type, [isProtobuf ? encodeProtobuf(object).bytes : Buffer.from(printJson(object))], output)
}

function lengthDelimited(message: Buffer): Buffer {
  const frame = encodeLengthDelimited(message)
  return Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength)
}
