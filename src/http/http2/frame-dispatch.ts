/**
 * Reads frames as what they mean, and holds peers to what every frame must be like, whatever it says: its length, whose it
 * may be, that nothing comes within a head, and that no more of them come than are of any use.
 */
import { FrameBudget, MAX_IDLE_FRAMES_AT_ONCE, MAX_IDLE_FRAMES_PER_SECOND } from './frame-budget.ts'
import type { FrameSink } from './frame-reader.ts'
import { type HeaderBlock, HeaderBlocks } from './header-blocks.ts'
import { ErrorCode, Flag, FrameType, Http2Error, readUint31 } from './wire.ts'

export interface FrameTarget {
  onData(streamId: number, piece: Buffer, isEnd: boolean, windowBytes: number): void
  onBlock(block: HeaderBlock): void
  /** More may be sent on a stream, or on the whole connection where the stream is 0. */
  onWindowUpdate(streamId: number, bytes: number): void
  onReset(streamId: number, code: number): void
  onSettings(payload: Buffer): void
  onSettingsTaken(): void
  onPing(payload: Buffer): void
  onPong(payload: Buffer): void
  onGoAway(lastStreamId: number): void
}

export class FrameDispatch implements FrameSink {
  readonly #target: FrameTarget
  readonly #blocks: HeaderBlocks
  readonly #idleFrames: FrameBudget
  #hasBegun = false

  constructor(target: FrameTarget, maxBlockBytes: number, nowMs: () => number) {
    this.#target = target
    this.#blocks = new HeaderBlocks(maxBlockBytes)
    this.#idleFrames = new FrameBudget('idle frames', MAX_IDLE_FRAMES_AT_ONCE, MAX_IDLE_FRAMES_PER_SECOND, nowMs)
  }

  onData(streamId: number, piece: Buffer, isEnd: boolean, windowBytes: number): void {
    this.#checkOrder(FrameType.data, 0)
    if (piece.length === 0 && !isEnd) this.#idleFrames.spend()
    this.#target.onData(streamId, piece, isEnd, windowBytes)
  }

  onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    this.#checkOrder(type, flags)
    if (type === FrameType.headers) this.#onBlock(this.#blocks.begin(flags, streamId, payload))
    else if (type === FrameType.continuation) this.#onBlock(this.#blocks.continue(flags, streamId, payload))
    else if (type === FrameType.windowUpdate) {
      checkLength(payload, 4, 'WINDOW_UPDATE')
      this.#target.onWindowUpdate(streamId, readUint31(payload, 0))
    } else if (type === FrameType.rstStream) {
      checkLength(payload, 4, 'RST_STREAM')
      this.#target.onReset(streamId, payload.readUInt32BE(0))
    } else this.#onIdleFrame(type, flags, streamId, payload)
  }

  #checkOrder(type: number, flags: number): void {
    if (this.#blocks.isIncomplete && type !== FrameType.continuation)
      throw new Http2Error(ErrorCode.protocolError, 'a frame within a head')
    if (this.#hasBegun) return
    if (type !== FrameType.settings || (flags & Flag.ack) !== 0)
      throw new Http2Error(ErrorCode.protocolError, 'a beginning without settings')
    this.#hasBegun = true
  }

  #onBlock(block: HeaderBlock | undefined): void {
    if (block !== undefined) this.#target.onBlock(block)
  }

  /** Frames that move nothing, of which a peer has only so many. */
  #onIdleFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    this.#idleFrames.spend()
    if (type === FrameType.pushPromise) throw new Http2Error(ErrorCode.protocolError, 'a push, which nobody wants')
    const speaksOfConnection = type === FrameType.settings || type === FrameType.ping || type === FrameType.goAway
    if (speaksOfConnection && streamId !== 0)
      throw new Http2Error(ErrorCode.protocolError, 'a frame of the connection on a stream')
    const isAnswer = (flags & Flag.ack) !== 0
    if (type === FrameType.settings) this.#onSettings(isAnswer, payload)
    else if (type === FrameType.ping) this.#onPing(isAnswer, payload)
    else if (type === FrameType.goAway) {
      if (payload.length < 8) throw new Http2Error(ErrorCode.frameSizeError, 'a GOAWAY frame too short')
      this.#target.onGoAway(readUint31(payload, 0))
    } else if (type === FrameType.priority) checkPriority(streamId, payload)
    // Frames of unknown kinds are to be ignored.
  }

  #onSettings(isAnswer: boolean, payload: Buffer): void {
    if (!isAnswer) this.#target.onSettings(payload)
    else {
      checkLength(payload, 0, 'SETTINGS')
      this.#target.onSettingsTaken()
    }
  }

  #onPing(isAnswer: boolean, payload: Buffer): void {
    checkLength(payload, 8, 'PING')
    if (isAnswer) this.#target.onPong(payload)
    else this.#target.onPing(payload)
  }
}

/** Advice that we do not take. */
function checkPriority(streamId: number, payload: Buffer): void {
  if (streamId === 0) throw new Http2Error(ErrorCode.protocolError, 'a priority of no stream')
  checkLength(payload, 5, 'PRIORITY')
}

function checkLength(payload: Buffer, bytes: number, what: string): void {
  if (payload.length !== bytes)
    throw new Http2Error(ErrorCode.frameSizeError, `a ${what} frame of ${payload.length} bytes`)
}
