/** The gRPC framing of messages inside an HTTP/2 stream: one byte of flags, four of length, then the message. */
import { ByteQueue } from '../yamux/byte-queue.ts'
import { FRAMES_PER_LOOK } from '../yamux/limits.ts'

/** What the Go implementation takes by default, and so what its peers keep to. */
export const MAX_GRPC_MESSAGE_BYTES = 4 * 1024 * 1024
/** Fixed by the protocol: flags and length. */
const GRPC_PREFIX_BYTES = 5

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

/** Cuts a stream of bytes into messages. A message that came in one piece is not copied; many small pieces are packed together. */
export class MessageReader {
  readonly #onMessage: (message: Buffer) => void
  readonly #queue = new ByteQueue()
  /** Length of the message whose prefix has been read. */
  #messageBytes: number | undefined

  constructor(onMessage: (message: Buffer) => void) {
    this.#onMessage = onMessage
  }

  /**
   * Throws a `GrpcFramingError` as soon as a prefix is wrong, before the message has come. Asks from time to time, before a message,
   * whether its time is up: then it returns true, and goes on when it is called again, also with no more bytes.
   */
  push(chunk: Uint8Array, isTimeUp: () => boolean = () => false): boolean {
    this.#queue.push(chunk)
    for (let messages = 1; ; messages++) {
      if (this.#messageBytes === undefined) {
        if (this.#queue.bytes < GRPC_PREFIX_BYTES) break
        this.#messageBytes = checkedLength(this.#take(GRPC_PREFIX_BYTES))
      }
      if (this.#queue.bytes < this.#messageBytes) break
      const message = this.#take(this.#messageBytes)
      this.#messageBytes = undefined
      this.#onMessage(message)
      if (messages % FRAMES_PER_LOOK === 0 && isTimeUp()) return true
    }
    this.#queue.settle()
    return false
  }

  /** Throws where the stream ended in the middle of a message. */
  end(): void {
    if (this.#queue.bytes > 0 || this.#messageBytes !== undefined)
      throw new GrpcFramingError('the stream ended inside a message')
  }

  #take(bytes: number): Buffer {
    const pieces: Uint8Array[] = []
    this.#queue.gather(bytes, pieces)
    const [only] = pieces
    return pieces.length === 1 && only !== undefined ? (only as Buffer) : Buffer.concat(pieces)
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
