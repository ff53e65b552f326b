/** What the ends of a connection tell each other about themselves. */
import {
  DEFAULT_WINDOW_BYTES,
  ErrorCode,
  FRAME_HEADER_BYTES,
  FrameType,
  frame,
  Http2Error,
  MAX_FRAME_BYTES,
  MAX_WINDOW_BYTES,
  Setting,
} from './wire.ts'

/** Settings in one frame: several times what there is to say, with room for those that clients make up to see who minds. */
const MAX_SETTINGS_ENTRIES = 32

/** What the peer has said so far. */
export class PeerSettings {
  readonly #isOfServer: boolean
  headerTableBytes = 4_096
  /** The lowest that the last settings have named on the way: the peer has forgotten what did not fit. */
  lowestTableBytes = 4_096
  maxStreams = Number.POSITIVE_INFINITY
  windowBytes = DEFAULT_WINDOW_BYTES

  constructor(isOfServer: boolean) {
    this.#isOfServer = isOfServer
  }

  /** Throws an `Http2Error` at what is not allowed. */
  apply(payload: Buffer): void {
    if (payload.length % settingBytes !== 0) throw new Http2Error(ErrorCode.frameSizeError, 'a SETTINGS frame cut off')
    if (payload.length > MAX_SETTINGS_ENTRIES * settingBytes)
      throw new Http2Error(ErrorCode.enhanceYourCalm, `more than ${MAX_SETTINGS_ENTRIES} settings at once`)
    this.lowestTableBytes = this.headerTableBytes
    for (let offset = 0; offset < payload.length; offset += settingBytes)
      this.#set(payload.readUInt16BE(offset), payload.readUInt32BE(offset + 2))
  }

  #set(id: number, value: number): void {
    if (id === Setting.headerTableSize) {
      this.headerTableBytes = value
      this.lowestTableBytes = Math.min(this.lowestTableBytes, value)
    } else if (id === Setting.maxConcurrentStreams) this.maxStreams = value
    else if (id === Setting.initialWindowSize) {
      if (value > MAX_WINDOW_BYTES) throw new Http2Error(ErrorCode.flowControlError, `a window of ${value} bytes`)
      this.windowBytes = value
    } else if (id === Setting.maxFrameSize) {
      if (value < MAX_FRAME_BYTES || value >= 2 ** 24)
        throw new Http2Error(ErrorCode.protocolError, `frames of ${value} bytes`)
    } else if (id === Setting.enablePush && value > (this.#isOfServer ? 0 : 1))
      throw new Http2Error(ErrorCode.protocolError, `ENABLE_PUSH ${value}`)
  }
}

const settingBytes = 6

export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const bytes = frame(FrameType.settings, 0, 0, settings.length * settingBytes)
  settings.forEach(([id, value], index) => {
    bytes.writeUInt16BE(id, FRAME_HEADER_BYTES + index * settingBytes)
    bytes.writeUInt32BE(value, FRAME_HEADER_BYTES + index * settingBytes + 2)
  })
  return bytes
}
