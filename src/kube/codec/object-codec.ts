/**
 * Whole objects between JSON and Kubernetes protobuf. Plain JavaScript values, as JSON.parse gives them, stand in the
 * middle; `printJson` turns them into the text that an API server would send.
 */

import type { KubeObject } from '../objects.ts'
import { type Envelope, readEnvelope, writeEnvelope } from '../protobuf/envelope.ts'
import { ProtoReader } from '../protobuf/reader.ts'
import { WireError } from '../protobuf/wire-error.ts'
import { findKind, type Kind } from '../schema/schema.ts'
import { MessageReader } from './decode.ts'
import { DroppedFields } from './dropped-fields.ts'
import { MessageWriter } from './encode.ts'
import { parseJson } from './json.ts'

export interface DecodedObject {
  readonly object: KubeObject
  /** Fields that the schema does not know; they are not in the object. */
  readonly dropped: DroppedFields
}

export interface EncodedObject {
  readonly bytes: Buffer
  readonly dropped: DroppedFields
}

const typeMetaKeys = ['apiVersion', 'kind']

/** How often an object may contain an object in an envelope of its own (a List of Lists). */
const maxEnvelopeDepth = 8

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
  const bytes = writeEnvelope(apiVersion, kind, (writer) => {
    const messageWriter = new MessageWriter(writer, dropped)
    try {
      messageWriter.write(message, object, typeMetaKeys)
    } catch (error) {
      throw located(error, `${kind} ${messageWriter.path}`)
    }
  })
  return { bytes, dropped }
}

function decodeEnveloped(bytes: Uint8Array, dropped: DroppedFields, depth: number): KubeObject {
  if (depth > maxEnvelopeDepth) throw new WireError('too-deep', `objects nested deeper than ${maxEnvelopeDepth}`)
  const envelope = readEnvelope(bytes)
  const { apiVersion, kind } = envelope
  if (envelope.contentType === 'application/json') return decodeJsonContent(bytes, envelope)
  const { message } = knownKind(apiVersion, kind)
  const reader = new ProtoReader(bytes, envelope.rawStart)
  const messages = new MessageReader(dropped, (inner) => decodeEnveloped(inner, dropped, depth + 1))
  try {
    return messages.read(message, reader, envelope.rawEnd, { kind, apiVersion })
  } catch (error) {
    throw located(error, `${kind} at byte ${reader.pos}`)
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
