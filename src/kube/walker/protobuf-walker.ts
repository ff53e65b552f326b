/**
 * The wire walker on Kubernetes protobuf. Lists are split, and objects told apart, by what all of them have in common:
 * metadata is field 1, the items of a list are field 2. Paths need the schema; of a kind that it does not know only the
 * metadata can be reached.
 */

import { ProtoReader } from '../../protobuf/reader.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import { planOf } from '../codec/plan.ts'
import { joinWatchEvent, splitWatchEvent } from '../codec/watch-event.ts'
import { readEnvelope, writeEnvelope } from '../envelope.ts'
import type { ListMeta, WatchEventType } from '../objects.ts'
import { presentFields } from '../present-fields.ts'
import { messageType } from '../schema/schema.ts'
import { findField, findMessage, type Occurrence, requireBytes } from './protobuf-fields.ts'
import { editFields, META_PACKAGE, planOfType, readField, readIdentity } from './protobuf-object.ts'
import { asBuffer, SpliceList, varint } from './splices.ts'
import {
  type DocumentType,
  type DocumentWalker,
  type EventParts,
  type FieldEdit,
  type FieldPath,
  type ItemChange,
  itemTypeOf,
  type ListItem,
  type ObjectIdentity,
} from './walker.ts'

const itemsField = 2
const envelopeMagicBytes = 4
const envelopeRawField = 2

/** As ListMeta, with a count that may exceed what a number holds. */
type WireListMeta = Omit<ListMeta, 'remainingItemCount'> & { remainingItemCount?: number | bigint }

interface Opened {
  readonly type: DocumentType
  readonly bytes: Buffer
  /** The field of the envelope that holds the object; undefined in an empty envelope. */
  readonly raw: Occurrence | undefined
  /** A view of the object itself. */
  readonly content: Buffer
}

class ProtobufListItem implements ListItem {
  readonly type: DocumentType
  readonly #list: ProtoReader
  readonly #place: Occurrence
  #bytes: Buffer | undefined

  constructor(list: ProtoReader, place: Occurrence, type: DocumentType) {
    this.#list = list
    this.#place = place
    this.type = type
  }

  get identity(): ObjectIdentity {
    return readIdentity(this.#list, this.#place.valueStart, this.#place.end)
  }

  get bytes(): Buffer {
    this.#bytes ??= this.#list.bytes.subarray(this.#place.valueStart, this.#place.end)
    return this.#bytes
  }

  read(path: FieldPath): unknown {
    return readField(this.bytes, planOfType(this.type), path)
  }

  edit(edits: readonly FieldEdit[]): Uint8Array {
    return editFields(this.bytes, planOfType(this.type), edits)
  }

  toDocument(): Uint8Array {
    return writeEnvelope(this.type.apiVersion, this.type.kind, (writer) => writer.bytes(this.bytes))
  }
}

class ProtobufWalker implements DocumentWalker {
  typeOf(document: Uint8Array): DocumentType {
    const { apiVersion, kind } = readEnvelope(document)
    return { apiVersion, kind }
  }

  identityOf(document: Uint8Array): ObjectIdentity {
    const { content } = open(document)
    return readIdentity(new ProtoReader(content), 0, content.length)
  }

  read(document: Uint8Array, path: FieldPath): unknown {
    const { type, content } = open(document)
    return readField(content, planOfType(type), path)
  }

  edit(document: Uint8Array, edits: readonly FieldEdit[]): Uint8Array {
    const { type, bytes, content, raw } = open(document)
    const edited = editFields(content, planOfType(type), edits)
    if (raw === undefined || edited === content) return document
    const splices = new SpliceList(bytes)
    replaceMessage(splices, raw, edited)
    return splices.apply() ?? document
  }

  listMeta(document: Uint8Array): ListMeta {
    const plan = planOf(messageType(`${META_PACKAGE}.PartialObjectMetadataList`))
    const metadata = (readField(open(document).content, plan, ['metadata']) ?? {}) as WireListMeta
    const { resourceVersion, continue: next, remainingItemCount } = metadata
    return presentFields({
      resourceVersion,
      continue: next,
      remainingItemCount: remainingItemCount === undefined ? undefined : Number(remainingItemCount),
    })
  }

  items(document: Uint8Array): ListItem[] {
    const list = open(document)
    const type = listItemType(list.type)
    const reader = new ProtoReader(list.bytes)
    return findItems(list).map((place) => new ProtobufListItem(reader, place, type))
  }

  mapItems(document: Uint8Array, change: ItemChange): Uint8Array {
    const list = open(document)
    const type = listItemType(list.type)
    const { bytes, raw } = list
    if (raw === undefined) return document
    const reader = new ProtoReader(bytes)
    const splices = new SpliceList(bytes)
    splices.withinLength(raw.lengthStart, raw.valueStart, raw.end, () => {
      for (const place of findItems(list)) {
        const changed = change(new ProtobufListItem(reader, place, type))
        if (changed === null) splices.remove(place.tagStart, place.end)
        else if (changed !== undefined) replaceMessage(splices, place, changed)
      }
    })
    return splices.apply() ?? document
  }

  readEvent(frame: Uint8Array): EventParts {
    return splitWatchEvent(frame)
  }

  writeEvent(type: WatchEventType, object: Uint8Array): Uint8Array {
    return joinWatchEvent(type, object)
  }
}

export const protobufWalker: DocumentWalker = new ProtobufWalker()

function open(document: Uint8Array): Opened {
  const bytes = asBuffer(document)
  const { apiVersion, kind, contentType, contentEncoding } = readEnvelope(bytes)
  if (contentType !== '' || contentEncoding !== '') {
    throw new WireError('bad-value', `the envelope of the ${kind} holds something else than protobuf`)
  }
  const raw = findMessage(new ProtoReader(bytes), envelopeMagicBytes, bytes.length, envelopeRawField)
  const content = raw === undefined ? bytes.subarray(bytes.length) : bytes.subarray(raw.valueStart, raw.end)
  return { type: { apiVersion, kind }, bytes, raw, content }
}

function replaceMessage(splices: SpliceList, { lengthStart, valueStart, end }: Occurrence, content: Uint8Array): void {
  splices.replace(lengthStart, valueStart, varint(content.length))
  splices.replace(valueStart, end, content)
}

function listItemType(list: DocumentType): DocumentType {
  const type = itemTypeOf(list)
  if (type.kind !== '') return type
  throw new WireError('unknown-kind', `a ${list.kind || 'document without a kind'} is no list of objects of one kind`)
}

function findItems({ bytes, raw }: Opened): readonly Occurrence[] {
  if (raw === undefined) return []
  const { occurrences } = findField(new ProtoReader(bytes), raw.valueStart, raw.end, itemsField)
  for (const item of occurrences) requireBytes(item, 'items')
  return occurrences
}
