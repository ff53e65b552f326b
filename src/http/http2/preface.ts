/** Holds clients to what every one of them sends first. */
import { CLIENT_PREFACE, ErrorCode, Http2Error } from './wire.ts'

export class PrefaceReader {
  #missing = CLIENT_PREFACE.length

  /** What comes behind it. Throws an `Http2Error` at anything else, as soon as it differs. */
  read(chunk: Buffer): Buffer {
    if (this.#missing === 0) return chunk
    const at = CLIENT_PREFACE.length - this.#missing
    const taken = Math.min(this.#missing, chunk.length)
    if (CLIENT_PREFACE.compare(chunk, 0, taken, at, at + taken) !== 0)
      throw new Http2Error(ErrorCode.protocolError, 'a client that does not begin as one of HTTP/2')
    this.#missing -= taken
    return chunk.subarray(taken)
  }
}
