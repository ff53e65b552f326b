/**
 * A byte source as a stream of Node, for what Node does with streams alone, such as gzip. It ends only where the source was
 * complete, so that nobody takes half a list for a whole one.
 */
import { Readable } from 'node:stream'
import { guardEmitter } from '../../runtime/guarded-emitter.ts'
import type { ByteSource } from './byte-source.ts'

/** Bytes held between the source and the reader of the stream: a few frames. */
const SOURCE_STREAM_BUFFER_BYTES = 64 * 1024

export class SourceStream extends Readable {
  readonly #source: ByteSource
  #isBegun = false
  #isOver = false

  constructor(source: ByteSource) {
    super({ highWaterMark: SOURCE_STREAM_BUFFER_BYTES })
    this.#source = source
    // A reader that fails ends its own body; the connection it comes from has others to carry.
    guardEmitter(this, (error) => this.destroy(error as Error))
    // Who has stopped reading is not interested in why the rest did not come.
    this.on('error', () => {})
  }

  override _read(): void {
    if (this.#isBegun) this.#source.resume()
    else this.#begin()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#isOver) this.#source.cancel()
    done(error)
  }

  #begin(): void {
    this.#isBegun = true
    this.#source.read({
      data: (piece) => {
        if (!this.push(piece)) this.#source.pause()
      },
      end: () => {
        this.#isOver = true
        this.push(null)
      },
      broken: (fault) => {
        this.#isOver = true
        this.destroy(fault)
      },
    })
  }
}
