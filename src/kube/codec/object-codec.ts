/**
 * Whole objects between JSON and Kubernetes protobuf. Plain JavaScript values, as JSON.parse gives them, stand in the
 * middle; `printJson` turns them into the text that an API server would send.
 */

import { ProtoReader } from '../../protobuf/reader.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import { type BackwardWriter, borrowWriter, returnWriter } from '../../protobuf/writer.ts'
import { type Envelope, readEnvelope, writeEnvelope } from '../envelope.ts'
import type { KubeObject } from '../objects.ts'
import { findKind, type Kind, type MessageType } from '../schema/schema.ts'
import { MessageReader } from './decode.ts'
import { DroppedFields } from './dropped-fields.ts'
import { MessageWriter } from './encode.ts'
import { parseJson } from './json.ts'

export interface DecodedObject {
  readonly object: KubeObject
  /** Fields that the schema does not know; they are not in the object. */
  readonly dropped: DroppedFields
}

export interface DecodedMessage {
  readonly value: Record<string, unknown>
  readonly dropped: DroppedFields
}

export interface EncodedObject {
  readonly bytes: Buffer
  readonly dropped: DroppedFields
}

const typeMetaKeys = ['apiVersion', 'kind']

/** Reads an object in its envelope. Throws a WireError that names the kind and what is wrong. */
export function decodeProtobuf(bytes: Uint8Array): DecodedObject {
  const dropped = new DroppedFields()
  return { object: decodeEnveloped(bytes, dropped, 0), dropped }
}

/** Writes an object by its own apiVersion and kind. Throws a WireError that names the field that does not fit. */
export function encodeProtobuf(object: KubeObject): EncodedObject {
  const dropped = new DroppedFields()
  const { apiVersion = '', kind = '' } = object
  const { message } = knownKind(apiVersion, kind)
  const bytes = writeEnvelope(apiVersion, kind, (writer) => writeMessage(writer, message, object, kind, dropped))
  return { bytes, dropped }
}

/** Reads a message that has no envelope, such as an item of a list. */
export function decodeMessage(message: MessageType, bytes: Uint8Array): DecodedMessage {
  const dropped = new DroppedFields()
  const reader = new ProtoReader(bytes)
  return { value: readMessage(reader, bytes.length, message, {}, message.fullName, dropped, 0), dropped }
}

/** Writes a message without an envelope; apiVersion and kind, if the value has them, are left away. */
export function encodeMessage(message: MessageType, value: unknown): EncodedObject {
  const dropped = new DroppedFields()
  const writer = borrowWriter()
  writeMessage(writer, message, value, message.fullName, dropped)
  const bytes = writer.finish()
  returnWriter(writer)
  return { bytes, dropped }
}

function decodeEnveloped(bytes: Uint8Array, dropped: DroppedFields, depth: number): KubeObject {
  const envelope = readEnvelope(bytes)
  const { apiVersion, kind } = envelope
  if (envelope.contentType === 'application/json') return decodeJsonContent(bytes, envelope)
  const { message } = knownKind(apiVersion, kind)
  const reader = new ProtoReader(bytes, envelope.rawStart)
  const object = readMessage<KubeObject>(reader, envelope.rawEnd, message, { kind, apiVersion }, kind, dropped, depth)
  // The wire cannot tell an empty list from none. API servers never send none, and clients trip over it.
  if (kind.endsWith('List') && object['items'] === null) object['items'] = []
  return object
}

function readMessage<T extends object>(
  reader: ProtoReader,
  end: number,
  message: MessageType,
  object: T,
  name: string,
  dropped: DroppedFields,
  depth: number,
): T {
  const decodeInner = (inner: Uint8Array, innerDepth: number): KubeObject => decodeEnveloped(inner, dropped, innerDepth)
  const messages = new MessageReader(dropped, decodeInner, depth)
  try {
    return messages.read(message, reader, end, object)
  } catch (error) {
    throw located(error, `${name} at byte ${reader.pos}`)
  }
}

function writeMessage(
  writer: BackwardWriter,
  message: MessageType,
  value: unknown,
  name: string,
  dropped: DroppedFields,
): void {
  const messages = new MessageWriter(writer, dropped)
  try {
    messages.write(message, value, typeMetaKeys)
  } catch (error) {
    throw located(error, `${name} ${messages.path}`.trimEnd())
  }
}

function decodeJsonContent(bytes: Uint8Array, { rawStart, rawEnd }: Envelope): KubeObject {
  const value = parseJson(Buffer.from(bytes.subarray(rawStart, rawEnd)).toString('utf8'))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new WireError('bad-value', 'the envelope announces JSON but holds no object')
  }
  return value as KubeObject
}

function knownKind(apiVersion: string, kind: string): Kind {
  const known = findKind(apiVersion, kind)
  if (known === undefined) {
    throw new WireError('unknown-kind', `no protobuf form is known for apiVersion "${apiVersion}", kind "${kind}"`)
  }
  return known
}

function located(error: unknown, where: string): unknown {
  if (!(error instanceof WireError)) return error
  return new WireError(error.code, `${where}: ${error.message}`, { cause: error })
}
