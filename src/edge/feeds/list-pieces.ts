/**
 * A list of what a feed has, in the representation that a client negotiated, made in steps: first whether all of it can be said,
 * then piece by piece as it is taken. Together the pieces are what would be made of the list as a whole.
 */
import { type BodyForm, bodyForm } from '../../kube/codec/encode-body.ts'
import { printJson } from '../../kube/codec/json.ts'
import { encodeEntries, type ListText, listText } from '../../kube/codec/list-text.ts'
import { encodeProtobuf } from '../../kube/codec/object-codec.ts'
import { envelopeAround, readEnvelope } from '../../kube/envelope.ts'
import type { KubeObject, ListMeta } from '../../kube/objects.ts'
import { findKind } from '../../kube/schema/schema.ts'
import { notAcceptable } from '../../kube/status/request-errors.ts'
import { tableHead, tableOrder } from '../../kube/tables/table.ts'
import { sortedSteps } from '../../runtime/sorting.ts'
import type { Steps } from '../../runtime/steps.ts'
import type { KeptObject } from './kept-object.ts'
import { checkYamlObject, inEncoding, metaVersionOf, type Output, rendered } from './representing.ts'

/** What a list in YAML may be long in JSON: YAML takes ten times as long to make, and whoever has so much can read JSON. */
export const MAX_YAML_LIST_BYTES = 8 * 1024 * 1024

/** Undefined where the next piece takes another step. */
export type Pieces = Generator<Buffer | undefined, void, void>

/** Throws an InexactError where some object cannot be said, and an ApiError for more YAML than there is time for. */
export function* listPieces(objects: readonly KeptObject[], metadata: ListMeta, output: Output): Steps<Pieces> {
  const { representation, pretty } = output
  const form = bodyForm(representation.encoding, pretty)
  if (form === 'protobuf') return yield* protobufList(objects, metadata, output)
  if (representation.as === 'Object') yield* checkExact(objects, output)
  const entry = entryMaker(output)
  if (form === 'yaml') yield* checkYaml(objects, entry)
  const ordered = yield* inTableOrder(objects, output)
  const text = listTextOf(metadata, output, form)
  return textPieces(ordered, text, entry, (entries) => encodeEntries(text, entries, form))
}

function* checkExact(objects: readonly KeptObject[], output: Output): Steps<void> {
  for (const object of objects) {
    inEncoding(object, 'json', output)
    yield
  }
}

type Entry = (object: KeptObject) => Buffer

function* checkYaml(objects: readonly KeptObject[], entry: Entry): Steps<void> {
  let bytes = 0
  for (const object of objects) {
    const { length } = entry(object)
    checkYamlObject(length)
    bytes += length
    yield
  }
  if (bytes <= MAX_YAML_LIST_BYTES) return
  const why = `the list has ${bytes} bytes, and at most ${MAX_YAML_LIST_BYTES} are sent as application/yaml`
  throw notAcceptable(`${why}: ask for application/json, or for less by limit`)
}

/** Tables of some kinds have an order of their own. */
function* inTableOrder(objects: readonly KeptObject[], { representation, type }: Output): Steps<readonly KeptObject[]> {
  const order = representation.as === 'Table' ? tableOrder(type.apiVersion, type.kind) : undefined
  if (order === undefined) return objects
  const values: { readonly object: KeptObject; readonly value: KubeObject }[] = []
  for (const object of objects) {
    values.push({ object, value: object.value() })
    yield
  }
  return (yield* sortedSteps(values, (a, b) => order(a.value, b.value))).map(({ object }) => object)
}

function listTextOf(metadata: ListMeta, output: Output, form: Exclude<BodyForm, 'protobuf'>): ListText {
  const { representation, type } = output
  const { apiVersion, kind, listKind } = type
  const opened = (head: object, member: string): string => `${printJson(head).slice(0, -1)},"${member}":[`
  if (representation.as === 'Table') {
    const { version } = representation
    const head = tableHead({ kind, apiVersion, version, listMeta: metadata, withHeaders: true })
    return listText(opened(head, 'rows'), 'rows', form)
  }
  const listType =
    representation.as === 'Object'
      ? { kind: listKind, apiVersion }
      : { kind: 'PartialObjectMetadataList', apiVersion: metaVersionOf(representation) }
  return listText(opened({ ...listType, metadata }, 'items'), 'items', form)
}

const openBrace = Buffer.from('{')
const comma = Buffer.from(',')

/** One of a list, as compact JSON. */
function entryMaker(output: Output): Entry {
  const { representation, type } = output
  const { kind, apiVersion } = type
  if (representation.as === 'Table')
    return (object) => Buffer.from(printJson((rendered(object, output, false)['rows'] as unknown[])[0]))
  if (representation.as !== 'Object')
    return (object) => Buffer.from(printJson({ metadata: rendered(object, output, false).metadata }))
  // Items of built-in kinds leave their type away; those of others have theirs.
  if (findKind(apiVersion, kind) === undefined) return (object) => inEncoding(object, 'json', output)
  const prefix = Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`)
  return (object) => {
    const document = inEncoding(object, 'json', output)
    const isTyped = document.subarray(0, prefix.length).equals(prefix)
    return isTyped ? Buffer.concat([openBrace, document.subarray(prefix.length)]) : document
  }
}

function* textPieces(
  objects: readonly KeptObject[],
  text: ListText,
  entry: Entry,
  encoded: (entries: Buffer) => Buffer,
): Pieces {
  if (objects.length === 0) {
    yield text.empty
    return
  }
  let separator = text.head
  let gathered: Buffer[] = []
  let bytes = 0
  for (const [index, object] of objects.entries()) {
    const made = entry(object)
    bytes += made.length
    gathered.push(...(gathered.length > 0 ? [comma, made] : [made]))
    yield undefined
    if (bytes < text.pieceBytes && index < objects.length - 1) continue
    yield Buffer.concat([separator, encoded(Buffer.concat(gathered))])
    separator = text.separator
    gathered = []
    bytes = 0
  }
  yield text.tail
}

/** Field 2 of every list holds its items. */
const itemTag = 0x12

/** The length of a list stands before its items, so that all of them are looked at first, and made again where they were not kept. */
function* protobufList(objects: readonly KeptObject[], metadata: ListMeta, output: Output): Steps<Pieces> {
  let itemBytes = 0
  for (const object of objects) {
    const { length } = itemOf(object, output)
    itemBytes += itemHead(length).length + length
    yield
  }
  const { representation, type } = output
  const { apiVersion, kind } =
    representation.as === 'Object'
      ? { apiVersion: type.apiVersion, kind: type.listKind }
      : { apiVersion: metaVersionOf(representation), kind: 'PartialObjectMetadataList' }
  const empty = rawOf(encodeProtobuf({ kind, apiVersion, metadata }).bytes)
  const { head, tail } = envelopeAround(apiVersion, kind, empty.length + itemBytes)
  return protobufPieces(Buffer.concat([head, empty]), objects, output, Buffer.from(tail))
}

function itemOf(object: KeptObject, output: Output): Buffer {
  const isWhole = output.representation.as === 'Object'
  return rawOf(isWhole ? inEncoding(object, 'protobuf', output) : encodeProtobuf(rendered(object, output, false)).bytes)
}

function* protobufPieces(head: Buffer, objects: readonly KeptObject[], output: Output, tail: Buffer): Pieces {
  yield head
  for (const object of objects) {
    const item = itemOf(object, output)
    yield itemHead(item.length)
    yield item
  }
  yield tail
}

function rawOf(document: Buffer): Buffer {
  const { rawStart, rawEnd } = readEnvelope(document)
  return document.subarray(rawStart, rawEnd)
}

function itemHead(bytes: number): Buffer {
  const head = [itemTag]
  let rest = bytes
  for (; rest > 0x7f; rest >>>= 7) head.push((rest & 0x7f) | 0x80)
  return Buffer.from([...head, rest])
}
