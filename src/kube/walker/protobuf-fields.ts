/** Where the fields of one protobuf message lie, without their values. */

import { type ProtoReader, WIRE_BYTES } from '../../protobuf/reader.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import type { FieldPlan, FieldTable, MessagePlan } from '../codec/plan.ts'

/** One tag and value on the wire. */
export interface Occurrence {
  readonly wireType: number
  readonly tagStart: number
  /** Where the tag ends: the length of a length-delimited value stands here, any other value itself. */
  readonly lengthStart: number
  readonly valueStart: number
  readonly end: number
}

export interface FoundField {
  readonly occurrences: readonly Occurrence[]
  /** Where the field belongs if it is to be added: before the first field with a greater number. */
  readonly insertAt: number
}

/** How to get from a message to one of the fields that JSON shows in it: through the messages inlined into it. */
export interface FieldRoute {
  readonly inlines: readonly FieldPlan[]
  readonly field: FieldPlan
}

export function findField(reader: ProtoReader, start: number, end: number, number: number): FoundField {
  const occurrences: Occurrence[] = []
  let insertAt = -1
  reader.pos = start
  while (reader.pos < end) {
    const tagStart = reader.pos
    const tag = reader.uint32(end)
    const found = tag >>> 3
    const wireType = tag & 7
    if (found === 0) throw new WireError('malformed', `field number 0 at byte ${tagStart}`)
    if (found > number && insertAt === -1) insertAt = tagStart
    const lengthStart = reader.pos
    const valueEnd = wireType === WIRE_BYTES ? reader.lengthDelimited(end) : -1
    const valueStart = reader.pos
    if (valueEnd === -1) reader.skip(wireType, end)
    else reader.pos = valueEnd
    if (found === number) occurrences.push({ wireType, tagStart, lengthStart, valueStart, end: reader.pos })
  }
  return { occurrences, insertAt: insertAt === -1 ? end : insertAt }
}

/** The message in a single field; one that occurs twice is refused, as by the codec. */
export function findMessage(reader: ProtoReader, start: number, end: number, number: number): Occurrence | undefined {
  const [found, second] = findField(reader, start, end, number).occurrences
  if (second !== undefined) throw new WireError('malformed', `the single field ${number} occurs twice`)
  if (found !== undefined) requireBytes(found, `field ${number}`)
  return found
}

export function requireBytes(occurrence: Occurrence, name: string): void {
  if (occurrence.wireType === WIRE_BYTES) return
  throw new WireError('wrong-wire-type', `${name} at byte ${occurrence.tagStart} has wire type ${occurrence.wireType}`)
}

const routes = new WeakMap<MessagePlan, Map<string, FieldRoute>>()

/** undefined where the schema has no such field. */
export function routeTo(plan: MessagePlan, jsonName: string): FieldRoute | undefined {
  let known = routes.get(plan)
  if (known === undefined) {
    known = new Map()
    collectRoutes(plan.table, [], known)
    routes.set(plan, known)
  }
  return known.get(jsonName)
}

function collectRoutes(table: FieldTable, inlines: readonly FieldPlan[], found: Map<string, FieldRoute>): void {
  for (const field of table.ascending) {
    if (field.field.inline) collectRoutes(field.inlined, [...inlines, field], found)
    else found.set(field.name, { inlines, field })
  }
}
