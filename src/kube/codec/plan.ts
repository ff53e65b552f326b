/**
 * How one message is read and written, worked out once per message from the schema. Inlined messages are flattened: the
 * wire nests them, JSON does not, so their fields get slots in the object that has them.
 *
 * A `slot` is the index of a field in the order in which JSON prints it. Reading fills slots in any order and then
 * builds the object in slot order; writing fills slots from the object and then emits fields in wire order.
 */
import type { FieldType, MessageType } from '../schema/schema.ts'
import { specialCodec } from './special.ts'
import type { SpecialCodec } from './special-codec.ts'

export const OP_STRING = 0
export const OP_BOOL = 1
export const OP_INT32 = 2
export const OP_INT64 = 3
export const OP_DOUBLE = 4
export const OP_BYTES = 5
/** A message with fields. */
export const OP_MESSAGE = 6
/** A message with a hand-written codec. */
export const OP_SPECIAL = 7
/** A message that wraps a list: JSON shows the bare list. */
export const OP_WRAPPER = 8
/** A message whose fields belong to the parent object. */
export const OP_INLINE = 9

/** What JSON shows for a field that is not on the wire. */
export const ABSENT_OMITTED = 0
export const ABSENT_NULL = 1
const ABSENT_ZERO = 2

/** One field. What the inner loops ask is answered here once, in plain properties. */
export class FieldPlan {
  readonly field: FieldType
  readonly name: string
  readonly number: number
  readonly op: number
  readonly slot: number
  readonly isList: boolean
  readonly isMap: boolean
  readonly absent: number
  /** Go omits an empty value only where it is no pointer and no struct; special values are structs, even the integer 0. */
  readonly omitsEmpty: boolean
  /** Pointers, lists, maps and byte strings are nil in Go when absent and then not written; all else has a zero value. */
  readonly isNilWhenAbsent: boolean
  /** The fields of an inlined message. */
  readonly inlined: FieldTable
  #plan: MessagePlan | undefined
  #special: SpecialCodec | undefined

  constructor(field: FieldType, op: number, slot: number, inlined: FieldTable) {
    const isSingle = field.shape === 'single'
    this.field = field
    this.name = field.jsonName
    this.number = field.number
    this.op = op
    this.slot = slot
    this.isList = field.shape === 'list'
    this.isMap = field.shape === 'map'
    this.isNilWhenAbsent = field.pointer || !isSingle || op === OP_BYTES || op === OP_WRAPPER
    this.omitsEmpty = field.omitEmpty && !field.pointer && isSingle && op <= OP_BYTES
    const isStruct = isSingle && !field.pointer && (op === OP_MESSAGE || op === OP_SPECIAL)
    if (field.omitEmpty && !isStruct) this.absent = ABSENT_OMITTED
    else this.absent = this.isNilWhenAbsent ? ABSENT_NULL : ABSENT_ZERO
    this.inlined = inlined
  }

  /** The plan of the message behind `OP_MESSAGE` and `OP_WRAPPER`; made on first use, since types may be recursive. */
  plan(): MessagePlan {
    this.#plan ??= planOf(messageOf(this.field))
    return this.#plan
  }

  special(): SpecialCodec {
    this.#special ??= specialCodec(messageOf(this.field).fullName)
    return this.#special
  }
}

export interface FieldTable {
  /** Indexed by field number, with holes. */
  readonly byNumber: readonly (FieldPlan | undefined)[]
  /** In wire order. */
  readonly ascending: readonly FieldPlan[]
}

export interface MessagePlan {
  readonly message: MessageType
  readonly table: FieldTable
  /** The printed fields, by slot. */
  readonly slots: readonly FieldPlan[]
  readonly byName: ReadonlyMap<string, FieldPlan>
}

const scalarOps = {
  string: OP_STRING,
  bool: OP_BOOL,
  int32: OP_INT32,
  int64: OP_INT64,
  double: OP_DOUBLE,
  bytes: OP_BYTES,
}

const plans = new WeakMap<MessageType, MessagePlan>()

export function planOf(message: MessageType): MessagePlan {
  let plan = plans.get(message)
  if (plan === undefined) {
    plan = makePlan(message)
    plans.set(message, plan)
  }
  return plan
}

function makePlan(message: MessageType): MessagePlan {
  const slots: FieldPlan[] = []
  const table = makeTable(message, slots)
  return { message, table, slots, byName: new Map(slots.map((slot) => [slot.field.jsonName, slot])) }
}

function makeTable(message: MessageType, slots: FieldPlan[]): FieldTable {
  const ascending = message.fields.map((field) => makeField(field, slots))
  ascending.sort((a, b) => a.field.number - b.field.number)
  const byNumber: (FieldPlan | undefined)[] = []
  for (const field of ascending) {
    while (byNumber.length < field.field.number) byNumber.push(undefined)
    byNumber.push(field)
  }
  return { byNumber, ascending }
}

const nothingInlined: FieldTable = { byNumber: [], ascending: [] }

function makeField(field: FieldType, slots: FieldPlan[]): FieldPlan {
  if (field.inline) return new FieldPlan(field, OP_INLINE, -1, makeTable(messageOf(field), slots))
  const plan = new FieldPlan(field, opOf(field), slots.length, nothingInlined)
  slots.push(plan)
  return plan
}

function opOf(field: FieldType): number {
  if (field.scalar !== undefined) return scalarOps[field.scalar]
  const { form } = messageOf(field)
  return form === 'fields' ? OP_MESSAGE : form === 'list' ? OP_WRAPPER : OP_SPECIAL
}

function messageOf(field: FieldType): MessageType {
  if (field.message === undefined) throw new Error(`field ${field.jsonName} is no message`)
  return field.message
}
