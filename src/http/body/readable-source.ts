/** Bytes that come from a stream of Node. */
import type { Readable } from 'node:stream'
import type { ByteReader, ByteSource } from './byte-source.ts'

export interface ReadableSourceOptions {
  /** Asked when the stream has ended: what cut it off, for streams that end in good order all the same. */
  readonly fault?: () => Error | undefined
  /** What it means that the stream closes before its end. */
  readonly broken: (error: Error | undefined) => Error
  /** Nobody reads on; the stream is destroyed where nothing is said. */
  readonly cancel?: () => void
}

export class ReadableSource implements ByteSource {
  readonly #stream: Readable
  readonly #options: ReadableSourceOptions
  #reader: ByteReader | undefined
  #error: Error | undefined
  #isOver = false

  constructor(stream: Readable, options: ReadableSourceOptions) {
    this.#stream = stream
    this.#options = options
    stream.on('error', (error) => {
      this.#error ??= error
    })
  }

  read(reader: ByteReader): void {
    const stream = this.#stream
    this.#reader = reader
    // One without a body has ended, and one that broke is gone, before anybody may have asked.
    if (stream.readableEnded) this.#ended()
    else if (stream.destroyed) this.#closed()
    else {
      stream.on('data', (piece: Buffer) => {
        if (!this.#isOver) reader.data(piece)
      })
      stream.once('end', () => this.#ended())
      stream.once('close', () => this.#closed())
    }
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  cancel(): void {
    this.#isOver = true
    if (this.#options.cancel === undefined) this.#stream.destroy()
    else this.#options.cancel()
  }

  #ended(): void {
    const fault = this.#options.fault?.()
    if (this.#isOver) return
    this.#isOver = true
    if (fault === undefined) this.#reader?.end()
    else this.#reader?.broken(fault)
  }

  #closed(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#reader?.broken(this.#options.fault?.() ?? this.#options.broken(this.#error))
  }
}
