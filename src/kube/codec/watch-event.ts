/**
 * Watch events in protobuf. An event has no envelope of its own; the object inside has one:
 * `WatchEvent{1: type, 2: RawExtension{1: enveloped object}}`.
 */

import { ProtoReader, WIRE_BYTES } from '../../protobuf/reader.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import { BackwardWriter } from '../../protobuf/writer.ts'
import type { WatchEvent, WatchEventType } from '../objects.ts'
import { decodeProtobuf, encodeProtobuf } from './object-codec.ts'

const eventTypes: readonly string[] = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']

/** An event with its object still encoded: what a relay needs. */
export interface EncodedWatchEvent {
  readonly type: WatchEventType
  /** A view into the frame. */
  readonly object: Buffer
}

export function decodeWatchEvent(frame: Uint8Array): WatchEvent {
  const { type, object } = splitWatchEvent(frame)
  return { type, object: decodeProtobuf(object).object }
}

export function encodeWatchEvent(event: WatchEvent): Buffer {
  return joinWatchEvent(event.type, encodeProtobuf(event.object).bytes)
}

/** Takes an event apart without reading its object. */
export function splitWatchEvent(frame: Uint8Array): EncodedWatchEvent {
  const reader = new ProtoReader(frame)
  const fields = readTwoFields(reader, frame.length)
  const type = fields.first.toString('latin1')
  if (!isEventType(type))
    throw new WireError('bad-value', `${JSON.stringify(type.slice(0, 32))} is no watch event type`)
  return { type, object: readTwoFields(new ProtoReader(fields.second), fields.second.length).first }
}

export function joinWatchEvent(type: WatchEventType, object: Uint8Array): Buffer {
  const writer = new BackwardWriter(object.length + 64)
  const before = writer.length
  writer.bytesField(1, object)
  writer.closeField(2, before)
  writer.stringField(1, type)
  return writer.finish()
}

export function isEventType(text: string): text is WatchEventType {
  return eventTypes.includes(text)
}

const nothing = Buffer.alloc(0)

/** The length-delimited fields 1 and 2 of a message; an absent one is empty. */
function readTwoFields(reader: ProtoReader, end: number): { first: Buffer; second: Buffer } {
  let first: Buffer = nothing
  let second: Buffer = nothing
  while (reader.pos < end) {
    const tag = reader.uint32(end)
    const number = tag >>> 3
    if ((tag & 7) !== WIRE_BYTES || (number !== 1 && number !== 2)) {
      reader.skip(tag & 7, end)
      continue
    }
    const to = reader.lengthDelimited(end)
    const value = reader.bytes.subarray(reader.pos, to)
    reader.pos = to
    if (number === 1) first = value
    else second = value
  }
  return { first, second }
}
