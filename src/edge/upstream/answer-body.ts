/**
 * The body of an answer. HTTP/2 streams of Node end in good order when their connection breaks; this one ends only where the
 * answer was complete, so that a client never takes half a list for a whole one.
 */
import { Readable } from 'node:stream'
import type { AnswerSource } from './upstream.ts'
import { brokenBy } from './upstream-error.ts'

/** Bytes held between the API server's connection and the client's: a few frames. */
export const ANSWER_BUFFER_BYTES = 64 * 1024

export class AnswerBody extends Readable {
  readonly #source: AnswerSource
  #isComplete = false

  constructor(source: AnswerSource) {
    super({ highWaterMark: ANSWER_BUFFER_BYTES })
    this.#source = source
    const { stream } = source
    // Who has stopped reading is not interested in why the rest did not come.
    this.on('error', () => {})
    // An answer without a body ends, and one that breaks is gone, before anybody may have asked for its body.
    if (stream.readableEnded) this.#ended()
    else if (stream.destroyed) this.#closed()
    else this.#follow(stream)
  }

  #follow(stream: Readable): void {
    stream.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) stream.pause()
    })
    stream.once('end', () => this.#ended())
    stream.once('error', (error: Error) => this.destroy(this.#source.fault() ?? brokenBy(error)))
    stream.once('close', () => this.#closed())
  }

  override _read(): void {
    this.#source.stream.resume()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#isComplete) this.#source.cancel()
    done(error)
  }

  #closed(): void {
    if (!this.#isComplete) this.destroy(this.#source.fault() ?? brokenBy(undefined))
  }

  #ended(): void {
    const fault = this.#source.fault()
    if (fault !== undefined) {
      this.destroy(fault)
      return
    }
    this.#isComplete = true
    this.push(null)
  }
}
