/**
 * The envelope in which Kubernetes sends a protobuf object: four magic bytes, then a `runtime.Unknown` message.
 *
 * | field | type | meaning |
 * |---|---|---|
 * | 1 | message | 1 apiVersion, 2 kind |
 * | 2 | bytes | the object itself |
 * | 3 | string | content encoding; empty, nothing else is defined |
 * | 4 | string | content type; empty for protobuf, `application/json` where the object is JSON |
 */
import { ProtoReader, WIRE_BYTES } from '../protobuf/reader.ts'
import { WireError } from '../protobuf/wire-error.ts'
import { type BackwardWriter, borrowWriter, returnWriter } from '../protobuf/writer.ts'

const magic = Buffer.from('k8s\0', 'latin1')

export interface Envelope {
  readonly apiVersion: string
  readonly kind: string
  readonly contentEncoding: string
  readonly contentType: string
  /** Where the object lies in the bytes that were read: `[rawStart, rawEnd)`. Empty when there is none. */
  readonly rawStart: number
  readonly rawEnd: number
}

export function hasEnvelope(bytes: Uint8Array): boolean {
  return bytes[0] === magic[0] && bytes[1] === magic[1] && bytes[2] === magic[2] && bytes[3] === magic[3]
}

export function readEnvelope(bytes: Uint8Array): Envelope {
  if (!hasEnvelope(bytes)) {
    throw new WireError('unknown-kind', 'not a Kubernetes protobuf object: it does not start with "k8s\\0"')
  }
  const reader = new ProtoReader(bytes, magic.length)
  const end = bytes.length
  let typeMeta = { apiVersion: '', kind: '' }
  let contentEncoding = ''
  let contentType = ''
  let rawStart = end
  let rawEnd = end
  let seen = 0
  while (reader.pos < end) {
    const tag = reader.uint32(end)
    const number = tag >>> 3
    if (number < 1 || number > 4) {
      reader.skip(tag & 7, end)
      continue
    }
    if ((seen & (1 << number)) !== 0) throw new WireError('malformed', `envelope field ${number} occurs twice`)
    seen |= 1 << number
    if ((tag & 7) !== WIRE_BYTES)
      throw new WireError('wrong-wire-type', `envelope field ${number} is not length-delimited`)
    const valueEnd = reader.lengthDelimited(end)
    if (number === 1) typeMeta = readTypeMeta(reader, valueEnd)
    else if (number === 2) {
      rawStart = reader.pos
      rawEnd = valueEnd
    } else if (number === 3) contentEncoding = reader.string(valueEnd)
    else contentType = reader.string(valueEnd)
    reader.pos = valueEnd
  }
  return { apiVersion: typeMeta.apiVersion, kind: typeMeta.kind, contentEncoding, contentType, rawStart, rawEnd }
}

/** Writes the object with `writeRaw` into a new envelope. */
export function writeEnvelope(apiVersion: string, kind: string, writeRaw: (writer: BackwardWriter) => void): Buffer {
  const writer = borrowWriter()
  writer.stringField(4, '')
  writer.stringField(3, '')
  const beforeRaw = writer.length
  writeRaw(writer)
  writer.closeField(2, beforeRaw)
  const beforeType = writer.length
  writer.stringField(2, kind)
  writer.stringField(1, apiVersion)
  writer.closeField(1, beforeType)
  writer.bytes(magic)
  const bytes = writer.finish()
  returnWriter(writer)
  return bytes
}

/** What stands around an object of a known length that is sent in pieces. */
export function envelopeAround(apiVersion: string, kind: string, rawBytes: number): { head: Buffer; tail: Buffer } {
  const whole = writeEnvelope(apiVersion, kind, () => {})
  const { rawStart } = readEnvelope(whole)
  const writer = borrowWriter()
  writer.uint32(rawBytes)
  // Without the length of nothing, which is one byte.
  writer.bytes(whole.subarray(0, rawStart - 1))
  const head = writer.finish()
  returnWriter(writer)
  return { head, tail: whole.subarray(rawStart) }
}

function readTypeMeta(reader: ProtoReader, end: number): { apiVersion: string; kind: string } {
  const typeMeta = { apiVersion: '', kind: '' }
  while (reader.pos < end) {
    const tag = reader.uint32(end)
    const number = tag >>> 3
    if ((tag & 7) !== WIRE_BYTES || (number !== 1 && number !== 2)) {
      reader.skip(tag & 7, end)
      continue
    }
    const text = reader.string(reader.lengthDelimited(end))
    if (number === 1) typeMeta.apiVersion = text
    else typeMeta.kind = text
  }
  return typeMeta
}
