/**
 * Protobuf by table: a message is a table of fields, and one encoder and one decoder serve them all. What is not in the
 * table is skipped when read; what is undefined is not written.
 */
import { ProtoReader, WIRE_BYTES, WIRE_VARINT } from '../../../protobuf/reader.ts'
import { WireError } from '../../../protobuf/wire-error.ts'
import { BackwardWriter } from '../../../protobuf/writer.ts'

interface ScalarTypes {
  bytes: Buffer
  string: string
  bool: boolean
  /** An int64 or an enum whose values stay exact in a number: revisions, counts, sizes. */
  integer: number
  /** An int64 that uses all its bits. */
  id: number | bigint
}

type Scalar = keyof ScalarTypes

export interface Field {
  readonly number: number
  readonly type: Scalar | MessageTable
  readonly repeated?: true
}

export type MessageTable = { readonly [name: string]: Field }

/** A message as it is given to the encoder. */
export type Input<Table extends MessageTable> = { readonly [Name in keyof Table]?: InputOf<Table[Name]> }
/** A message as the decoder gives it: scalars have their zero value where the wire has none. */
export type Output<Table extends MessageTable> = { readonly [Name in keyof Table]: OutputOf<Table[Name]> }

type InputOf<F extends Field> = F extends { readonly repeated: true } ? readonly SingleInput<F>[] : SingleInput<F>
type SingleInput<F extends Field> = F['type'] extends Scalar
  ? ScalarTypes[F['type']]
  : F['type'] extends MessageTable
    ? Input<F['type']>
    : never

type OutputOf<F extends Field> = F extends { readonly repeated: true }
  ? readonly SingleOutput<F>[]
  : F['type'] extends Scalar
    ? SingleOutput<F>
    : SingleOutput<F> | undefined
type SingleOutput<F extends Field> = F['type'] extends Scalar
  ? ScalarTypes[F['type']]
  : F['type'] extends MessageTable
    ? Output<F['type']>
    : never

export function encode<Table extends MessageTable>(table: Table, message: Input<Table>): Buffer {
  const writer = new BackwardWriter()
  writeMessage(writer, table, message)
  return writer.finish()
}

export function decode<Table extends MessageTable>(table: Table, bytes: Buffer): Output<Table> {
  return readMessage(new ProtoReader(bytes), table, bytes.length) as Output<Table>
}

type Untyped = Readonly<Record<string, unknown>>

/** Backwards, as the writer wants it: the last field and the last element first. */
function writeMessage(writer: BackwardWriter, table: MessageTable, message: Untyped): void {
  for (const [name, field] of Object.entries(table).toReversed()) {
    const value = message[name]
    if (value === undefined) continue
    if (field.repeated !== true) writeField(writer, field, value)
    else for (const element of (value as readonly unknown[]).toReversed()) writeField(writer, field, element)
  }
}

function writeField(writer: BackwardWriter, { number, type }: Field, value: unknown): void {
  switch (type) {
    case 'bytes':
      writer.bytesField(number, value as Buffer)
      break
    case 'string':
      writer.stringField(number, value as string)
      break
    case 'bool':
      writer.varintField(number, value === true ? 1 : 0)
      break
    case 'integer':
    case 'id':
      writer.varintField(number, value as number | bigint)
      break
    default: {
      const before = writer.length
      writeMessage(writer, type, value as Untyped)
      writer.closeField(number, before)
    }
  }
}

const ZERO: Readonly<Record<Scalar, unknown>> = { bytes: Buffer.alloc(0), string: '', bool: false, integer: 0, id: 0 }

/** A table turned round for reading: lists have thousands of messages of one kind. */
interface ReadPlan {
  /** By field number. */
  readonly fields: readonly ({ readonly name: string; readonly field: Field } | undefined)[]
  /** The fields that are there also when the wire has none. */
  readonly blank: Untyped
  readonly repeated: readonly string[]
}

const readPlans = new WeakMap<MessageTable, ReadPlan>()

function readPlanOf(table: MessageTable): ReadPlan {
  let plan = readPlans.get(table)
  if (plan === undefined) {
    plan = makeReadPlan(table)
    readPlans.set(table, plan)
  }
  return plan
}

function makeReadPlan(table: MessageTable): ReadPlan {
  const fields: { name: string; field: Field }[] = []
  const blank: Record<string, unknown> = {}
  const repeated: string[] = []
  for (const [name, field] of Object.entries(table)) {
    fields[field.number] = { name, field }
    blank[name] = typeof field.type === 'string' ? ZERO[field.type] : undefined
    if (field.repeated === true) repeated.push(name)
  }
  return { fields, blank, repeated }
}

function readMessage(reader: ProtoReader, table: MessageTable, end: number): Record<string, unknown> {
  const { fields, blank, repeated } = readPlanOf(table)
  const message: Record<string, unknown> = { ...blank }
  for (const name of repeated) message[name] = []
  while (reader.pos < end) {
    const tag = reader.uint32(end)
    const found = fields[tag >>> 3]
    if (found === undefined) {
      reader.skip(tag & 7, end)
      continue
    }
    const value = readField(reader, found.field, tag & 7, end)
    if (found.field.repeated === true) (message[found.name] as unknown[]).push(value)
    else message[found.name] = value
  }
  return message
}

function readField(reader: ProtoReader, { number, type }: Field, wireType: number, end: number): unknown {
  const isVarint = type === 'bool' || type === 'integer' || type === 'id'
  if (wireType !== (isVarint ? WIRE_VARINT : WIRE_BYTES)) {
    throw new WireError('wrong-wire-type', `field ${number} comes with wire type ${wireType}`)
  }
  if (type === 'bool') return reader.bool(end)
  if (type === 'integer') return Number(reader.int64(end))
  if (type === 'id') return reader.int64(end)
  const to = reader.lengthDelimited(end)
  if (type === 'string') return reader.string(to)
  if (typeof type === 'object') return readMessage(reader, type, to)
  const bytes = reader.bytes.subarray(reader.pos, to)
  reader.pos = to
  return bytes
}
