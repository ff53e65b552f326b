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
import { JsonList } from './json-list.ts'
import type { Resource } from './resource.ts'

const lineFeed = Buffer.from('\n')

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
  if (isPlainJson(context)) return Buffer.concat([item.json, lineFeed])
  return encodeBody(item.object(), representation.encoding, pretty)
}

/** The items are those of the version that is served. */
export function listBody(items: readonly Item[], metadata: ListMeta, context: OutputContext): Buffer {
  const { representation, pretty, resource } = context
  if (representation.as !== 'Object') {
    return encodeBody(rendered(items, context, metadata), representation.encoding, pretty)
  }
  if (representation.encoding === 'protobuf') return protobufList(items, metadata, resource)
  const json = new JsonList(items, metadata, resource).whole()
  if (isPlainJson(context)) return json
  return encodeBody(JSON.parse(json.toString('utf8')) as KubeObject, representation.encoding, pretty)
}

/** Whether the bytes that items keep can be sent as they are. */
export function isPlainJson({ representation, pretty }: OutputContext): boolean {
  return representation.as === 'Object' && representation.encoding === 'json' && !pretty
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

/** What a watcher is told: the object as it is, or as it last was, under the version at which that happened. */
export interface ItemEvent {
  readonly type: WatchEventType
  readonly item: Item
  readonly revision: number
}

/**
 * The frames of the latest event. A change is told to all its watchers one after another, so that one event is enough to
 * make each frame once; frames of all events would be a second copy of everything that is watched.
 */
const latest: { item: Item | undefined; revision: number; frames: Map<string, Buffer> } = {
  item: undefined,
  revision: 0,
  frames: new Map(),
}

/** One watch event, ready to be written to the stream. */
export function eventFrame(event: ItemEvent, context: OutputContext, isFirst: boolean): Buffer {
  const { representation, resource } = context
  // Only the first event of a Table stream carries the columns, and ages differ from moment to moment.
  if (representation.as === 'Table') return makeFrame(event, context, isFirst)
  if (latest.item !== event.item || latest.revision !== event.revision) {
    latest.item = event.item
    latest.revision = event.revision
    latest.frames.clear()
  }
  const key = `${event.type} ${resource.apiVersion} ${representation.as} ${representation.encoding}`
  let frame = latest.frames.get(key)
  if (frame === undefined) {
    frame = makeFrame(event, context, isFirst)
    latest.frames.set(key, frame)
  }
  return frame
}

function makeFrame({ type, item: stored, revision }: ItemEvent, context: OutputContext, isFirst: boolean): Buffer {
  const { representation, resource } = context
  const item = servedItem(stored.revision === revision ? stored : stored.at(revision), resource)
  if (representation.as !== 'Object') return encodedFrame(type, rendered([item], context, {}, isFirst), context)
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
