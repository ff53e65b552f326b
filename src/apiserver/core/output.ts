/**
 * Items as bytes in the representation that a client negotiated. The bytes of an object are kept, so a list in JSON is a
 * matter of copying, and so is a watch event.
 */
import { printJson } from '../../kube/codec/json.ts'
import { encodeProtobuf } from '../../kube/codec/object-codec.ts'
import { joinWatchEvent } from '../../kube/codec/watch-event.ts'
import type { KubeObject, ListMeta, WatchEventType } from '../../kube/objects.ts'
import { readEnvelope, writeEnvelope } from '../../kube/protobuf/envelope.ts'
import type { Representation } from '../../kube/representation.ts'
import { encodeLengthDelimited } from '../../kube/watch/index.ts'
import { renderTable } from '../kinds/tables/table.ts'
import { encodeBody } from '../serving/encode-body.ts'
import { servedItem } from './conversion/served-item.ts'
import type { Item } from './item.ts'
import type { Resource } from './resource.ts'

const lineFeed = Buffer.from('\n')
const comma = 0x2c
const openBrace = 0x7b

export interface OutputContext {
  readonly resource: Resource
  readonly representation: Representation
  readonly pretty: boolean
  readonly nowMs: number
}

/** One object as a whole response body. */
export function objectBody(stored: Item, context: OutputContext): Buffer {
  const { representation, pretty, resource } = context
  const item = servedItem(stored, resource)
  if (representation.as !== 'Object') return encodeBody(rendered([item], context, {}), representation.encoding, pretty)
  if (representation.encoding === 'protobuf') return item.protobuf
  if (representation.encoding === 'json' && !pretty) return Buffer.concat([item.json, lineFeed])
  return encodeBody(item.object(), representation.encoding, pretty)
}

export function listBody(stored: readonly Item[], metadata: ListMeta, context: OutputContext): Buffer {
  const { representation, pretty, resource } = context
  const items = stored.map((item) => servedItem(item, resource))
  if (representation.as === 'Object' && representation.encoding === 'protobuf') {
    return protobufList(items, metadata, resource)
  }
  if (representation.as === 'Object' && representation.encoding === 'json' && !pretty) {
    return jsonList(items, metadata, resource)
  }
  const list =
    representation.as === 'Object'
      ? (JSON.parse(jsonList(items, metadata, resource).toString('utf8')) as KubeObject)
      : rendered(items, context, metadata)
  return encodeBody(list, representation.encoding, pretty)
}

/** Every item begins with its kind and apiVersion, which a list leaves away. */
function jsonList(items: readonly Item[], metadata: ListMeta, { kind, apiVersion }: Resource): Buffer {
  const skipped = Buffer.byteLength(typePrefix(kind, apiVersion))
  const head = Buffer.from(`${typePrefix(`${kind}List`, apiVersion)}"metadata":${printJson(metadata)},"items":[`)
  const tail = Buffer.from(']}\n')
  const itemBytes = items.reduce((sum, { json }) => sum + json.length - skipped + 2, 0)
  const body = Buffer.allocUnsafe(head.length + itemBytes + tail.length)
  let position = head.copy(body)
  for (const [index, { json }] of items.entries()) {
    if (index > 0) body[position++] = comma
    body[position++] = openBrace
    position += json.copy(body, position, skipped)
  }
  position += tail.copy(body, position)
  return body.subarray(0, position)
}

export function typePrefix(kind: string, apiVersion: string): string {
  return `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`
}

function protobufList(items: readonly Item[], metadata: ListMeta, { kind, apiVersion }: Resource): Buffer {
  const empty = encodeProtobuf({ kind: `${kind}List`, apiVersion, metadata }).bytes
  const { rawStart, rawEnd } = readEnvelope(empty)
  return writeEnvelope(apiVersion, `${kind}List`, (writer) => {
    for (const item of items.toReversed()) {
      const envelope = readEnvelope(item.protobuf)
      writer.bytesField(2, item.protobuf.subarray(envelope.rawStart, envelope.rawEnd))
    }
    writer.bytes(empty.subarray(rawStart, rawEnd))
  })
}

function rendered(items: readonly Item[], context: OutputContext, metadata: ListMeta, withHeaders = true): KubeObject {
  const { representation, resource, nowMs } = context
  const { apiVersion, kind } = resource
  if (representation.as === 'Table') {
    const { includeObject, version } = representation
    const objects = items.map((item) => item.object())
    const options = { apiVersion, kind, listMeta: metadata, includeObject, version, nowMs, withHeaders }
    return renderTable(objects, options) as unknown as KubeObject
  }
  if (representation.as === 'APIGroupDiscoveryList' || representation.as === 'Object') {
    throw new Error(`objects are not rendered as ${representation.as}`)
  }
  const apiVersionOfMeta = `meta.k8s.io/${representation.version}`
  const partial = items.map((item) => ({
    kind: 'PartialObjectMetadata',
    apiVersion: apiVersionOfMeta,
    metadata: item.object().metadata ?? {},
  }))
  if (representation.as === 'PartialObjectMetadata') return partial[0] as KubeObject
  return {
    kind: 'PartialObjectMetadataList',
    apiVersion: apiVersionOfMeta,
    metadata,
    items: partial.map(({ metadata: itemMetadata }) => ({ metadata: itemMetadata })),
  }
}

/** Frames of one item are shared by all watchers of a representation; they go with the item. */
const frames = new WeakMap<Item, Map<string, Buffer>>()

/** One watch event, ready to be written to the stream. */
export function eventFrame(type: WatchEventType, stored: Item, context: OutputContext, isFirst: boolean): Buffer {
  const { representation, resource } = context
  const item = servedItem(stored, resource)
  // Only the first event of a Table stream carries the columns, and ages differ from moment to moment.
  if (representation.as === 'Table') return encodedFrame(type, rendered([item], context, {}, isFirst), context)
  const key = `${type} ${representation.as} ${representation.encoding}`
  const known = frames.get(item) ?? new Map<string, Buffer>()
  frames.set(item, known)
  let frame = known.get(key)
  if (frame === undefined) {
    frame = makeFrame(type, item, context)
    known.set(key, frame)
  }
  return frame
}

function makeFrame(type: WatchEventType, item: Item, context: OutputContext): Buffer {
  const { representation } = context
  if (representation.as !== 'Object') return encodedFrame(type, rendered([item], context, {}), context)
  if (representation.encoding === 'protobuf') return lengthDelimited(joinWatchEvent(type, item.protobuf))
  return Buffer.concat([Buffer.from(`{"type":"${type}","object":`), item.json, Buffer.from('}\n')])
}

/** An event whose object is made for the occasion: a bookmark, an error, a row of a Table. */
export function encodedFrame(type: WatchEventType, object: KubeObject, { representation }: OutputContext): Buffer {
  if (representation.encoding === 'protobuf') {
    return lengthDelimited(joinWatchEvent(type, encodeProtobuf(object).bytes))
  }
  return Buffer.from(`{"type":"${type}","object":${printJson(object)}}\n`)
}

function lengthDelimited(message: Buffer): Buffer {
  const frame = encodeLengthDelimited(message)
  return Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength)
}
