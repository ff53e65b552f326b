/**
 * The messages whose JSON form is not that of their fields. Each entry reads the content of one message, writes it, and
 * says what an API server prints for a message without content.
 */
import { type ProtoReader, wireBytes, wireVarint } from '../protobuf/reader.ts'
import { WireError } from '../protobuf/wire-error.ts'
import type { BackwardWriter } from '../protobuf/writer.ts'
import { formatDuration, parseDuration } from './duration.ts'
import { parseJson, parseRawJson, printJson } from './json.ts'
import { canonicalQuantity } from './quantity.ts'
import { formatMicroTime, formatTime, parseTime } from './time.ts'

/** The way back into the general codec, for special messages that contain ordinary ones. */
export interface Recursion {
  readMessage(fullName: string, reader: ProtoReader, end: number): unknown
  /** Reads bytes that carry the Kubernetes envelope. */
  readEnveloped(bytes: Uint8Array): unknown
  writeMessage(fullName: string, value: unknown, writer: BackwardWriter): void
}

export interface SpecialCodec {
  /** What JSON shows for a message without content. */
  readonly zero: unknown
  read(reader: ProtoReader, end: number, recursion: Recursion): unknown
  /** Writes the content for a JSON value; null stands for the zero value. */
  write(value: unknown, writer: BackwardWriter, recursion: Recursion): void
}

export function specialCodec(fullName: string): SpecialCodec {
  const codec = codecs.get(fullName)
  if (codec === undefined) throw new Error(`no codec for the special message ${fullName}`)
  return codec
}

const quantity: SpecialCodec = {
  zero: '0',
  read(reader, end) {
    let text: string | undefined
    readFields(reader, end, oneBytes, (_number, to) => {
      text = reader.string(to)
    })
    return text === undefined ? '0' : toCanonical(text)
  },
  write(value, writer) {
    if (value !== null && typeof value !== 'string' && typeof value !== 'number') throw expected('a quantity', value)
    writer.stringField(1, value === null ? '0' : toCanonical(String(value)))
  },
}

function toCanonical(text: string): string {
  const canonical = canonicalQuantity(text)
  if (canonical === undefined) {
    throw new WireError('bad-value', `${quote(text)} is no quantity: quantities look like 500m, 1.5Gi or 3e6`)
  }
  return canonical
}

const intOrString: SpecialCodec = {
  zero: 0,
  read(reader, end) {
    let [isString, integer, text] = [false, 0, '']
    readFields(reader, end, intOrStringFields, (number, to) => {
      if (number === 1) isString = reader.int64(to) === 1
      else if (number === 2) integer = reader.int32(to)
      else text = reader.string(to)
    })
    return isString ? text : integer
  },
  write(value, writer) {
    if (value !== null && typeof value !== 'string' && !isInt32(value)) throw expected('an integer or a string', value)
    writer.stringField(3, typeof value === 'string' ? value : '')
    writer.varintField(2, typeof value === 'number' ? value : 0)
    writer.varintField(1, typeof value === 'string' ? 1 : 0)
  },
}

const time: SpecialCodec = {
  zero: null,
  read(reader, end) {
    if (reader.pos === end) return null
    const { seconds } = readTimestamp(reader, end)
    return formatTime(seconds) ?? outOfRange(seconds)
  },
  write(value, writer) {
    if (value === null) return
    const instant = toInstant(value)
    writer.varintField(2, 0)
    writer.varintField(1, instant.seconds)
  },
}

const microTime: SpecialCodec = {
  zero: null,
  read(reader, end) {
    if (reader.pos === end) return null
    const { seconds, nanoseconds } = readTimestamp(reader, end)
    const microseconds = Math.trunc(nanoseconds / 1000)
    const carry = Math.floor(microseconds / 1_000_000)
    const instant = { seconds: seconds + carry, microseconds: microseconds - carry * 1_000_000 }
    return formatMicroTime(instant) ?? outOfRange(seconds)
  },
  write(value, writer) {
    if (value === null) return
    const instant = toInstant(value)
    writer.varintField(2, instant.microseconds * 1000)
    writer.varintField(1, instant.seconds)
  },
}

function readTimestamp(reader: ProtoReader, end: number): { seconds: number; nanoseconds: number } {
  let [seconds, nanoseconds] = [0, 0]
  readFields(reader, end, twoVarints, (number, to) => {
    if (number === 1) seconds = Number(reader.int64(to))
    else nanoseconds = reader.int32(to)
  })
  return { seconds, nanoseconds }
}

function toInstant(value: unknown): { seconds: number; microseconds: number } {
  if (typeof value !== 'string') throw expected('a time', value)
  const instant = parseTime(value)
  if (instant === undefined) {
    throw new WireError('bad-value', `${quote(value)} is no time: times look like 2026-01-02T03:04:05Z`)
  }
  return instant
}

function outOfRange(seconds: number): never {
  throw new WireError('bad-value', `${seconds} seconds lie outside the years 1 to 9999`)
}

const duration: SpecialCodec = {
  zero: '0s',
  read(reader, end) {
    let nanoseconds = 0n
    readFields(reader, end, oneVarint, (_number, to) => {
      nanoseconds = BigInt(reader.int64(to))
    })
    return formatDuration(nanoseconds)
  },
  write(value, writer) {
    if (value !== null && typeof value !== 'string') throw expected('a duration', value)
    const nanoseconds = value === null ? 0n : parseDuration(value)
    if (nanoseconds === undefined) {
      throw new WireError('bad-value', `${quote(String(value))} is no duration: durations look like 1h30m or 1.5s`)
    }
    writer.varintField(1, nanoseconds)
  },
}

/** A field that holds any JSON. Where an object came as protobuf, its bytes may be an enveloped object instead. */
function rawCodec(parse: (text: string) => unknown): SpecialCodec {
  return {
    zero: null,
    read(reader, end, recursion) {
      const raw = readRaw(reader, end)
      if (raw.length === 0) return null
      return raw[0] === envelopeStart ? recursion.readEnveloped(raw) : parse(raw.toString('utf8'))
    },
    write(value, writer) {
      if (value === null) return
      writer.stringField(1, printJson(value))
    },
  }
}

/** The first byte of `k8s\0`; no JSON text starts with it. */
const envelopeStart = 'k'.charCodeAt(0)

function readRaw(reader: ProtoReader, end: number): Buffer {
  let raw: Buffer = Buffer.alloc(0)
  readFields(reader, end, oneBytes, (_number, to) => {
    raw = reader.bytes.subarray(reader.pos, to)
    reader.pos = to
  })
  return raw
}

/** Either one message or something simpler: the shape of three types in a CRD's schema. */
function schemaOrBool(schemaName: string): SpecialCodec {
  return {
    zero: false,
    read(reader, end, recursion) {
      let [allows, schema]: [boolean, unknown] = [false, undefined]
      readFields(reader, end, varintAndBytes, (number, to) => {
        if (number === 1) allows = reader.bool(to)
        else schema = recursion.readMessage(schemaName, reader, to)
      })
      return schema ?? allows
    },
    write(value, writer, recursion) {
      const isSchema = typeof value === 'object' && value !== null
      if (!isSchema && typeof value !== 'boolean' && value !== null) throw expected('a schema or a boolean', value)
      if (isSchema) writeNested(writer, 2, () => recursion.writeMessage(schemaName, value, writer))
      writer.varintField(1, isSchema || value === true ? 1 : 0)
    },
  }
}

function schemaOrArray(schemaName: string): SpecialCodec {
  return {
    zero: null,
    read(reader, end, recursion) {
      let schema: unknown = null
      const list: unknown[] = []
      readFields(reader, end, twoBytes, (number, to) => {
        if (number === 1) schema = recursion.readMessage(schemaName, reader, to)
        else list.push(recursion.readMessage(schemaName, reader, to))
      })
      return list.length > 0 ? list : schema
    },
    write(value, writer, recursion) {
      if (value === null) return
      if (typeof value !== 'object') throw expected('a schema or a list of schemas', value)
      const list: unknown[] = Array.isArray(value) ? value : []
      for (const item of list.toReversed())
        writeNested(writer, 2, () => recursion.writeMessage(schemaName, item, writer))
      if (!Array.isArray(value)) writeNested(writer, 1, () => recursion.writeMessage(schemaName, value, writer))
    },
  }
}

function schemaOrStringArray(schemaName: string): SpecialCodec {
  return {
    zero: null,
    read(reader, end, recursion) {
      let schema: unknown = null
      const names: string[] = []
      readFields(reader, end, twoBytes, (number, to) => {
        if (number === 1) schema = recursion.readMessage(schemaName, reader, to)
        else names.push(reader.string(to))
      })
      return names.length > 0 ? names : schema
    },
    write(value, writer, recursion) {
      if (value === null) return
      if (typeof value !== 'object') throw expected('a schema or a list of strings', value)
      const names: unknown[] = Array.isArray(value) ? value : []
      for (const name of names.toReversed()) {
        if (typeof name !== 'string') throw expected('a string', name)
        writer.stringField(2, name)
      }
      if (!Array.isArray(value)) writeNested(writer, 1, () => recursion.writeMessage(schemaName, value, writer))
    },
  }
}

function writeNested(writer: BackwardWriter, number: number, write: () => void): void {
  const before = writer.length
  write()
  writer.closeField(number, before)
}

/**
 * Calls `onField` with the reader on the value of each field that `wireTypes` knows, and steps over the others. `to` is
 * the end of a length-delimited value.
 */
function readFields(
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
    onField(number, wireType === wireBytes ? reader.lengthDelimited(end) : end)
  }
}

/** Wire types by field number of the messages below. */
const oneBytes = [undefined, wireBytes]
const oneVarint = [undefined, wireVarint]
const twoVarints = [undefined, wireVarint, wireVarint]
const twoBytes = [undefined, wireBytes, wireBytes]
const varintAndBytes = [undefined, wireVarint, wireBytes]
const intOrStringFields = [undefined, wireVarint, wireVarint, wireBytes]

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

function quote(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text)
}

const meta = 'k8s.io.apimachinery.pkg.apis.meta.v1'
const extensions = 'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions'
const rawJson = rawCodec(parseRawJson)

const codecs = new Map<string, SpecialCodec>([
  ['k8s.io.apimachinery.pkg.api.resource.Quantity', quantity],
  ['k8s.io.apimachinery.pkg.api.resource.QuantityValue', quantity],
  ['k8s.io.apimachinery.pkg.util.intstr.IntOrString', intOrString],
  ['k8s.io.apimachinery.pkg.runtime.RawExtension', rawJson],
  ['k8s.io.apimachinery.pkg.runtime.Unknown', rawJson],
  [`${meta}.Time`, time],
  [`${meta}.MicroTime`, microTime],
  [`${meta}.Duration`, duration],
  // Written by API servers alone and always plain: not worth the comparison that other raw JSON gets.
  [`${meta}.FieldsV1`, rawCodec(parseJson)],
  ...['v1', 'v1beta1'].flatMap((version): [string, SpecialCodec][] => {
    const home = `${extensions}.${version}`
    const schema = `${home}.JSONSchemaProps`
    return [
      [`${home}.JSON`, rawJson],
      [`${home}.JSONSchemaPropsOrBool`, schemaOrBool(schema)],
      [`${home}.JSONSchemaPropsOrArray`, schemaOrArray(schema)],
      [`${home}.JSONSchemaPropsOrStringArray`, schemaOrStringArray(schema)],
    ]
  }),
])
