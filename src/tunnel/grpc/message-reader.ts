/** The gRPC framing of messages inside an HTTP/2 stream: one byte of flags, four of length, then the message. */

/** What the Go implementation takes by default, and so what its peers keep to. */
export const MAX_GRPC_MESSAGE_BYTES = 4 * 1024 * 1024
/** Fixed by the protocol: flags and length. */
export const GRPC_PREFIX_BYTES = 5

/** The peer does not speak gRPC as we agreed; nothing after it can be understood. */
export class GrpcFramingError extends Error {
  override readonly name = 'GrpcFramingError'
}

/** The prefix of a message that is not compressed. */
export function messagePrefix(messageBytes: number): Buffer {
  if (messageBytes > MAX_GRPC_MESSAGE_BYTES)
    throw new GrpcFramingError(`a message of ${messageBytes} bytes; at most ${MAX_GRPC_MESSAGE_BYTES} may be sent`)
  const prefix = Buffer.alloc(GRPC_PREFIX_BYTES)
  prefix.writeUInt32BE(messageBytes, 1)
  return prefix
}

/** Cuts a stream of bytes into messages. A message that came in one piece is not copied. */
export class MessageReader {
  readonly #onMessage: (message: Buffer) => void
  #pieces: Buffer[] = []
  #bufferedBytes = 0

  constructor(onMessage: (message: Buffer) => void) {
    this.#onMessage = onMessage
  }

  /** Throws a `GrpcFramingError` as soon as a prefix is wrong, before the message has come. */
  push(chunk: Buffer): void {
    this.#pieces.push(chunk)
    this.#bufferedBytes += chunk.length
    while (this.#bufferedBytes >= GRPC_PREFIX_BYTES) {
      const messageBytes = checkedLength(this.#peekPrefix())
      if (this.#bufferedBytes < GRPC_PREFIX_BYTES + messageBytes) return
      this.#onMessage(this.#take(GRPC_PREFIX_BYTES + messageBytes).subarray(GRPC_PREFIX_BYTES))
    }
  }

  /** Throws where the stream ended in the middle of a message. */
  end(): void {
    if (this.#bufferedBytes > 0) throw new GrpcFramingError('the stream ended inside a message')
  }

  #peekPrefix(): Buffer {
    const [first] = this.#pieces
    if (first !== undefined && first.length >= GRPC_PREFIX_BYTES) return first
    const prefix = this.#take(GRPC_PREFIX_BYTES)
    this.#pieces.unshift(prefix)
    this.#bufferedBytes += GRPC_PREFIX_BYTES
    return prefix
  }

  #take(wantedBytes: number): Buffer {
    this.#bufferedBytes -= wantedBytes
    const taken: Buffer[] = []
    let missing = wantedBytes
    let used = 0
    for (const piece of this.#pieces) {
      if (missing === 0) break
      const part = piece.subarray(0, missing)
      missing -= part.length
      taken.push(part)
      if (part.length < piece.length) this.#pieces[used] = piece.subarray(part.length)
      else used++
    }
    this.#pieces.splice(0, used)
    const [only] = taken
    return taken.length === 1 && only !== undefined ? only : Buffer.concat(taken)
  }
}

function checkedLength(prefix: Buffer): number {
  if (prefix[0] !== 0)
    throw new GrpcFramingError(`a message with flags ${prefix[0]}, where no compression was agreed on`)
  const messageBytes = prefix.readUInt32BE(1)
  if (messageBytes > MAX_GRPC_MESSAGE_BYTES)
    throw new GrpcFramingError(`a message of ${messageBytes} bytes; at most ${MAX_GRPC_MESSAGE_BYTES} are taken`)
  return messageBytes
}
