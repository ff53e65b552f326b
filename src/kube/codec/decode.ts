/**
 * Protobuf to plain values: the JSON form of a message exactly as an API server prints it, field order, omitted fields
 * and explicit zeros included. Long functions here are on purpose: one loop over the wire, one over the slots.
 */
import { type ProtoReader, WIRE_BYTES, WIRE_FIXED64, WIRE_VARINT } from '../../protobuf/reader.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import { type MessageType, messageType } from '../schema/schema.ts'
import type { DroppedFields } from './dropped-fields.ts'
import {
  ABSENT_NULL,
  ABSENT_OMITTED,
  type FieldPlan,
  type FieldTable,
  type MessagePlan,
  OP_BOOL,
  OP_BYTES,
  OP_DOUBLE,
  OP_INLINE,
  OP_INT32,
  OP_INT64,
  OP_MESSAGE,
  OP_SPECIAL,
  OP_STRING,
  OP_WRAPPER,
  planOf,
} from './plan.ts'
import type { MessageSource } from './special-codec.ts'

/** Kubernetes' own types nest to about 20, schemas in CRDs deeper; beyond this it is an attack on the stack. */
export const MAX_MESSAGE_DEPTH = 500

type Slots = unknown[]

/** Reads messages of one document; `depth` is the number of messages around the present one. */
export class MessageReader implements MessageSource {
  readonly #dropped: DroppedFields
  readonly #decodeEnveloped: (bytes: Uint8Array, depth: number) => unknown
  #depth: number

  /** An object inside another one starts at the depth of its place there. */
  constructor(dropped: DroppedFields, decodeEnveloped: (bytes: Uint8Array, depth: number) => unknown, depth = 0) {
    this.#dropped = dropped
    this.#decodeEnveloped = decodeEnveloped
    this.#depth = depth
  }

  /** Adds the fields of a message to `object`, which may already have its apiVersion and kind. */
  read<T extends object>(message: MessageType, reader: ProtoReader, end: number, object: T): T {
    const plan = planOf(message)
    return assemble(plan, this.#slots(plan, reader, end), object as Record<string, unknown>) as T
  }

  /** Reads one more occurrence of a field, its tag just read, on top of what earlier ones gave (undefined at first). */
  readOccurrence(field: FieldPlan, wireType: number, before: unknown, reader: ProtoReader, end: number): unknown {
    const slots: Slots = new Array(field.slot + 1)
    slots[field.slot] = before
    if (field.field.shape === 'single') this.#single(field, wireType, slots, reader, end)
    else if (field.field.shape === 'list') this.#listItem(field, wireType, slots, reader, end)
    else this.#mapEntry(field, wireType, slots, reader, end)
    return slots[field.slot]
  }

  readMessage(fullName: string, reader: ProtoReader, end: number): unknown {
    return this.#object(planOf(messageType(fullName)), reader, end)
  }

  readEnveloped(bytes: Uint8Array): unknown {
    this.#enter()
    const value = this.#decodeEnveloped(bytes, this.#depth)
    this.#depth--
    return value
  }

  #enter(): void {
    if (++this.#depth > MAX_MESSAGE_DEPTH) {
      throw new WireError('too-deep', `messages nested deeper than ${MAX_MESSAGE_DEPTH}`)
    }
  }

  #object(plan: MessagePlan, reader: ProtoReader, end: number): Record<string, unknown> {
    return assemble(plan, this.#slots(plan, reader, end), {})
  }

  #slots(plan: MessagePlan, reader: ProtoReader, end: number): Slots {
    this.#enter()
    const slots: Slots = new Array(plan.slots.length)
    this.#fields(plan.message, plan.table, slots, reader, end)
    this.#depth--
    return slots
  }

  /** Reads the fields of one message, or of one inlined into it, into the slots. */
  #fields(message: MessageType, table: FieldTable, slots: Slots, reader: ProtoReader, end: number): void {
    const { byNumber } = table
    let inlinesSeen = 0
    while (reader.pos < end) {
      const tag = reader.uint32(end)
      const field = byNumber[tag >>> 3]
      if (field?.op === OP_INLINE) {
        if ((inlinesSeen & (1 << field.number)) !== 0) throw occursTwice(`${field.number} of ${message.fullName}`)
        inlinesSeen |= 1 << field.number
      }
      if (field === undefined) {
        this.#unknown(message, tag, reader, end)
      } else if (field.isList) {
        this.#listItem(field, tag & 7, slots, reader, end)
      } else if (field.isMap) {
        this.#mapEntry(field, tag & 7, slots, reader, end)
      } else {
        this.#single(field, tag & 7, slots, reader, end)
      }
    }
  }

  #unknown(message: MessageType, tag: number, reader: ProtoReader, end: number): void {
    const number = tag >>> 3
    if (number === 0) throw new WireError('malformed', `field number 0 in ${message.fullName}`)
    reader.skip(tag & 7, end)
    this.#dropped.add(`${message.fullName.slice(message.fullName.lastIndexOf('.') + 1)} field ${number}`)
  }

  #single(field: FieldPlan, wireType: number, slots: Slots, reader: ProtoReader, end: number): void {
    if (wireType !== wireTypeOf(field.op)) throw wrongWireType(field, wireType)
    if (field.op !== OP_INLINE) {
      // Some readers would merge the two and some take the last: nobody may be able to choose what we see.
      if (field.op > OP_BYTES && slots[field.slot] !== undefined) throw occursTwice(field.name)
      slots[field.slot] = this.#value(field, reader, end)
      return
    }
    const inlined = field.field.message as MessageType
    this.#enter()
    this.#fields(inlined, field.inlined, slots, reader, reader.lengthDelimited(end))
    this.#depth--
  }

  #listItem(field: FieldPlan, wireType: number, slots: Slots, reader: ProtoReader, end: number): void {
    const list = (slots[field.slot] as unknown[] | undefined) ?? []
    slots[field.slot] = list
    if (wireType === wireTypeOf(field.op)) {
      list.push(this.#value(field, reader, end))
      return
    }
    if (wireType !== WIRE_BYTES) throw wrongWireType(field, wireType)
    const packedEnd = reader.lengthDelimited(end)
    while (reader.pos < packedEnd) list.push(this.#value(field, reader, packedEnd))
  }

  #mapEntry(field: FieldPlan, wireType: number, slots: Slots, reader: ProtoReader, end: number): void {
    if (wireType !== WIRE_BYTES) throw wrongWireType(field, wireType)
    const map = (slots[field.slot] as Record<string, unknown> | undefined) ?? {}
    slots[field.slot] = map
    const entryEnd = reader.lengthDelimited(end)
    let key = ''
    let value: unknown
    while (reader.pos < entryEnd) {
      const tag = reader.uint32(entryEnd)
      if (tag === ((1 << 3) | WIRE_BYTES)) key = reader.string(reader.lengthDelimited(entryEnd))
      else if (tag === ((2 << 3) | wireTypeOf(field.op))) value = this.#value(field, reader, entryEnd)
      else reader.skip(tag & 7, entryEnd)
    }
    setKey(map, key, value === undefined ? zeroElement(field) : value)
  }

  #value(field: FieldPlan, reader: ProtoReader, end: number): unknown {
    switch (field.op) {
      case OP_STRING:
        return reader.string(reader.lengthDelimited(end))
      case OP_MESSAGE:
        return this.#object(field.plan(), reader, reader.lengthDelimited(end))
      case OP_INT32:
        return reader.int32(end)
      case OP_BOOL:
        return reader.bool(end)
      case OP_INT64:
        return reader.int64(end)
      case OP_SPECIAL:
        return this.#special(field, reader, end)
      case OP_BYTES:
        return readBase64(reader, reader.lengthDelimited(end))
      case OP_DOUBLE:
        return reader.double(end)
      case OP_WRAPPER:
        return this.#wrapped(field.plan(), reader, reader.lengthDelimited(end))
      default:
        throw new Error(`no such operation: ${field.op}`)
    }
  }

  #special(field: FieldPlan, reader: ProtoReader, end: number): unknown {
    this.#enter()
    const value = field.special().read(reader, reader.lengthDelimited(end), this)
    this.#depth--
    return value
  }

  #wrapped(plan: MessagePlan, reader: ProtoReader, end: number): unknown {
    const slots: Slots = new Array(1)
    this.#fields(plan.message, plan.table, slots, reader, end)
    return slots[0] ?? []
  }
}

function wireTypeOf(op: number): number {
  if (op === OP_BOOL || op === OP_INT32 || op === OP_INT64) return WIRE_VARINT
  return op === OP_DOUBLE ? WIRE_FIXED64 : WIRE_BYTES
}

function wrongWireType(field: FieldPlan, wireType: number): WireError {
  return new WireError('wrong-wire-type', `field ${field.name} has wire type ${wireType}`)
}

function occursTwice(field: string): WireError {
  return new WireError('malformed', `the single field ${field} occurs twice`)
}

function readBase64(reader: ProtoReader, to: number): string {
  const text = reader.bytes.toString('base64', reader.pos, to)
  reader.pos = to
  return text
}

/** `__proto__` must become a key like any other. */
function setKey(map: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true })
  else map[key] = value
}

/** Puts the slots into an object in the order and with the omissions of Go's encoder. */
function assemble(plan: MessagePlan, slots: Slots, object: Record<string, unknown>): Record<string, unknown> {
  const fields = plan.slots
  for (let slot = 0; slot < fields.length; slot++) {
    const field = fields[slot] as FieldPlan
    const value = slots[slot]
    if (value === undefined) {
      if (field.absent !== ABSENT_OMITTED) printAbsent(object, field)
    } else if (!isOmitted(field, value)) {
      object[field.name] = field.isMap ? sorted(value) : value
    }
  }
  return object
}

/** What JSON shows for one field, given what was read of it; undefined where JSON leaves it away. */
export function printedField(field: FieldPlan, value: unknown): unknown {
  if (value !== undefined && !isOmitted(field, value)) return field.isMap ? sorted(value) : value
  const object: Record<string, unknown> = {}
  if (value === undefined && field.absent !== ABSENT_OMITTED) printAbsent(object, field)
  return object[field.name]
}

function isOmitted(field: FieldPlan, value: unknown): boolean {
  if (field.omitsEmpty) return value === '' || value === 0 || value === false
  return value === null && field.field.omitZero
}

function printAbsent(object: Record<string, unknown>, field: FieldPlan): void {
  const value = field.absent === ABSENT_NULL ? null : zeroElement(field)
  if (!isOmitted(field, value)) object[field.name] = value
}

function zeroElement(field: FieldPlan): unknown {
  if (field.op === OP_MESSAGE) return assemble(field.plan(), [], {})
  if (field.op === OP_SPECIAL) return field.special().zero
  return field.op === OP_WRAPPER ? [] : zeroScalar(field.op)
}

function zeroScalar(op: number): unknown {
  if (op === OP_STRING || op === OP_BYTES) return ''
  return op === OP_BOOL ? false : 0
}

/** Go prints maps in key order; what an API server sends is in that order already. */
function sorted(value: unknown): unknown {
  const map = value as Record<string, unknown>
  let previous = ''
  for (const key in map) {
    if (key < previous) return sortKeys(map)
    previous = key
  }
  return map
}

function sortKeys(map: Record<string, unknown>): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const key of Object.keys(map).sort()) setKey(result, key, map[key])
  return result
}
