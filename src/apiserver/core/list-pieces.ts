/**
 * A list in the representation that a client negotiated, piece by piece: a piece is made when the one before it has been
 * taken, and others have their turns in between. Together the pieces are what would be made of the list as a whole.
 */

import { type BodyForm, bodyForm } from '../../kube/codec/encode-body.ts'
import { encodeEntries, listText } from '../../kube/codec/list-text.ts'
import { encodeProtobuf } from '../../kube/codec/object-codec.ts'
import { envelopeAround, readEnvelope } from '../../kube/envelope.ts'
import type { ListMeta } from '../../kube/objects.ts'
import { notAcceptable } from '../../kube/status/request-errors.ts'
import { tableOrder } from '../../kube/tables/table.ts'
import type { Turns } from '../../runtime/turns.ts'
import type { Item } from '../objects/item.ts'
import { type OutputContext, objectBody } from './output.ts'
import { isLight, type RenderAsker, type Renderer } from './renderer.ts'
import { entriesMember, entryParts, listHead, objectParts } from './shape.ts'

export interface ListParts {
  readonly renderer: Renderer
  readonly turns: Turns
  readonly asker: RenderAsker
}

type Pieces = AsyncGenerator<Buffer, void, undefined>

const comma = Buffer.from(',')
const noRow = Buffer.alloc(0)
/** Field 2 of every list holds its items. */
const itemTag = 0x12

export async function* listPieces(
  stored: readonly Item[],
  metadata: ListMeta,
  output: OutputContext,
  parts: ListParts,
): Pieces {
  const { representation, pretty } = output
  if (representation.as === 'PartialObjectMetadata') yield await firstObject(stored, output, parts)
  else if (representation.encoding === 'protobuf') yield* protobufPieces(stored, metadata, output, parts)
  else yield* textPieces(stored, metadata, output, bodyForm(representation.encoding, pretty), parts)
}

/** Whoever asks for the metadata of one object gets one. */
async function firstObject([first]: readonly Item[], output: OutputContext, parts: ListParts): Promise<Buffer> {
  if (first === undefined)
    throw notAcceptable('you requested PartialObjectMetadata, but the requested object is a list')
  return await objectBody(first, output, parts.renderer, parts.asker)
}

async function* textPieces(
  stored: readonly Item[],
  metadata: ListMeta,
  output: OutputContext,
  form: BodyForm,
  parts: ListParts,
): Pieces {
  const { renderer, turns, asker } = parts
  const text = listText(listHead(output, metadata), entriesMember(output), form)
  if (stored.length === 0) {
    yield text.empty
    return
  }
  const encoded = async (json: Buffer): Promise<Buffer> => {
    if (form === 'compact') return json
    if (isLight(json.length, form)) return encodeEntries(text, json, form)
    return text.inner(await renderer.encode([text.wrapped(json)], form, asker))
  }
  let separator = text.head
  let gathered: Buffer[] = []
  let bytes = 0
  for (const each of await inTableOrder(stored, output, turns)) {
    if (turns.isOver) await turns.next()
    const { item, row } = renderer.isReady(each, output)
      ? renderer.readyNow(each, output)
      : await renderer.ready(each, output, asker)
    if (gathered.length > 0) gathered.push(comma)
    for (const part of entryParts(item, output, row)) {
      gathered.push(part)
      bytes += part.length
    }
    if (bytes < text.pieceBytes) continue
    yield separator
    yield await encoded(Buffer.concat(gathered))
    separator = text.separator
    gathered = []
    bytes = 0
  }
  if (gathered.length > 0) {
    yield separator
    yield await encoded(Buffer.concat(gathered))
  }
  yield text.tail
}

/** Tables of some kinds have an order of their own. */
async function inTableOrder(stored: readonly Item[], output: OutputContext, turns: Turns): Promise<readonly Item[]> {
  const { representation, resource } = output
  const order = representation.as === 'Table' ? tableOrder(resource.apiVersion, resource.kind) : undefined
  if (order === undefined) return stored
  const objects = []
  for (const item of stored) {
    if (turns.isOver) await turns.next()
    objects.push({ item, object: item.object() })
  }
  return objects.sort((left, right) => order(left.object, right.object)).map(({ item }) => item)
}

/** The length of a list stands before its items, so that all of them are looked at first. Their bytes are kept with them. */
async function* protobufPieces(
  stored: readonly Item[],
  metadata: ListMeta,
  output: OutputContext,
  parts: ListParts,
): Pieces {
  const { turns } = parts
  const { apiVersion, kind } = listType(output)
  const empty = encodeProtobuf({ kind, apiVersion, metadata }).bytes
  const { rawStart, rawEnd } = readEnvelope(empty)
  const items: Buffer[] = []
  let rawBytes = rawEnd - rawStart
  for (const item of stored) {
    if (turns.isOver) await turns.next()
    const raw = rawOf(await protobufOf(item, output, parts))
    items.push(raw)
    rawBytes += itemHead(raw).length + raw.length
  }
  const { head, tail } = envelopeAround(apiVersion, kind, rawBytes)
  yield Buffer.concat([head, empty.subarray(rawStart, rawEnd)])
  for (const raw of items) {
    if (turns.isOver) await turns.next()
    yield itemHead(raw)
    yield raw
  }
  yield tail
}

function listType({ representation, resource }: OutputContext): { apiVersion: string; kind: string } {
  if (representation.as === 'Object') return { apiVersion: resource.apiVersion, kind: `${resource.kind}List` }
  if (representation.as === 'PartialObjectMetadataList') {
    return { apiVersion: `meta.k8s.io/${representation.version}`, kind: representation.as }
  }
  throw new Error(`${representation.as} has no form in protobuf`)
}

/** The object of an item, or its metadata alone, in an envelope. */
async function protobufOf(stored: Item, output: OutputContext, { renderer, asker }: ListParts): Promise<Buffer> {
  const { representation } = output
  const { item } = renderer.isReady(stored, output)
    ? renderer.readyNow(stored, output)
    : await renderer.ready(stored, output, asker)
  if (representation.as !== 'PartialObjectMetadataList') return item.protobuf
  const shape = { ...output, representation: { ...representation, as: 'PartialObjectMetadata' } as const }
  return await renderer.encode(objectParts(item, shape, noRow), 'protobuf', asker)
}

function rawOf(enveloped: Buffer): Buffer {
  const { rawStart, rawEnd } = readEnvelope(enveloped)
  return enveloped.subarray(rawStart, rawEnd)
}

function itemHead(raw: Buffer): Buffer {
  const head = [itemTag]
  let rest = raw.length
  for (; rest > 0x7f; rest >>>= 7) head.push((rest & 0x7f) | 0x80)
  return Buffer.from([...head, rest])
}
