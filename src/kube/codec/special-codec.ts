/** What a hand-written codec of one message is, and what those codecs share. */
import { type ProtoReader, WIRE_BYTES } from '../../protobuf/reader.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import type { BackwardWriter } from '../../protobuf/writer.ts'

/** The way back into the general reader, for special messages that contain ordinary ones. */
export interface MessageSource {
  readMessage(fullName: string, reader: ProtoReader, end: number): unknown
  /** Reads bytes that carry the Kubernetes envelope. */
  readEnveloped(bytes: Uint8Array): unknown
}

/** The way back into the general writer. */
export interface MessageSink {
  writeMessage(fullName: string, value: unknown): void
}

export interface SpecialCodec {
  /** What JSON shows for a message without content. */
  readonly zero: unknown
  read(reader: ProtoReader, end: number, source: MessageSource): unknown
  /** Writes the content for a JSON value; null stands for the zero value. */
  write(value: unknown, writer: BackwardWriter, sink: MessageSink): void
}

/**
 * Calls `onField` with the reader on the value of each field that `wireTypes` knows, and steps over the others. `to` is
 * the end of a length-delimited value.
 */
export function readFields(
  reader: ProtoReader,
  end: number,
  wireTypes: readonly (number | undefined)[],
  onField: (number: number, to: number) => void,
): void {
  while (reader.pos < end) {
    const tag = reader.uint32(end)
    const number = tag >>> 3
    const wireType = tag & 7
    if (wireTypes[number] === undefined) {
      reader.skip(wireType, end)
      continue
    }
    if (wireType !== wireTypes[number])
      throw new WireError('wrong-wire-type', `field ${number} has wire type ${wireType}`)
    onField(number, wireType === WIRE_BYTES ? reader.lengthDelimited(end) : end)
  }
}

export function isInt32(value: unknown): value is number {
  return typeof value === 'number' && (value | 0) === value
}

export function expected(what: string, value: unknown): WireError {
  return new WireError('bad-value', `expected ${what}, got ${describe(value)}`)
}

function describe(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string') return `the string ${quote(value)}`
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return `the ${typeof value} ${value}`
  return 'an object'
}

export function quote(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text)
}
