/**
 * Follows a path through protobuf and collects the splices of one edit, with the lengths of all messages around them.
 * Recursion goes as deep as the path, never as deep as the document.
 */

import { ProtoReader, WIRE_BYTES } from '../../protobuf/reader.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import { printedField } from '../codec/decode.ts'
import { type FieldPlan, type MessagePlan, OP_BYTES, OP_MESSAGE, OP_SPECIAL, OP_WRAPPER } from '../codec/plan.ts'
import { readFieldValue, writeFieldValue } from './protobuf-field-value.ts'
import {
  type FieldRoute,
  type FoundField,
  findField,
  findMessage,
  type Occurrence,
  requireBytes,
  routeTo,
} from './protobuf-fields.ts'
import { SpliceList } from './splices.ts'
import { ANY_ITEM, type FieldEdit, FieldProbe, formatFieldPath, type ListStep, type PathStep } from './walker.ts'

export class ProtobufEdit {
  readonly #reader: ProtoReader
  readonly #edit: FieldEdit
  readonly #splices: SpliceList

  constructor(bytes: Buffer, edit: FieldEdit) {
    this.#reader = new ProtoReader(bytes)
    this.#edit = edit
    this.#splices = new SpliceList(bytes)
  }

  /** Applies the edit to a message that fills the bytes. Returns the changed bytes, or undefined if nothing changed. */
  run(plan: MessagePlan): Buffer | undefined {
    try {
      this.#message(plan, 0, this.#reader.bytes.length, 0)
    } catch (error) {
      if (!(error instanceof WireError)) throw error
      const { fullName } = plan.message
      const where = `${fullName.slice(fullName.lastIndexOf('.') + 1)} ${formatFieldPath(this.#edit.path)}`
      throw new WireError(error.code, `${where}: ${error.message}`, { cause: error })
    }
    return this.#splices.apply()
  }

  #message(plan: MessagePlan, start: number, end: number, depth: number): void {
    const name = this.#edit.path[depth]
    if (typeof name !== 'string') return
    const route = routeTo(plan, name)
    if (route !== undefined) this.#follow(route, 0, start, end, depth)
    else if (this.#isLast(depth)) this.#unknownField(plan, name)
  }

  #unknownField(plan: MessagePlan, name: string): void {
    if (this.#edit.replace(undefined) === undefined) return
    throw new WireError('bad-value', `${plan.message.fullName} has no field ${name} that could be written as protobuf`)
  }

  /** Goes through the inlined messages of a route to its field. */
  #follow(route: FieldRoute, level: number, start: number, end: number, depth: number): void {
    const inline = route.inlines[level]
    if (inline === undefined) {
      this.#field(route.field, start, end, depth)
      return
    }
    const { occurrences, insertAt } = findField(this.#reader, start, end, inline.number)
    const [inlined, second] = occurrences
    if (second !== undefined) throw new WireError('malformed', `a second inlined message at byte ${second.tagStart}`)
    if (inlined !== undefined) {
      this.#within(inlined, () => this.#follow(route, level + 1, inlined.valueStart, inlined.end, depth))
    } else if (this.#isLast(depth)) this.#addField(route.field, insertAt, route.inlines.slice(level))
  }

  #field(field: FieldPlan, start: number, end: number, depth: number): void {
    const found = findField(this.#reader, start, end, field.number)
    const last = found.occurrences.at(-1)
    if (this.#isLast(depth)) {
      if (last === undefined) this.#addField(field, found.insertAt, [])
      else this.#changeField(field, found, (value) => this.#edit.replace(value))
    } else if (last !== undefined) {
      if (field.isList) this.#list(field, found, depth + 1)
      else if (field.isMap) this.#map(field, found, depth + 1)
      else if (found.occurrences.length === 1) this.#element(field, last, depth + 1)
      else throw new WireError('malformed', `the single field ${field.name} occurs twice`)
    }
  }

  /** Goes on inside one value: that of a single field, of a list item or of a map entry. */
  #element(field: FieldPlan, value: Occurrence, depth: number): void {
    if (field.op === OP_MESSAGE) {
      this.#within(value, () => this.#message(field.plan(), value.valueStart, value.end, depth))
    } else if (field.op === OP_WRAPPER) {
      const list = field.plan().slots[0] as FieldPlan
      this.#within(value, () => {
        this.#list(list, findField(this.#reader, value.valueStart, value.end, list.number), depth)
      })
    } else if (field.op === OP_SPECIAL) {
      throw new WireError('bad-value', `${field.name} has to be read or replaced as a whole`)
    }
  }

  #list(field: FieldPlan, found: FoundField, depth: number): void {
    const step = this.#edit.path[depth] as PathStep
    if (typeof step === 'string' || found.occurrences.length === 0) return
    if (field.op <= OP_BYTES) {
      // Scalars may be packed into one value, and nothing unknown can hide in them: the list is written as a whole.
      if (this.#isLast(depth)) this.#changeField(field, found, (list) => this.#replaceItems(list as unknown[], step))
      return
    }
    for (const item of this.#select(field, found.occurrences, step)) {
      if (this.#isLast(depth)) this.#changeItem(field, item)
      else this.#element(field, item, depth + 1)
    }
  }

  #select(field: FieldPlan, items: readonly Occurrence[], step: ListStep): readonly Occurrence[] {
    if (step === ANY_ITEM) return items
    if (typeof step === 'number') return items.filter((_item, index) => index === step)
    if (field.op !== OP_MESSAGE) return []
    return items.filter((item) => {
      requireBytes(item, field.name)
      const probe = new FieldProbe([step.key])
      new ProtobufEdit(this.#reader.bytes, probe).#message(field.plan(), item.valueStart, item.end, 0)
      return probe.found === step.equals
    })
  }

  #replaceItems(list: unknown[], step: ListStep): unknown[] {
    if (typeof step === 'object') return list
    const replaced = list.map((item, index) => (step === ANY_ITEM || step === index ? this.#edit.replace(item) : item))
    return replaced.every((item, index) => item === list[index]) ? list : replaced.filter((item) => item !== undefined)
  }

  #map(field: FieldPlan, found: FoundField, depth: number): void {
    const key = this.#edit.path[depth]
    if (typeof key !== 'string') return
    const keyed = found.occurrences.map((entry) => ({ entry, key: this.#entryKey(field, entry) }))
    const entries = keyed.filter((candidate) => candidate.key === key).map(({ entry }) => entry)
    if (this.#isLast(depth)) {
      const behind = keyed.find((candidate) => candidate.key > key)?.entry.tagStart
      this.#changeEntry(field, key, entries, behind ?? found.occurrences.at(-1)?.end ?? found.insertAt)
      return
    }
    const last = entries.at(-1)
    const value = last && findMessage(this.#reader, last.valueStart, last.end, 2)
    if (last && value) this.#within(last, () => this.#element(field, value, depth + 1))
  }

  #entryKey(field: FieldPlan, entry: Occurrence): string {
    requireBytes(entry, field.name)
    const key = findField(this.#reader, entry.valueStart, entry.end, 1).occurrences.findLast(
      ({ wireType }) => wireType === WIRE_BYTES,
    )
    return key === undefined ? '' : this.#reader.bytes.toString('utf8', key.valueStart, key.end)
  }

  #changeField(field: FieldPlan, found: FoundField, replace: (value: unknown) => unknown): void {
    const before = printedField(field, readFieldValue(this.#reader, field, found.occurrences))
    const after = replace(before)
    if (after !== before) this.#put(found.occurrences, writeFieldValue(field, after))
  }

  /** Adds a field that does not occur, in the inlined messages that are missing around it. */
  #addField(field: FieldPlan, insertAt: number, missingInlines: readonly FieldPlan[]): void {
    const before = printedField(field, undefined)
    const after = this.#edit.replace(before)
    if (after === before) return
    this.#splices.replace(insertAt, insertAt, writeFieldValue(field, after, missingInlines))
  }

  #changeItem(field: FieldPlan, item: Occurrence): void {
    const [before] = readFieldValue(this.#reader, field, [item]) as unknown[]
    const after = this.#edit.replace(before)
    if (after === before) return
    if (after === undefined) this.#splices.remove(item.tagStart, item.end)
    else this.#splices.replace(item.tagStart, item.end, writeFieldValue(field, [after]))
  }

  #changeEntry(field: FieldPlan, key: string, entries: readonly Occurrence[], insertAt: number): void {
    const map = readFieldValue(this.#reader, field, entries) as Record<string, unknown> | undefined
    const before = map === undefined ? undefined : Object.entries(map)[0]?.[1]
    const after = this.#edit.replace(before)
    if (after === before) return
    const bytes = writeFieldValue(field, after === undefined ? undefined : Object.fromEntries([[key, after]]))
    if (entries.length === 0) this.#splices.replace(insertAt, insertAt, bytes)
    else this.#put(entries, bytes)
  }

  /** Puts bytes in the place of the first of these; occurrences that follow each other directly count as one. */
  #put(occurrences: readonly Occurrence[], bytes: Uint8Array): void {
    let replacement: Uint8Array | undefined = bytes
    for (let index = 0; index < occurrences.length; ) {
      const first = occurrences[index] as Occurrence
      let end = first.end
      for (index++; occurrences[index]?.tagStart === end; index++) end = (occurrences[index] as Occurrence).end
      this.#splices.replace(first.tagStart, end, replacement ?? nothing)
      replacement = undefined
    }
  }

  #within(message: Occurrence, change: () => void): void {
    requireBytes(message, 'a message')
    this.#splices.withinLength(message.lengthStart, message.valueStart, message.end, change)
  }

  #isLast(depth: number): boolean {
    return depth === this.#edit.path.length - 1
  }
}

const nothing = new Uint8Array(0)
