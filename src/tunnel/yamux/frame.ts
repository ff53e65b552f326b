/**
 * Frames in and out. The decoder takes chunks cut anywhere and passes payload on as it comes, as slices of those chunks:
 * nothing is copied and no frame is ever held until it is complete. A header that breaks a rule is refused before its
 * payload is looked at, and nothing after it is read.
 */
import { offence } from './errors.ts'
import { FRAMES_PER_LOOK } from './limits.ts'
import { Flag, FRAME_HEADER_BYTES, FrameType, YAMUX_VERSION } from './wire.ts'

/** A header as read. The decoder reuses one object: take what you need before you return. */
export interface FrameHeader {
  readonly type: number
  readonly flags: number
  readonly streamId: number
  readonly length: number
}

export interface FrameSink {
  onHeader(header: FrameHeader): void
  /** A piece of the payload of the last header; the pieces add up to its length. The slice is the receiver's to keep. */
  onPayload(slice: Uint8Array): void
}

const anyFlag = Flag.syn | Flag.ack | Flag.fin | Flag.rst

export function writeHeader(
  into: Buffer,
  offset: number,
  type: number,
  flags: number,
  streamId: number,
  length: number,
): void {
  into[offset] = YAMUX_VERSION
  into[offset + 1] = type
  into.writeUInt16BE(flags, offset + 2)
  into.writeUInt32BE(streamId, offset + 4)
  into.writeUInt32BE(length, offset + 8)
}

export class FrameDecoder {
  readonly #sink: FrameSink
  readonly #maxFrameBytes: number
  readonly #partial = Buffer.alloc(FRAME_HEADER_BYTES)
  #partialBytes = 0
  #payloadLeft = 0
  #stopped = false
  #headersSinceLook = 0
  readonly #header = { type: 0, flags: 0, streamId: 0, length: 0 }

  constructor(sink: FrameSink, maxFrameBytes: number) {
    this.#sink = sink
    this.#maxFrameBytes = maxFrameBytes
  }

  /** True between frames: an end of input at any other point has cut a frame. */
  get atBoundary(): boolean {
    return this.#partialBytes === 0 && this.#payloadLeft === 0
  }

  /** Whatever arrives from now on is ignored. */
  stop(): void {
    this.#stopped = true
  }

  /**
   * Throws a `SessionError` at the first header that breaks a rule. Asks from time to time, before a header, whether its time is
   * up, and then returns what it has not read.
   */
  push(chunk: Uint8Array, isTimeUp: () => boolean = () => false): Uint8Array | undefined {
    let offset = 0
    while (offset < chunk.length && !this.#stopped) {
      if (this.#payloadLeft > 0) offset = this.#pushPayload(chunk, offset)
      else {
        if (this.#headersSinceLook === FRAMES_PER_LOOK) {
          this.#headersSinceLook = 0
          if (isTimeUp()) return chunk.subarray(offset)
        }
        this.#headersSinceLook += 1
        offset = this.#pushHeader(chunk, offset)
      }
    }
    return undefined
  }

  #pushPayload(chunk: Uint8Array, offset: number): number {
    const end = Math.min(chunk.length, offset + this.#payloadLeft)
    this.#payloadLeft -= end - offset
    this.#sink.onPayload(offset === 0 && end === chunk.length ? chunk : chunk.subarray(offset, end))
    return end
  }

  #pushHeader(chunk: Uint8Array, offset: number): number {
    if (this.#partialBytes === 0 && chunk.length - offset >= FRAME_HEADER_BYTES) {
      this.#readHeader(chunk, offset)
      return offset + FRAME_HEADER_BYTES
    }
    const end = Math.min(chunk.length, offset + FRAME_HEADER_BYTES - this.#partialBytes)
    this.#partial.set(chunk.subarray(offset, end), this.#partialBytes)
    this.#partialBytes += end - offset
    if (this.#partialBytes === FRAME_HEADER_BYTES) {
      this.#partialBytes = 0
      this.#readHeader(this.#partial, 0)
    }
    return end
  }

  #readHeader(bytes: Uint8Array, offset: number): void {
    const version = byteAt(bytes, offset)
    if (version !== YAMUX_VERSION) {
      throw offence('bad-frame', `frame has version ${version}; only version ${YAMUX_VERSION} is spoken here`)
    }
    const header = this.#header
    header.type = byteAt(bytes, offset + 1)
    header.flags = (byteAt(bytes, offset + 2) << 8) | byteAt(bytes, offset + 3)
    header.streamId = uint32At(bytes, offset + 4)
    header.length = uint32At(bytes, offset + 8)
    refuseBadHeader(header, this.#maxFrameBytes)
    if (header.type === FrameType.data) this.#payloadLeft = header.length
    this.#sink.onHeader(header)
  }
}

function refuseBadHeader({ type, flags, streamId, length }: FrameHeader, maxFrameBytes: number): void {
  if (type > FrameType.goAway) throw offence('bad-frame', `frame has type ${type}; types are 0 to ${FrameType.goAway}`)
  if ((flags & ~anyFlag) !== 0) throw offence('bad-frame', `frame has unknown flags 0x${flags.toString(16)}`)
  if (type === FrameType.data || type === FrameType.windowUpdate) {
    if (streamId === 0) throw offence('bad-frame', 'stream frame names stream 0, which is the session itself')
    if ((flags & Flag.syn) !== 0 && (flags & Flag.ack) !== 0) {
      throw offence('bad-frame', `frame both opens and acknowledges stream ${streamId}`)
    }
    if (type === FrameType.data && length > maxFrameBytes) {
      throw offence('bad-frame', `data frame of ${length} bytes exceeds the limit of ${maxFrameBytes}`)
    }
    return
  }
  if (streamId !== 0) throw offence('bad-frame', `session frame of type ${type} names stream ${streamId}`)
  const allowed = type === FrameType.goAway ? flags === 0 : flags === Flag.syn || flags === Flag.ack
  if (!allowed) throw offence('bad-frame', `session frame of type ${type} has flags 0x${flags.toString(16)}`)
}

function byteAt(bytes: Uint8Array, offset: number): number {
  return bytes[offset] ?? 0
}

function uint32At(bytes: Uint8Array, offset: number): number {
  return (
    ((byteAt(bytes, offset) << 24) |
      (byteAt(bytes, offset + 1) << 16) |
      (byteAt(bytes, offset + 2) << 8) |
      byteAt(bytes, offset + 3)) >>>
    0
  )
}
