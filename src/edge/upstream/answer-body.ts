/**
 * The body of an answer. HTTP/2 streams of Node end in good order when their connection breaks; this one ends only where the
 * answer was complete, so that a client never takes half a list for a whole one.
 */
import { Readable } from 'node:stream'
import type { UpstreamError } from './upstream.ts'
import { brokenBy } from './upstream-error.ts'

/** Bytes held between the API server's connection and the client's: a few frames. */
export const ANSWER_BUFFER_BYTES = 64 * 1024

export interface AnswerSource {
  readonly stream: Readable
  /** Asked when the source has ended or closed: what cut it off, if anything did. */
  fault(): UpstreamError | undefined
  /** Nobody reads on. */
  cancel(): void
}

export class AnswerBody extends Readable {
  readonly #source: AnswerSource
  #isComplete = false

  constructor(source: AnswerSource) {
    super({ highWaterMark: ANSWER_BUFFER_BYTES })
    this.#source = source
    const { stream } = source
    // Who has stopped reading is not interested in why the rest did not come.
    this.on('error', () => {})
    stream.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) stream.pause()
    })
    stream.once('end', () => this.#ended())
    stream.once('error', (error: Error) => this.destroy(source.fault() ?? brokenBy(error)))
    stream.once('close', () => {
      if (!this.#isComplete) this.destroy(source.fault() ?? brokenBy(undefined))
    })
  }

  override _read(): void {
    this.#source.stream.resume()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#isComplete) this.#source.cancel()
    done(error)
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
