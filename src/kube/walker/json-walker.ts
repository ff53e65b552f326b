/** The wire walker on JSON text. */

import { WireError } from '../../protobuf/wire-error.ts'
import { printJson } from '../codec/json.ts'
import { isEventType } from '../codec/watch-event.ts'
import type { ListMeta, WatchEventType } from '../objects.ts'
import { JsonEdit, removeParts, skipPart } from './json-edit.ts'
import { type ItemOutline, outlineList, outlineObject, readIdentity, readListMeta } from './json-outline.ts'
import { JsonScanner } from './json-scanner.ts'
import { asBuffer, SpliceList } from './splices.ts'
import {
  type DocumentType,
  type DocumentWalker,
  type EventParts,
  type FieldEdit,
  type FieldPath,
  FieldProbe,
  type ItemChange,
  itemTypeOf,
  type ListItem,
  type ObjectIdentity,
} from './walker.ts'

const typeKey = Buffer.from('type')
const objectKey = Buffer.from('object')
const lineFeed = 0x0a
const blank = 0x20

class JsonListItem implements ListItem {
  readonly type: DocumentType
  readonly #list: Buffer
  readonly #outline: ItemOutline
  #bytes: Buffer | undefined

  constructor(list: Buffer, outline: ItemOutline, expectedType: DocumentType) {
    this.#list = list
    this.#outline = outline
    this.type = {
      apiVersion: outline.apiVersion || expectedType.apiVersion,
      kind: outline.kind || expectedType.kind,
    }
  }

  get identity(): ObjectIdentity {
    return readIdentity(this.#list, this.#outline.metadata)
  }

  get bytes(): Buffer {
    const { valueStart, valueEnd } = this.#outline.part
    this.#bytes ??= this.#list.subarray(valueStart, valueEnd)
    return this.#bytes
  }

  read(path: FieldPath): unknown {
    return jsonWalker.read(this.bytes, path)
  }

  edit(edits: readonly FieldEdit[]): Uint8Array {
    return jsonWalker.edit(this.bytes, edits)
  }

  toDocument(): Uint8Array {
    const { apiVersion, kind } = this.type
    if (this.#outline.kind !== '' || this.#outline.apiVersion !== '') {
      return this.edit([
        { path: ['kind'], replace: () => kind },
        { path: ['apiVersion'], replace: () => apiVersion },
      ])
    }
    const head = Buffer.from(`{"kind":${printJson(kind)},"apiVersion":${printJson(apiVersion)}`)
    const isEmpty = !new JsonScanner(this.bytes).firstMember()
    return Buffer.concat([head, Buffer.from(isEmpty ? '' : ','), this.bytes.subarray(1)])
  }
}

class JsonWalker implements DocumentWalker {
  typeOf(document: Uint8Array): DocumentType {
    const { apiVersion, kind } = outlineObject(asBuffer(document))
    return { apiVersion, kind }
  }

  identityOf(document: Uint8Array): ObjectIdentity {
    const bytes = asBuffer(document)
    return readIdentity(bytes, outlineObject(bytes).metadata)
  }

  read(document: Uint8Array, path: FieldPath): unknown {
    const probe = new FieldProbe(path)
    new JsonEdit(asBuffer(document), probe).run()
    return probe.found
  }

  edit(document: Uint8Array, edits: readonly FieldEdit[]): Uint8Array {
    return edits.reduce((bytes, edit) => new JsonEdit(asBuffer(bytes), edit).run() ?? bytes, document)
  }

  listMeta(document: Uint8Array): ListMeta {
    const bytes = asBuffer(document)
    return readListMeta(bytes, outlineObject(bytes).metadata)
  }

  items(document: Uint8Array): ListItem[] {
    return this.#split(asBuffer(document)).items
  }

  mapItems(document: Uint8Array, change: ItemChange): Uint8Array {
    const bytes = asBuffer(document)
    const { outlines, items } = this.#split(bytes)
    const changes = items.map((item) => change(item))
    const splices = new SpliceList(bytes)
    const parts = outlines.map(({ part }) => part)
    removeParts(splices, parts, (index) => {
      const changed = changes[index]
      const part = parts[index]
      if (changed && part !== undefined) splices.replace(part.valueStart, part.valueEnd, changed)
      return changed !== null
    })
    return splices.apply() ?? document
  }

  readEvent(frame: Uint8Array): EventParts {
    const bytes = asBuffer(frame)
    const scanner = new JsonScanner(bytes)
    let type: unknown
    let object: Buffer | undefined
    for (let more = scanner.firstMember(); more; more = scanner.nextMember()) {
      const isObject = scanner.keyIs(objectKey)
      if (scanner.keyIs(typeKey)) type = scanner.readValue()
      else {
        const { valueStart, valueEnd } = skipPart(scanner, scanner.keyStart)
        if (isObject) object = bytes.subarray(valueStart, valueEnd)
      }
    }
    scanner.expectEnd()
    return { type: eventType(type), object: object ?? noObject() }
  }

  writeEvent(type: WatchEventType, object: Uint8Array): Uint8Array {
    const frame = Buffer.concat([Buffer.from(`{"type":"${type}","object":`), object, Buffer.from('}')])
    // A frame is one line. Strings in JSON have no raw line feeds, so each one is white space between tokens.
    for (let at = frame.indexOf(lineFeed); at !== -1; at = frame.indexOf(lineFeed, at)) frame[at] = blank
    return frame
  }

  #split(bytes: Buffer): { outlines: ItemOutline[]; items: JsonListItem[] } {
    const list = outlineList(bytes)
    if (list.items === undefined) throw new WireError('bad-value', `no list: the ${list.kind} has no "items"`)
    const itemType = itemTypeOf(list)
    return { outlines: list.items, items: list.items.map((item) => new JsonListItem(bytes, item, itemType)) }
  }
}

export const jsonWalker: DocumentWalker = new JsonWalker()

function eventType(type: unknown): WatchEventType {
  if (typeof type === 'string' && isEventType(type)) return type
  throw new WireError('bad-value', `${printJson(type ?? null).slice(0, 32)} is no watch event type`)
}

function noObject(): never {
  throw new WireError('bad-value', 'a watch event without an object')
}
