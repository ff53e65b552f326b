/** TLS as records: what can be told apart without any key. */

/** Bytes of a record's header: type, version and length. */
export const RECORD_HEADER_BYTES = 5
/** The most that any version allows, with what encryption adds. */
const MAX_RECORD_PAYLOAD_BYTES = 16 * 1024 + 2048

/** What is in a record. */
export const RecordType = { changeCipherSpec: 20, alert: 21, handshake: 22, applicationData: 23 } as const

const MAJOR_VERSION = 3

export interface TlsRecord {
  readonly type: number
  /** All of it, as it came. */
  readonly bytes: Buffer
  readonly payload: Buffer
}

/** Takes bytes in any pieces and gives whole records. */
export class RecordReader {
  #bytes: Buffer = Buffer.alloc(0)

  /** Bytes that have come and were not given yet. */
  get rest(): Buffer {
    return this.#bytes
  }

  push(bytes: Uint8Array): void {
    this.#bytes = this.#bytes.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#bytes, bytes])
  }

  /** The next record without taking it; `malformed` where the bytes cannot be the beginning of one. */
  peek(): TlsRecord | 'malformed' | undefined {
    const bytes = this.#bytes
    if (bytes.length < RECORD_HEADER_BYTES) return undefined
    const type = bytes.readUInt8(0)
    const length = bytes.readUInt16BE(3)
    if (type < RecordType.changeCipherSpec || type > RecordType.applicationData || bytes.readUInt8(1) !== MAJOR_VERSION)
      return 'malformed'
    if (length > MAX_RECORD_PAYLOAD_BYTES) return 'malformed'
    const end = RECORD_HEADER_BYTES + length
    if (bytes.length < end) return undefined
    return { type, bytes: bytes.subarray(0, end), payload: bytes.subarray(RECORD_HEADER_BYTES, end) }
  }

  /** Takes so many bytes from the front. */
  take(count: number): Buffer {
    const taken = this.#bytes.subarray(0, count)
    this.#bytes = this.#bytes.subarray(count)
    return taken
  }
}
