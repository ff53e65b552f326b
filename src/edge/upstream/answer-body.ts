/**
 * The body of an answer as a stream of Node, for whoever needs one. It ends only where the answer was complete, so that a
 * client never takes half a list for a whole one.
 */
import { Readable } from 'node:stream'
import type { ByteSource } from '../../http/body/byte-source.ts'
import { guardEmitter } from '../../runtime/guarded-emitter.ts'

/** Bytes held between the API server's connection and the client's: a few frames. */
const ANSWER_BUFFER_BYTES = 64 * 1024

export class AnswerBody extends Readable {
  readonly #source: ByteSource
  #isBegun = false
  #isOver = false

  constructor(source: ByteSource) {
    super({ highWaterMark: ANSWER_BUFFER_BYTES })
    this.#source = source
    // A reader that fails ends its own answer; the connection it comes from has others to carry.
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
