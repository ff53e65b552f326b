/**
 * Headers are written into slabs and handed out as slices: one allocation for many frames. What was handed out belongs to
 * the carrier until it is written, so a slab is never used twice.
 */
import { writeHeader } from './frame.ts'
import { FRAME_HEADER_BYTES } from './wire.ts'

const framesPerSlab = 64
const noBytes = Buffer.alloc(0)

export class HeaderSlab {
  #slab: Buffer = noBytes
  #used = 0

  header(type: number, flags: number, streamId: number, length: number): Buffer {
    if (this.#used === this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(framesPerSlab * FRAME_HEADER_BYTES)
      this.#used = 0
    }
    const start = this.#used
    this.#used += FRAME_HEADER_BYTES
    writeHeader(this.#slab, start, type, flags, streamId, length)
    return this.#slab.subarray(start, this.#used)
  }
}

/** Control frames in a row, taken all at once as one buffer. */
export class ControlQueue {
  #slab: Buffer = noBytes
  #used = 0

  get bytes(): number {
    return this.#used
  }

  push(type: number, flags: number, streamId: number, length: number): void {
    if (this.#used === this.#slab.length) this.#grow()
    writeHeader(this.#slab, this.#used, type, flags, streamId, length)
    this.#used += FRAME_HEADER_BYTES
  }

  take(): Buffer | undefined {
    if (this.#used === 0) return undefined
    const taken = this.#slab.subarray(0, this.#used)
    this.#slab = noBytes
    this.#used = 0
    return taken
  }

  #grow(): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(4 * FRAME_HEADER_BYTES, this.#slab.length * 2))
    this.#slab.copy(grown, 0, 0, this.#used)
    this.#slab = grown
  }
}
