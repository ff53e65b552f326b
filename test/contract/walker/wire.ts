/** Protobuf messages taken apart and built by hand, independent of the code under test. */
import { ProtoReader, WIRE_BYTES } from '../../../src/protobuf/reader.ts'

export const envelopeMagic = Buffer.from('k8s\0', 'latin1')

/** A length-delimited field. */
export function field(number: number, ...content: (Buffer | string)[]): Buffer {
  const body = Buffer.concat(content.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  return Buffer.concat([varint(number * 8 + WIRE_BYTES), varint(body.length), body])
}

export function varintField(number: number, value: number): Buffer {
  return Buffer.concat([varint(number * 8), varint(value)])
}

export function envelope(apiVersion: string, kind: string, ...content: Buffer[]): Buffer {
  return Buffer.concat([envelopeMagic, field(1, field(1, apiVersion), field(2, kind)), field(2, ...content)])
}

/**
 * Puts `unknown` between the fields of a message, and of every message inside it that the numbers of `route` lead to;
 * `at` picks the gap.
 */
export function inject(message: Buffer, route: readonly number[], unknown: Buffer, at: number): Buffer {
  const fields = splitFields(message).map(({ number, bytes, value }) =>
    number === route[0] && value !== undefined ? field(number, inject(value, route.slice(1), unknown, at)) : bytes,
  )
  fields.splice(at % (fields.length + 1), 0, unknown)
  return Buffer.concat(fields)
}

/** Applies `change` to the object inside an envelope. */
export function withContent(document: Buffer, change: (content: Buffer) => Buffer): Buffer {
  const fields = splitFields(document.subarray(envelopeMagic.length)).map(({ number, bytes, value }) =>
    number === 2 && value !== undefined ? field(2, change(value)) : bytes,
  )
  return Buffer.concat([envelopeMagic, ...fields])
}

interface WireField {
  readonly number: number
  readonly bytes: Buffer
  /** Of a length-delimited field. */
  readonly value: Buffer | undefined
}

function splitFields(message: Buffer): WireField[] {
  const fields: WireField[] = []
  const reader = new ProtoReader(message)
  while (reader.pos < message.length) {
    const start = reader.pos
    const tag = reader.uint32(message.length)
    const valueAt = reader.pos
    reader.skip(tag & 7, message.length)
    const bytes = message.subarray(start, reader.pos)
    const isBytes = (tag & 7) === WIRE_BYTES
    fields.push({ number: tag >>> 3, bytes, value: isBytes ? contentAt(message, valueAt) : undefined })
  }
  return fields
}

function contentAt(message: Buffer, lengthAt: number): Buffer {
  const reader = new ProtoReader(message, lengthAt)
  const end = reader.lengthDelimited(message.length)
  return message.subarray(reader.pos, end)
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  for (; value > 0x7f; value = Math.floor(value / 128)) bytes.push((value % 128) + 128)
  return Buffer.from([...bytes, value])
}
