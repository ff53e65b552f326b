/** Single fields between their bytes and their JSON value, by way of the codec. */

import type { ProtoReader } from '../../protobuf/reader.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import { type BackwardWriter, borrowWriter, returnWriter } from '../../protobuf/writer.ts'
import { MessageReader } from '../codec/decode.ts'
import { DroppedFields } from '../codec/dropped-fields.ts'
import { MessageWriter } from '../codec/encode.ts'
import { decodeProtobuf } from '../codec/object-codec.ts'
import type { FieldPlan } from '../codec/plan.ts'
import type { Occurrence } from './protobuf-fields.ts'

/** What the occurrences of one field say together; undefined if there are none. */
export function readFieldValue(reader: ProtoReader, field: FieldPlan, occurrences: readonly Occurrence[]): unknown {
  const messages = new MessageReader(new DroppedFields(), (bytes) => decodeProtobuf(bytes).object)
  let value: unknown
  for (const { wireType, lengthStart, end } of occurrences) {
    reader.pos = lengthStart
    value = messages.readOccurrence(field, wireType, value, reader, end)
  }
  return value
}

/** The field as its message has it, tags included, inside the given inlined messages (the outermost first). */
export function writeFieldValue(field: FieldPlan, value: unknown, inlines: readonly FieldPlan[] = []): Buffer {
  const writer = borrowWriter()
  writeExactly(writer, field, value ?? undefined)
  for (const inline of inlines.toReversed()) writer.closeField(inline.number, 0)
  const bytes = writer.finish()
  returnWriter(writer)
  return bytes
}

/** Unlike the codec, which reports what it had to leave away, an edit either does all that was asked or fails. */
function writeExactly(writer: BackwardWriter, field: FieldPlan, value: unknown): void {
  const dropped = new DroppedFields()
  const messages = new MessageWriter(writer, dropped)
  try {
    messages.writeField(field, value)
  } catch (error) {
    if (!(error instanceof WireError)) throw error
    throw new WireError(error.code, `${messages.path}: ${error.message}`, { cause: error })
  }
  if (dropped.count > 0) {
    throw new WireError('bad-value', `the schema has no field ${dropped.names.join(', ')}`)
  }
}
