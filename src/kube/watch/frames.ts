/**
 * Watch framing: how one HTTP body carries many events, and nothing about what is in them.
 *
 *   application/json                     event "\n" event "\n" ...
 *   application/vnd.kubernetes.protobuf  length(4, big endian) event length event ...
 *
 * Decoders are pure: bytes in, whole frames out, however the bytes were cut. They never throw: what is wrong with the
 * stream stands in `failure`, behind the frames that came before it, so the result does not depend on the cutting.
 */
import { ByteQueue } from './byte-queue.ts'

/** An object is at most about 1.5 MiB in etcd; JSON, base64 and managed fields can multiply that. */
export const DEFAULT_MAX_WATCH_EVENT_BYTES = 16 * 1024 * 1024

const lengthBytes = 4
const lineFeed = 0x0a
const carriageReturn = 0x0d

export type WatchFrameErrorCode = 'truncated' | 'too-large'

export class WatchFrameError extends Error {
  override readonly name = 'WatchFrameError'
  readonly code: WatchFrameErrorCode

  constructor(code: WatchFrameErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

export interface FrameDecoder {
  /** The frames that this chunk completes. A frame may be a view of the chunk: copy it before you reuse the chunk. */
  push(chunk: Uint8Array): Uint8Array[]
  /** Set as soon as the stream cannot be read on; from then on `push` returns nothing. */
  readonly failure: WatchFrameError | undefined
  /** Tells that no more bytes come. Returns what was wrong with the stream, `undefined` if it ended between events. */
  end(): WatchFrameError | undefined
}

/** One JSON document per line. Empty lines are keep-alives and carry nothing. */
export class JsonLineDecoder implements FrameDecoder {
  readonly #maxEventBytes: number
  readonly #partial = new ByteQueue()
  #failure: WatchFrameError | undefined

  constructor(maxEventBytes = DEFAULT_MAX_WATCH_EVENT_BYTES) {
    this.#maxEventBytes = maxEventBytes
  }

  get failure(): WatchFrameError | undefined {
    return this.#failure
  }

  push(chunk: Uint8Array): Uint8Array[] {
    const frames: Uint8Array[] = []
    let start = 0
    while (this.#failure === undefined && start < chunk.length) {
      const feed = chunk.indexOf(lineFeed, start)
      const stop = feed < 0 ? chunk.length : feed
      if (this.#partial.length + (stop - start) > this.#maxEventBytes) {
        this.#failure = tooLarge(`more than ${this.#maxEventBytes}`, this.#maxEventBytes)
      } else if (feed < 0) {
        this.#partial.append(chunk.subarray(start))
      } else {
        const line = this.#partial.takeWith(chunk.subarray(start, stop))
        if (!isBlank(line)) frames.push(line)
      }
      start = stop + 1
    }
    return frames
  }

  end(): WatchFrameError | undefined {
    if (this.#failure === undefined && this.#partial.length > 0) this.#failure = truncated(this.#partial.length)
    return this.#failure
  }
}

/** Frames with a four-byte length in front. Memory follows the bytes that came, never the length that was announced. */
export class LengthDelimitedDecoder implements FrameDecoder {
  readonly #maxEventBytes: number
  readonly #partial = new ByteQueue()
  /** `undefined` while the length itself is incomplete. */
  #expectedBytes: number | undefined
  #failure: WatchFrameError | undefined

  constructor(maxEventBytes = DEFAULT_MAX_WATCH_EVENT_BYTES) {
    this.#maxEventBytes = maxEventBytes
  }

  get failure(): WatchFrameError | undefined {
    return this.#failure
  }

  push(chunk: Uint8Array): Uint8Array[] {
    const frames: Uint8Array[] = []
    let offset = 0
    while (this.#failure === undefined) {
      const missing = (this.#expectedBytes ?? lengthBytes) - this.#partial.length
      if (chunk.length - offset < missing) {
        this.#partial.append(chunk.subarray(offset))
        break
      }
      const part = this.#partial.takeWith(chunk.subarray(offset, offset + missing))
      offset += missing
      if (this.#expectedBytes === undefined) this.#expect(part)
      else {
        frames.push(part)
        this.#expectedBytes = undefined
      }
    }
    return frames
  }

  end(): WatchFrameError | undefined {
    const unread = this.#partial.length + (this.#expectedBytes === undefined ? 0 : lengthBytes)
    if (this.#failure === undefined && unread > 0) this.#failure = truncated(unread)
    return this.#failure
  }

  #expect(header: Uint8Array): void {
    const announced = new DataView(header.buffer, header.byteOffset, lengthBytes).getUint32(0)
    if (announced > this.#maxEventBytes) this.#failure = tooLarge(String(announced), this.#maxEventBytes)
    else this.#expectedBytes = announced
  }
}

/** `event` must be one JSON document without line breaks, as `JSON.stringify` writes it. */
export function encodeJsonLine(event: Uint8Array): Uint8Array {
  const line = new Uint8Array(event.length + 1)
  line.set(event)
  line[event.length] = lineFeed
  return line
}

export function encodeLengthDelimited(event: Uint8Array): Uint8Array {
  const frame = new Uint8Array(lengthBytes + event.length)
  new DataView(frame.buffer).setUint32(0, event.length)
  frame.set(event, lengthBytes)
  return frame
}

function isBlank(line: Uint8Array): boolean {
  return line.length === 0 || (line.length === 1 && line[0] === carriageReturn)
}

function tooLarge(size: string, maxEventBytes: number): WatchFrameError {
  return new WatchFrameError('too-large', `watch event of ${size} bytes exceeds the limit of ${maxEventBytes} bytes`)
}

function truncated(unreadBytes: number): WatchFrameError {
  return new WatchFrameError('truncated', `watch stream ended inside an event, after ${unreadBytes} bytes of it`)
}
