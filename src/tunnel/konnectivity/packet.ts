/** The packets of konnectivity (apiserver-network-proxy v0.36), which both of its services carry in both directions. */
import { ForwardWriter } from '../../protobuf/forward-writer.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import { FieldReader, PacketError } from './wire.ts'

/** Text from a peer that goes into logs and answers; longer ones are cut. */
export const MAX_PACKET_TEXT_CHARACTERS = 1024

export interface DialRequest {
  readonly type: 'dial-request'
  readonly protocol: string
  /** `host:port`. */
  readonly address: string
  /** Chosen by who dials, and named in the answer. 64 bits. */
  readonly random: bigint
}

export interface DialResponse {
  readonly type: 'dial-response'
  /** Empty where the dial succeeded. */
  readonly error: string
  readonly connectId: number
  readonly random: bigint
}

export interface CloseResponse {
  readonly type: 'close-response'
  readonly error: string
  readonly connectId: number
}

export interface DataPacket {
  readonly type: 'data'
  readonly connectId: number
  readonly data: Uint8Array
}

export type Packet =
  | DialRequest
  | DialResponse
  | { readonly type: 'close-request'; readonly connectId: number }
  | CloseResponse
  | DataPacket
  | { readonly type: 'dial-close'; readonly random: bigint }
  | { readonly type: 'drain' }
  /** A packet of a later version; every peer passes over it. */
  | { readonly type: 'unknown'; readonly number: number }

type KnownType = Exclude<Packet['type'], 'unknown'>

/** In the order of their numbers, each with the field that holds its payload. */
const types: readonly (readonly [KnownType, number])[] = [
  ['dial-request', 2],
  ['dial-response', 3],
  ['close-request', 5],
  ['close-response', 6],
  ['data', 4],
  ['dial-close', 7],
  ['drain', 8],
]
const lastPayloadField = 8
const typeField = 1
const dataField = 3

/** The parts are one message: payload bytes are never copied. */
export function encodePacket(packet: Exclude<Packet, { type: 'unknown' }>): Uint8Array[] {
  const number = types.findIndex(([type]) => type === packet.type)
  const payloadField = types[number]?.[1] ?? 0
  const head = new ForwardWriter().number(typeField, number)
  if (packet.type !== 'data') return [head.block(payloadField, encodePayload(packet)).finish()]
  const { connectId, data } = packet
  const inner = new ForwardWriter().number(1, connectId).blockHead(dataField, data.length).finish()
  head.blockHead(payloadField, inner.length + data.length)
  return [Buffer.concat([head.finish(), inner]), data]
}

/** Throws a `PacketError`. The data of the result shares the memory of `message`. */
export function decodePacket(message: Buffer): Packet {
  try {
    return readPacket(message)
  } catch (error) {
    if (error instanceof WireError) throw new PacketError(error.message, { cause: error })
    throw error
  }
}

function readPacket(message: Buffer): Packet {
  const reader = new FieldReader(message)
  // A message that comes twice is one whose fields are all of them, in order.
  const parts: Buffer[][] = Array.from({ length: lastPayloadField + 1 }, () => [])
  let number = 0
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === typeField) number = reader.integer()
    else if (field >= 2 && field <= lastPayloadField) parts[field]?.push(reader.bytes())
    else reader.skip()
  }
  const [type, payloadField] = types[number] ?? []
  if (type === undefined || payloadField === undefined) return { type: 'unknown', number }
  const payload = parts[payloadField] ?? []
  return decodePayload(type, new FieldReader(payload.length === 1 ? (payload[0] as Buffer) : Buffer.concat(payload)))
}

function encodePayload(packet: Exclude<Packet, { type: 'unknown' | 'data' }>): Buffer {
  const writer = new ForwardWriter()
  switch (packet.type) {
    case 'dial-request':
      return writer.text(1, packet.protocol).text(2, packet.address).number(3, packet.random).finish()
    case 'dial-response':
      return writer.text(1, packet.error).number(2, packet.connectId).number(3, packet.random).finish()
    case 'close-request':
      return writer.number(1, packet.connectId).finish()
    case 'close-response':
      return writer.text(1, packet.error).number(2, packet.connectId).finish()
    case 'dial-close':
      return writer.number(1, packet.random).finish()
    default:
      return writer.finish()
  }
}

function decodePayload(type: KnownType, reader: FieldReader): Packet {
  switch (type) {
    case 'dial-request': {
      const { first, second, bits } = readFields(reader, { first: 1, second: 2, bits: 3 })
      return { type, protocol: first, address: second, random: bits }
    }
    case 'dial-response': {
      const { first, id, bits } = readFields(reader, { first: 1, id: 2, bits: 3 })
      return { type, error: first, connectId: id, random: bits }
    }
    case 'close-response': {
      const { first, id } = readFields(reader, { first: 1, id: 2 })
      return { type, error: first, connectId: id }
    }
    case 'close-request':
      return { type, connectId: readFields(reader, { id: 1 }).id }
    case 'dial-close':
      return { type, random: readFields(reader, { bits: 1 }).bits }
    case 'data': {
      const { id, data } = readFields(reader, { id: 1, data: dataField })
      return { type, connectId: id, data }
    }
    default:
      return { type }
  }
}

interface FieldNumbers {
  readonly first?: number
  readonly second?: number
  readonly id?: number
  readonly bits?: number
  readonly data?: number
}

/** Reads the fields of a payload by what they hold; others are passed over. */
function readFields(reader: FieldReader, numbers: FieldNumbers) {
  const found = { first: '', second: '', id: 0, bits: 0n, data: Buffer.alloc(0) as Buffer }
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === numbers.first) found.first = cut(reader.text())
    else if (field === numbers.second) found.second = cut(reader.text())
    else if (field === numbers.id) found.id = reader.integer()
    else if (field === numbers.bits) found.bits = reader.bits64()
    else if (field === numbers.data) found.data = reader.bytes()
    else reader.skip()
  }
  return found
}

function cut(text: string): string {
  if (text.length > MAX_PACKET_TEXT_CHARACTERS)
    throw new PacketError(`a text of ${text.length} characters; at most ${MAX_PACKET_TEXT_CHARACTERS} are taken`)
  return text
}
