/** Messages of the handshake, which may share records or span several. */

/** The messages that hold certificates, and the last before encryption in TLS 1.2. */
export const MessageType = {
  certificate: 11,
  serverHelloDone: 14,
  clientKeyExchange: 16,
  compressedCertificate: 25,
} as const

const HEADER_BYTES = 4

export interface HandshakeMessage {
  readonly type: number
  readonly body: Buffer
}

/** Takes the contents of records and gives whole messages. Whoever feeds it bounds how much that is. */
export class MessageReader {
  #pieces: Buffer[] = []
  #bytes = 0
  /** Bytes of the message whose beginning has come, with its header. */
  #wantedBytes = HEADER_BYTES

  push(content: Buffer): void {
    this.#pieces.push(content)
    this.#bytes += content.length
  }

  /** The type of the message whose beginning has come and whose end has not. */
  get unfinishedType(): number | undefined {
    return this.#pieces.find(({ length }) => length > 0)?.readUInt8(0)
  }

  next(): HandshakeMessage | undefined {
    if (this.#bytes < this.#wantedBytes) return undefined
    const all = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces)
    this.#pieces = [all]
    this.#wantedBytes = HEADER_BYTES + all.readUIntBE(1, 3)
    if (this.#bytes < this.#wantedBytes) return undefined
    const message = { type: all.readUInt8(0), body: all.subarray(HEADER_BYTES, this.#wantedBytes) }
    this.#pieces = [all.subarray(this.#wantedBytes)]
    this.#bytes -= this.#wantedBytes
    this.#wantedBytes = HEADER_BYTES
    return message
  }
}
