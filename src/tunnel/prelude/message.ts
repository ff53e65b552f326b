/**
 * The shape both prelude messages share, as docs/protocol.md has it:
 *
 *   version u8 | code u8 | length u16 | fields of `length` bytes in total, each: tag u8 | size u16 | value
 *
 * A tag nobody knows is skipped, so that later versions may say more. A tag that appears twice, or a field that leaves its
 * message, is an error.
 */

/** The only version; the ALPN name `causeway/1` stands for it. */
const PRELUDE_VERSION = 1

/** Fields of one message together: a target and an identity of any sensible length fit several times. */
export const MAX_PRELUDE_FIELD_BYTES = 4 * 1024

const headBytes = 4
const fieldHeadBytes = 3
const noBytes = Buffer.alloc(0)

/** The bytes cannot be a prelude message. */
export class PreludeError extends Error {
  override readonly name = 'PreludeError'
}

export interface PreludeMessage {
  readonly code: number
  readonly fields: ReadonlyMap<number, Uint8Array>
}

export function encodeMessage(code: number, fields: ReadonlyMap<number, Uint8Array>): Buffer {
  let fieldBytes = 0
  for (const value of fields.values()) fieldBytes += fieldHeadBytes + value.length
  if (fieldBytes > MAX_PRELUDE_FIELD_BYTES) {
    throw new PreludeError(`fields of ${fieldBytes} bytes exceed the limit of ${MAX_PRELUDE_FIELD_BYTES}`)
  }
  const bytes = Buffer.allocUnsafe(headBytes + fieldBytes)
  bytes[0] = PRELUDE_VERSION
  bytes[1] = code
  bytes.writeUInt16BE(fieldBytes, 2)
  let offset = headBytes
  for (const [tag, value] of fields) {
    bytes[offset] = tag
    bytes.writeUInt16BE(value.length, offset + 1)
    bytes.set(value, offset + fieldHeadBytes)
    offset += fieldHeadBytes + value.length
  }
  return bytes
}

/** Collects one message from chunks cut anywhere. */
export class MessageReader {
  #bytes: Buffer = noBytes
  #have = 0
  #message: PreludeMessage | undefined

  /** The message, once it is complete. */
  get message(): PreludeMessage | undefined {
    return this.#message
  }

  /** Takes bytes until the message is complete; then returns what follows it. Throws a `PreludeError` at the first wrong byte. */
  push(chunk: Uint8Array): Uint8Array | undefined {
    if (this.#message !== undefined) return chunk
    if (this.#have === 0 && this.#takeWhole(chunk)) return chunk.subarray(this.#have)
    if (this.#bytes === noBytes) this.#bytes = Buffer.alloc(headBytes)
    let offset = this.#fill(chunk, 0, headBytes)
    if (this.#have < headBytes) return undefined
    const totalBytes = headBytes + this.#fieldBytes()
    if (this.#bytes.length < totalBytes) this.#bytes = Buffer.concat([this.#bytes], totalBytes)
    offset = this.#fill(chunk, offset, totalBytes)
    if (this.#have < totalBytes) return undefined
    this.#message = { code: this.#bytes[1] ?? 0, fields: decodeFields(this.#bytes.subarray(headBytes, totalBytes)) }
    return chunk.subarray(offset)
  }

  /** Nearly every message comes in one piece: it is read where it lies. */
  #takeWhole(chunk: Uint8Array): boolean {
    if (chunk.length < headBytes || chunk[0] !== PRELUDE_VERSION) return false
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
    const totalBytes = headBytes + bytes.readUInt16BE(2)
    if (chunk.length < totalBytes || totalBytes > headBytes + MAX_PRELUDE_FIELD_BYTES) return false
    this.#message = { code: bytes[1] ?? 0, fields: decodeFields(bytes.subarray(headBytes, totalBytes)) }
    this.#have = totalBytes
    return true
  }

  #fill(chunk: Uint8Array, offset: number, upToBytes: number): number {
    const end = Math.min(chunk.length, offset + Math.max(0, upToBytes - this.#have))
    this.#bytes.set(chunk.subarray(offset, end), this.#have)
    this.#have += end - offset
    if (this.#have > 0 && this.#bytes[0] !== PRELUDE_VERSION) {
      throw new PreludeError(`stream begins with version ${this.#bytes[0]}; only ${PRELUDE_VERSION} is spoken here`)
    }
    return end
  }

  #fieldBytes(): number {
    const bytes = this.#bytes.readUInt16BE(2)
    if (bytes <= MAX_PRELUDE_FIELD_BYTES) return bytes
    throw new PreludeError(`fields of ${bytes} bytes exceed the limit of ${MAX_PRELUDE_FIELD_BYTES}`)
  }
}

function decodeFields(bytes: Buffer): Map<number, Uint8Array> {
  const fields = new Map<number, Uint8Array>()
  let offset = 0
  while (offset < bytes.length) {
    if (offset + fieldHeadBytes > bytes.length) throw new PreludeError('the last field is cut')
    const tag = bytes[offset] ?? 0
    const size = bytes.readUInt16BE(offset + 1)
    offset += fieldHeadBytes
    if (offset + size > bytes.length) throw new PreludeError(`field ${tag} of ${size} bytes leaves its message`)
    if (fields.has(tag)) throw new PreludeError(`field ${tag} appears twice`)
    fields.set(tag, bytes.subarray(offset, offset + size))
    offset += size
  }
  return fields
}
