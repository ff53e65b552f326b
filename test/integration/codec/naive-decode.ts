/**
 * The slow twin of the decoder: takes a message apart into a map of raw values first and looks at the schema second. No
 * plans, no slots, no shared code but the schema and the special values.
 */

import { specialCodec } from '../../../src/kube/codec/special.ts'
import { type FieldType, type MessageType, messageType } from '../../../src/kube/schema/schema.ts'
import { ProtoReader } from '../../../src/protobuf/reader.ts'

type Raw = { wire: number; bytes: Buffer; integer: bigint }

export function naiveDecode(message: MessageType, bytes: Buffer): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  addFields(message, takeApart(bytes), object)
  return object
}

function takeApart(bytes: Buffer): Map<number, Raw[]> {
  const fields = new Map<number, Raw[]>()
  let pos = 0
  const varint = (): bigint => {
    let [value, shift] = [0n, 0n]
    for (;;) {
      const byte = bytes.readUInt8(pos++)
      value |= BigInt(byte & 0x7f) << shift
      shift += 7n
      if (byte < 0x80) return BigInt.asIntN(64, value)
    }
  }
  while (pos < bytes.length) {
    const tag = Number(varint())
    const raw: Raw = { wire: tag & 7, bytes: Buffer.alloc(0), integer: 0n }
    if (raw.wire === 0) raw.integer = varint()
    else if (raw.wire > 2) throw new Error(`wire type ${raw.wire}`)
    else {
      const length = raw.wire === 1 ? 8 : Number(varint())
      raw.bytes = bytes.subarray(pos, pos + length)
      pos += length
    }
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), raw])
  }
  return fields
}

function addFields(message: MessageType, raws: Map<number, Raw[]>, object: Record<string, unknown>): void {
  for (const field of message.fields) {
    const values = raws.get(field.number) ?? []
    if (field.inline)
      addFields(field.message as MessageType, takeApart(values.at(-1)?.bytes ?? Buffer.alloc(0)), object)
    else addField(field, values, object)
  }
}

function addField(field: FieldType, values: Raw[], object: Record<string, unknown>): void {
  const value = fieldValue(field, values)
  if (field.omitZero && value === null) return
  const isStruct =
    field.shape === 'single' && !field.pointer && ['fields', 'special'].includes(field.message?.form ?? '')
  if (field.omitEmpty && !isStruct && isEmptyInGo(field, values, value)) return
  object[field.jsonName] = value
}

function isEmptyInGo(field: FieldType, values: Raw[], value: unknown): boolean {
  if (field.pointer) return values.length === 0
  return value === null || value === '' || value === 0 || value === false
}

function fieldValue(field: FieldType, values: Raw[]): unknown {
  if (field.shape === 'list') return values.length === 0 ? null : values.map((raw) => one(field, raw))
  if (field.shape === 'map') return values.length === 0 ? null : mapValue(field, values)
  const last = values.at(-1)
  if (last !== undefined) return one(field, last)
  if (field.pointer || field.scalar === 'bytes' || field.message?.form === 'list') return null
  return zero(field)
}

function mapValue(field: FieldType, values: Raw[]): unknown {
  const entries = new Map<string, unknown>()
  for (const { bytes } of values) {
    const entry = takeApart(bytes)
    const value = entry.get(2)?.at(-1)
    entries.set(
      entry.get(1)?.at(-1)?.bytes.toString('utf8') ?? '',
      value === undefined ? zero(field) : one(field, value),
    )
  }
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function one(field: FieldType, raw: Raw): unknown {
  switch (field.scalar) {
    case 'string':
      return raw.bytes.toString('utf8')
    case 'bytes':
      return raw.bytes.toString('base64')
    case 'bool':
      return raw.integer !== 0n
    case 'double':
      return raw.bytes.readDoubleLE()
    case 'int32':
    case 'int64':
      return Number.isSafeInteger(Number(raw.integer)) ? Number(raw.integer) : raw.integer
    default:
      return oneMessage(field.message as MessageType, raw.bytes)
  }
}

function oneMessage(message: MessageType, bytes: Buffer): unknown {
  if (message.form === 'list')
    return (takeApart(bytes).get(1) ?? []).map((raw) => one(message.fields[0] as FieldType, raw))
  if (message.form === 'fields') return naiveDecode(message, bytes)
  return specialCodec(message.fullName).read(new ProtoReader(bytes), bytes.length, {
    readMessage: (name, reader, end) => {
      const content = reader.bytes.subarray(reader.pos, end)
      reader.pos = end
      return naiveDecode(messageType(name), content)
    },
    readEnveloped: () => null,
  })
}

function zero(field: FieldType): unknown {
  if (field.scalar === 'string' || field.scalar === 'bytes') return ''
  if (field.scalar === 'bool') return false
  if (field.scalar !== undefined) return 0
  return oneMessage(field.message as MessageType, Buffer.alloc(0))
}
