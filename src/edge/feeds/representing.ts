/**
 * What a feed has, in the representation that a client negotiated. Nothing is left out in silence: what cannot be said in it
 * without a loss is an InexactError, and whoever asked goes to the API server for it, if there is one.
 */
import { type BodyForm, bodyForm, encodeJson } from '../../kube/codec/encode-body.ts'
import { printJson } from '../../kube/codec/json.ts'
import { encodeProtobuf } from '../../kube/codec/object-codec.ts'
import { DOCUMENT_FORMATS } from '../../kube/document-format.ts'
import type { KubeObject, ObjectMeta, WatchEventType } from '../../kube/objects.ts'
import type { Representation } from '../../kube/representation.ts'
import { notAcceptable } from '../../kube/status/request-errors.ts'
import type { Status } from '../../kube/status/status.ts'
import { renderTable } from '../../kube/tables/table.ts'
import type { KeptObject } from './kept-object.ts'

/**
 * What one object, or one entry of a list, may be long in JSON to be made YAML of here: it is made in one step, and this much
 * takes some 50 ms. Nobody but people asks for YAML, and kubectl makes its own from JSON.
 */
export const MAX_YAML_OBJECT_BYTES = 64 * 1024

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
  return reformed(Buffer.from(printJson(rendered(object, output, true))), form)
}

/** One event of a watch. Only the first event of a Table describes its columns. */
export function eventFrame(type: WatchEventType, object: KeptObject, output: Output, isFirst = false): Buffer {
  const { representation } = output
  const format = DOCUMENT_FORMATS[representation.encoding === 'protobuf' ? 'protobuf' : 'json']
  const shown =
    representation.as === 'Object'
      ? inEncoding(object, format.encoding, output)
      : encoded(rendered(object, output, isFirst), format.encoding)
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
  return madeFrame('BOOKMARK', representation.as === 'Object' ? object : renderedValue(object, output, false), output)
}

/** A Table of one row, or its metadata alone. */
export function rendered(object: KeptObject, output: Output, withHeaders: boolean): KubeObject {
  const isTable = output.representation.as === 'Table'
  return renderedValue(isTable ? object.value() : { metadata: metadataOf(object) }, output, withHeaders)
}

function renderedValue(value: KubeObject, output: Output, withHeaders: boolean): KubeObject {
  const { type, representation, nowMs } = output
  const { kind, apiVersion } = type
  if (representation.as === 'Table') {
    const { version, includeObject } = representation
    return renderTable([value], { kind, apiVersion, version, includeObject, nowMs, withHeaders }) as never
  }
  return {
    kind: 'PartialObjectMetadata',
    apiVersion: metaVersionOf(representation),
    metadata: value.metadata ?? {},
  }
}

export function metaVersionOf(representation: Representation): string {
  return `meta.k8s.io/${representation.as === 'Object' ? 'v1' : representation.version}`
}

function metadataOf(object: KeptObject): ObjectMeta {
  return object.read(['metadata']) ?? {}
}

export function inEncoding(object: KeptObject, encoding: 'json' | 'protobuf', output: Output): Buffer {
  const document = object.in(encoding)
  if (document === undefined) throw new InexactError(object, output)
  return document
}

function encoded(object: KubeObject, encoding: 'json' | 'protobuf'): Buffer {
  return encoding === 'protobuf' ? encodeProtobuf(object).bytes : Buffer.from(printJson(object))
}

/** Throws an ApiError. */
export function checkYamlObject(jsonBytes: number): void {
  if (jsonBytes <= MAX_YAML_OBJECT_BYTES) return
  const why = `an object has ${jsonBytes} bytes, and at most ${MAX_YAML_OBJECT_BYTES} are sent as application/yaml`
  throw notAcceptable(`${why} without an API server: ask for application/json`)
}

const lineFeed = Buffer.from('\n')

function reformed(json: Buffer, form: BodyForm): Buffer {
  if (form === 'yaml') checkYamlObject(json.length)
  return form === 'compact' ? Buffer.concat([json, lineFeed]) : encodeJson(json.toString('utf8'), form)
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
