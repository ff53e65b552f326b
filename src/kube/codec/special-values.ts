/** Values that JSON shows as one string or number, and fields that hold any JSON at all. */
import { type ProtoReader, WIRE_BYTES, WIRE_VARINT } from '../../protobuf/reader.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import { formatDuration, parseDuration } from './duration.ts'
import { printJson } from './json.ts'
import { canonicalQuantity } from './quantity.ts'
import { expected, isInt32, quote, readFields, type SpecialCodec } from './special-codec.ts'
import { formatMicroTime, formatTime, type Instant, parseTime, ZERO_TIME_SECONDS } from './time.ts'

/** Wire types by field number. */
const oneBytes = [undefined, WIRE_BYTES]
const oneVarint = [undefined, WIRE_VARINT]
const twoVarints = [undefined, WIRE_VARINT, WIRE_VARINT]
const intOrStringFields = [undefined, WIRE_VARINT, WIRE_VARINT, WIRE_BYTES]

export const quantity: SpecialCodec = {
  zero: '0',
  read(reader, end) {
    let text: string | undefined
    readFields(reader, end, oneBytes, (_number, to) => {
      text = reader.string(to)
    })
    // Kept as it came: what an API server stored is canonical already, and must be readable however odd it is.
    return text ?? '0'
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

export const intOrString: SpecialCodec = {
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

export const time: SpecialCodec = {
  zero: null,
  read(reader, end) {
    if (reader.pos === end) return null
    const { seconds } = readTimestamp(reader, end)
    return Number(seconds) === ZERO_TIME_SECONDS ? null : formatTime(seconds)
  },
  write(value, writer) {
    const instant = toInstant(value)
    if (instant === undefined) return
    writer.varintField(2, 0)
    writer.varintField(1, instant.seconds)
  },
}

export const microTime: SpecialCodec = {
  zero: null,
  read(reader, end) {
    if (reader.pos === end) return null
    const { seconds, nanoseconds } = readTimestamp(reader, end)
    const microseconds = Math.trunc(nanoseconds / 1000)
    const carry = Math.floor(microseconds / 1_000_000)
    const whole = carry === 0 ? seconds : BigInt(seconds) + BigInt(carry)
    const rest = microseconds - carry * 1_000_000
    return Number(whole) === ZERO_TIME_SECONDS && rest === 0 ? null : formatMicroTime(whole, rest)
  },
  write(value, writer) {
    const instant = toInstant(value)
    if (instant === undefined) return
    writer.varintField(2, instant.microseconds * 1000)
    writer.varintField(1, instant.seconds)
  },
}

function readTimestamp(reader: ProtoReader, end: number): { seconds: number | bigint; nanoseconds: number } {
  let seconds: number | bigint = 0
  let nanoseconds = 0
  readFields(reader, end, twoVarints, (number, to) => {
    if (number === 1) seconds = reader.int64(to)
    else nanoseconds = reader.int32(to)
  })
  return { seconds, nanoseconds }
}

/** undefined for null and for the one time that means null. */
function toInstant(value: unknown): Instant | undefined {
  if (value === null) return undefined
  if (typeof value !== 'string') throw expected('a time', value)
  const instant = parseTime(value)
  if (instant === undefined) {
    throw new WireError('bad-value', `${quote(value)} is no time: times look like 2026-01-02T03:04:05Z`)
  }
  return instant.seconds === ZERO_TIME_SECONDS && instant.microseconds === 0 ? undefined : instant
}

export const duration: SpecialCodec = {
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
export function rawCodec(parse: (text: string) => unknown): SpecialCodec {
  return {
    zero: null,
    read(reader, end, source) {
      const raw = readRaw(reader, end)
      if (raw.length === 0) return null
      return raw[0] === envelopeStart ? source.readEnveloped(raw) : parse(raw.toString('utf8'))
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
