/**
 * Plain values to protobuf, byte for byte as an API server writes them: fields in the order of their numbers, values
 * that are no pointers written even when zero, maps in key order. Everything is written backwards (see the writer).
 */
import { WireError } from '../../protobuf/wire-error.ts'
import type { BackwardWriter } from '../../protobuf/writer.ts'
import { type MessageType, messageType } from '../schema/schema.ts'
import { MAX_MESSAGE_DEPTH } from './decode.ts'
import type { DroppedFields } from './dropped-fields.ts'
import {
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
import { expected, isInt32, type MessageSink } from './special-codec.ts'

const base64 = /^[A-Za-z0-9+/]*={0,2}$/
const minInt64 = -(2n ** 63n)
const maxInt64 = 2n ** 63n - 1n

export class MessageWriter implements MessageSink {
  readonly #writer: BackwardWriter
  readonly #dropped: DroppedFields
  /** Names and indexes that lead to the value being written; for error texts. */
  readonly #path: (string | number)[] = []
  #depth = 0

  constructor(writer: BackwardWriter, dropped: DroppedFields) {
    this.#writer = writer
    this.#dropped = dropped
  }

  /** Where the writer stands, as `spec.containers[0].name`. Valid after an error too. */
  get path(): string {
    return formatPath(this.#path)
  }

  write(message: MessageType, value: unknown, ignoredKeys: readonly string[] = []): void {
    this.#object(planOf(message), value, ignoredKeys)
  }

  writeMessage(fullName: string, value: unknown): void {
    this.#object(planOf(messageType(fullName)), value)
  }

  /** Writes one field of a message; undefined writes what a message without it has: its zero value or nothing. */
  writeField(field: FieldPlan, value: unknown): void {
    if (value === undefined && field.isNilWhenAbsent) return
    this.#path.push(field.name)
    this.#field(field, value)
    this.#path.pop()
  }

  #object(plan: MessagePlan, value: unknown, ignoredKeys: readonly string[] = []): void {
    if (++this.#depth > MAX_MESSAGE_DEPTH) {
      throw new WireError('too-deep', `messages nested deeper than ${MAX_MESSAGE_DEPTH}`)
    }
    const slots: unknown[] = new Array(plan.slots.length)
    if (value !== null) this.#collect(plan, value, slots, ignoredKeys)
    this.#fields(plan.table, slots)
    this.#depth--
  }

  #collect(plan: MessagePlan, value: unknown, slots: unknown[], ignoredKeys: readonly string[]): void {
    if (typeof value !== 'object' || Array.isArray(value)) throw expected('an object', value)
    const object = value as Record<string, unknown>
    for (const key in object) {
      const field = plan.byName.get(key)
      if (field !== undefined) slots[field.slot] = object[key] ?? undefined
      else if (!ignoredKeys.includes(key)) this.#dropped.add(formatPath([...this.#path, key]))
    }
  }

  #fields(table: FieldTable, slots: readonly unknown[]): void {
    for (let index = table.ascending.length - 1; index >= 0; index--) {
      const field = table.ascending[index] as FieldPlan
      if (field.op === OP_INLINE) {
        const before = this.#writer.length
        this.#fields(field.inlined, slots)
        this.#writer.closeField(field.number, before)
        continue
      }
      this.writeField(field, slots[field.slot])
    }
  }

  #field(field: FieldPlan, value: unknown): void {
    if (field.isList) this.#list(field, field.number, value)
    else if (field.isMap) this.#map(field, value)
    else this.#value(field, field.number, value ?? null)
  }

  #list(field: FieldPlan, number: number, value: unknown): void {
    if (!Array.isArray(value)) throw expected('a list', value)
    for (let index = value.length - 1; index >= 0; index--) {
      this.#path.push(index)
      this.#value(field, number, (value as unknown[])[index] ?? null)
      this.#path.pop()
    }
  }

  #map(field: FieldPlan, value: unknown): void {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw expected('an object', value)
    const map = value as Record<string, unknown>
    for (const key of Object.keys(map).sort().reverse()) {
      this.#path.push(key)
      const before = this.#writer.length
      const item = map[key] ?? null
      // Go leaves a nil byte string away inside a map entry.
      if (field.op !== OP_BYTES || item !== null) this.#value(field, 2, item)
      this.#writer.stringField(1, key)
      this.#writer.closeField(field.number, before)
      this.#path.pop()
    }
  }

  /** Writes one value under a field number; null stands for the zero value. */
  #value(field: FieldPlan, number: number, value: unknown): void {
    const writer = this.#writer
    switch (field.op) {
      case OP_STRING:
        if (value !== null && typeof value !== 'string') throw expected('a string', value)
        writer.stringField(number, value ?? '')
        return
      case OP_BOOL:
        if (value !== null && typeof value !== 'boolean') throw expected('a boolean', value)
        writer.varintField(number, value === true ? 1 : 0)
        return
      case OP_INT32:
        if (value !== null && !isInt32(value)) throw expected('a 32-bit integer', value)
        writer.varintField(number, value ?? 0)
        return
      case OP_INT64:
        writer.varintField(number, value === null ? 0 : toInt64(value))
        return
      case OP_DOUBLE:
        if (value !== null && typeof value !== 'number' && typeof value !== 'bigint') throw expected('a number', value)
        writer.doubleField(number, Number(value ?? 0))
        return
      case OP_BYTES:
        writer.bytesField(number, toBytes(value))
        return
      default:
        this.#nested(field, number, value)
    }
  }

  #nested(field: FieldPlan, number: number, value: unknown): void {
    const before = this.#writer.length
    if (field.op === OP_MESSAGE) this.#object(field.plan(), value)
    else if (field.op === OP_SPECIAL) field.special().write(value, this.#writer, this)
    else if (field.op === OP_WRAPPER && value !== null) this.#list(field.plan().slots[0] as FieldPlan, 1, value)
    this.#writer.closeField(number, before)
  }
}

function toInt64(value: unknown): number | bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value
  if (typeof value === 'bigint' && value >= minInt64 && value <= maxInt64) return value
  throw expected('a 64-bit integer', value)
}

function toBytes(value: unknown): Buffer {
  if (value === null) return Buffer.alloc(0)
  if (typeof value !== 'string') throw expected('a base64 string', value)
  const text = /[\r\n]/.test(value) ? value.replace(/[\r\n]/g, '') : value
  if (text.length % 4 !== 0 || !base64.test(text))
    throw new WireError('bad-value', 'expected base64, got something else')
  return Buffer.from(text, 'base64')
}

/** Longer paths are shown by their two ends. */
const maxShownSteps = 24

function formatPath(path: readonly (string | number)[]): string {
  const tooLong = path.length > maxShownSteps
  const shown = tooLong ? [...path.slice(0, maxShownSteps / 2), '…', ...path.slice(-maxShownSteps / 2)] : path
  let text = ''
  for (const step of shown) {
    if (typeof step === 'number') text += `[${step}]`
    else text += text === '' ? step : `.${step}`
  }
  return text
}
