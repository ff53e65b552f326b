/** Bytes that are in memory, slice by slice as fast as their reader takes them. */
import type { ByteReader, ByteSource } from './byte-source.ts'

/** Bytes of one piece, so that a slow reader holds back the rest of a large body. */
const sliceBytes = 64 * 1024

export class BytesSource implements ByteSource {
  readonly #bytes: Buffer
  readonly #over: () => void
  #reader: ByteReader | undefined
  #givenBytes = 0
  #isPaused = false
  #isGiving = false
  #isOver = false

  /** `over` is called once, when nobody needs the bytes any more. */
  constructor(bytes: Uint8Array, over: () => void = () => {}) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#over = over
  }

  read(reader: ByteReader): void {
    this.#reader = reader
    this.#give()
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#give()
  }

  cancel(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#over()
  }

  #give(): void {
    const reader = this.#reader
    if (reader === undefined || this.#isGiving) return
    this.#isGiving = true
    while (!this.#isPaused && !this.#isOver && this.#givenBytes < this.#bytes.length) {
      const slice = this.#bytes.subarray(this.#givenBytes, this.#givenBytes + sliceBytes)
      this.#givenBytes += slice.length
      reader.data(slice)
    }
    this.#isGiving = false
    if (this.#isPaused || this.#isOver) return
    this.cancel()
    reader.end()
  }
}
