/**
 * What a feed has, in the representation that a client negotiated. Nothing is left out in silence: what cannot be said in it
 * without a loss is an InexactError, and whoever asked goes to the API server for it, if there is one.
 */
import { type BodyForm, bodyForm, encodeJson } from '../../kube/codec/encode-body.ts'
import { printJson } from '../../kube/codec/json.ts'
import { encodeProtobuf } from '../../kube/codec/object-codec.ts'
import { DOCUMENT_FORMATS } from '../../kube/document-format.ts'
import { envelopeAround, readEnvelope } from '../../kube/envelope.ts'
import type { KubeObject, ListMeta, ObjectMeta, WatchEventType } from '../../kube/objects.ts'
import type { Representation } from '../../kube/representation.ts'
import { findKind } from '../../kube/schema/schema.ts'
import type { Status } from '../../kube/status/status.ts'
import { renderTable } from '../../kube/tables/table.ts'
import type { KeptObject } from './kept-object.ts'

/** What the objects of a collection are. */
export interface CollectionType {
  readonly apiVersion: string
  readonly kind: string
  readonly listKind: string
  /** No list of them was seen yet: this is what most call it. */
  readonly isListKindGuessed?: boolean | undefined
}

export interface Output {
  readonly type: CollectionType
  readonly representation: Representation
  readonly pretty: boolean
  readonly nowMs: number
}

export class InexactError extends Error {
  override readonly name = 'InexactError'

  constructor({ metadata }: KeptObject, { type, representation }: Output) {
    super(`${type.kind} ${metadata.name} cannot be shown as ${representation.encoding} without a loss`)
  }
}

/** One object as a whole answer. */
export function objectBody(object: KeptObject, output: Output): Buffer {
  const { representation, pretty } = output
  const form = bodyForm(representation.encoding, pretty)
  if (representation.as === 'Object' && form === 'protobuf') return inEncoding(object, 'protobuf', output)
  if (representation.as === 'Object') return reformed(inEncoding(object, 'json', output), form)
  return encodeJson(printJson(rendered([object], undefined, output, true)), form)
}

/** One event of a watch. Only the first event of a Table describes its columns. */
export function eventFrame(type: WatchEventType, object: KeptObject, output: Output, isFirst = false): Buffer {
  const { representation } = output
  const format = DOCUMENT_FORMATS[representation.encoding === 'protobuf' ? 'protobuf' : 'json']
  const shown =
    representation.as === 'Object'
      ? inEncoding(object, format.encoding, output)
      : encoded(rendered([object], undefined, output, isFirst), format.encoding)
  return asBuffer(format.encodeFrame(format.walker.writeEvent(type, shown)))
}

/** An event whose object is made for the occasion. */
function madeFrame(type: 'BOOKMARK' | 'ERROR', object: KubeObject, { representation }: Output): Buffer {
  const format = DOCUMENT_FORMATS[representation.encoding === 'protobuf' ? 'protobuf' : 'json']
  return asBuffer(format.encodeFrame(format.walker.writeEvent(type, encoded(object, format.encoding))))
}

export function errorFrame(status: Status, output: Output): Buffer {
  return madeFrame('ERROR', status as unknown as KubeObject, output)
}

const initialEventsEnd = { 'k8s.io/initial-events-end': 'true' }

/** Says how far a watch has come, and perhaps that its initial events end here. */
export function bookmarkFrame(resourceVersion: string, output: Output, endsInitialEvents = false): Buffer {
  const { type, representation } = output
  const metadata: ObjectMeta = endsInitialEvents
    ? { resourceVersion, annotations: initialEventsEnd }
    : { resourceVersion }
  const object: KubeObject = { kind: type.kind, apiVersion: type.apiVersion, metadata }
  return madeFrame(
    'BOOKMARK',
    representation.as === 'Object' ? object : renderedValues([object], undefined, output, false),
    output,
  )
}

/** A whole list, in pieces. Throws before the first one where some object cannot be said. */
export function listPieces(objects: readonly KeptObject[], metadata: ListMeta, output: Output): Iterable<Buffer> {
  const { representation, pretty, type } = output
  const form = bodyForm(representation.encoding, pretty)
  if (representation.as !== 'Object') return [encodeJson(printJson(rendered(objects, metadata, output, true)), form)]
  const documents = objects.map((object) => inEncoding(object, form === 'protobuf' ? 'protobuf' : 'json', output))
  if (form === 'protobuf') return protobufPieces(documents, metadata, type)
  const pieces = jsonPieces(documents, metadata, type)
  return form === 'compact' ? pieces : [reformed(Buffer.concat([...pieces]), form)]
}

function* jsonPieces(documents: readonly Buffer[], metadata: ListMeta, type: CollectionType): Generator<Buffer> {
  const { apiVersion, kind, listKind } = type
  const head = printJson({ kind: listKind, apiVersion, metadata })
  // Items of built-in kinds leave their type away; those of others have theirs.
  const prefix = findKind(apiVersion, kind) === undefined ? undefined : Buffer.from(typePrefix(type))
  yield Buffer.from(`${head.slice(0, -1)},"items":[`)
  for (const [index, document] of documents.entries()) {
    if (index > 0) yield comma
    const isTyped = prefix !== undefined && document.subarray(0, prefix.length).equals(prefix)
    if (isTyped) yield openBrace
    yield isTyped ? document.subarray(prefix.length) : document
  }
  yield endOfList
}

const comma = Buffer.from(',')
const openBrace = Buffer.from('{')
const endOfList = Buffer.from(']}\n')

function typePrefix({ kind, apiVersion }: CollectionType): string {
  return `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`
}

/** Field 2 of every list holds its items. */
const itemTag = 0x12

function* protobufPieces(documents: readonly Buffer[], metadata: ListMeta, type: CollectionType): Generator<Buffer> {
  const { apiVersion, listKind: kind } = type
  const empty = encodeProtobuf({ kind, apiVersion, metadata }).bytes
  const { rawStart, rawEnd } = readEnvelope(empty)
  const items = documents.map((document) => {
    const envelope = readEnvelope(document)
    return document.subarray(envelope.rawStart, envelope.rawEnd)
  })
  const heads = items.map((item) => itemHead(item.length))
  const itemBytes = items.reduce((sum, item, index) => sum + item.length + (heads[index]?.length ?? 0), 0)
  const { head, tail } = envelopeAround(apiVersion, kind, rawEnd - rawStart + itemBytes)
  yield Buffer.concat([head, empty.subarray(rawStart, rawEnd)])
  for (const [index, item] of items.entries()) {
    yield heads[index] as Buffer
    yield item
  }
  yield tail
}

function itemHead(bytes: number): Buffer {
  const head = [itemTag]
  let rest = bytes
  for (; rest > 0x7f; rest >>>= 7) head.push((rest & 0x7f) | 0x80)
  return Buffer.from([...head, rest])
}

/** A Table, or metadata alone. */
function rendered(
  objects: readonly KeptObject[],
  metadata: ListMeta | undefined,
  output: Output,
  withHeaders: boolean,
): KubeObject {
  const isTable = output.representation.as === 'Table'
  const values = objects.map((object) => (isTable ? object.value() : { metadata: metadataOf(object) }))
  return renderedValues(values, metadata, output, withHeaders)
}

function renderedValues(
  values: readonly KubeObject[],
  listMeta: ListMeta | undefined,
  { type, representation, nowMs }: Output,
  withHeaders: boolean,
): KubeObject {
  const { kind, apiVersion } = type
  if (representation.as === 'Table') {
    const { version, includeObject } = representation
    return renderTable(values, { kind, apiVersion, version, includeObject, listMeta, nowMs, withHeaders }) as never
  }
  const metaVersion = `meta.k8s.io/${representation.as === 'Object' ? 'v1' : representation.version}`
  const partial = values.map((value) => ({
    kind: 'PartialObjectMetadata',
    apiVersion: metaVersion,
    metadata: value.metadata ?? {},
  }))
  if (listMeta === undefined) return partial[0] as KubeObject
  const items = partial.map(({ metadata }) => ({ metadata }))
  return { kind: 'PartialObjectMetadataList', apiVersion: metaVersion, metadata: listMeta, items }
}

function metadataOf(object: KeptObject): ObjectMeta {
  return object.read(['metadata']) ?? {}
}

function inEncoding(object: KeptObject, encoding: 'json' | 'protobuf', output: Output): Buffer {
  const document = object.in(encoding)
  if (document === undefined) throw new InexactError(object, output)
  return document
}

function encoded(object: KubeObject, encoding: 'json' | 'protobuf'): Buffer {
  return encoding === 'protobuf' ? encodeProtobuf(object).bytes : Buffer.from(printJson(object))
}

const lineFeed = Buffer.from('\n')

function reformed(json: Buffer, form: BodyForm): Buffer {
  return form === 'compact' ? Buffer.concat([json, lineFeed]) : encodeJson(json.toString('utf8'), form)
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
