/** An answer that somebody else gets a copy of while it passes, if it is complete and not too large. */
import type { Readable } from 'node:stream'
import type { ByteReader, ByteSource } from '../../http/body/byte-source.ts'
import { AnswerBody } from './answer-body.ts'
import { answerSource } from './answer-source.ts'
import type { HeaderPairs, UpstreamAnswer } from './upstream.ts'

/** `whole` is called once the last byte has been passed on, and not at all for what is larger, cut off or not read to its end. */
export function tapAnswer(answer: UpstreamAnswer, maxBytes: number, whole: (bytes: Buffer) => void): UpstreamAnswer {
  return new TappedAnswer(answer, new Tap(answer.source ?? answerSource(answer.body), maxBytes, whole))
}

class TappedAnswer implements UpstreamAnswer {
  readonly #answer: UpstreamAnswer
  readonly source: ByteSource
  #body: Readable | undefined

  constructor(answer: UpstreamAnswer, source: ByteSource) {
    this.#answer = answer
    this.source = source
  }

  get status(): number {
    return this.#answer.status
  }

  get headers(): HeaderPairs {
    return this.#answer.headers
  }

  get body(): Readable {
    this.#body ??= new AnswerBody(this.source)
    return this.#body
  }

  trailers(): HeaderPairs {
    return this.#answer.trailers()
  }
}

class Tap implements ByteSource {
  readonly #source: ByteSource
  readonly #maxBytes: number
  readonly #whole: (bytes: Buffer) => void
  #pieces: Buffer[] = []
  #bytes = 0

  constructor(source: ByteSource, maxBytes: number, whole: (bytes: Buffer) => void) {
    this.#source = source
    this.#maxBytes = maxBytes
    this.#whole = whole
  }

  read(reader: ByteReader): void {
    this.#source.read({
      data: (piece) => {
        this.#take(piece)
        reader.data(piece)
      },
      end: () => {
        reader.end()
        if (this.#bytes <= this.#maxBytes) this.#whole(Buffer.concat(this.#pieces))
      },
      broken: (fault) => reader.broken(fault),
    })
  }

  pause(): void {
    this.#source.pause()
  }

  resume(): void {
    this.#source.resume()
  }

  cancel(): void {
    this.#pieces = []
    this.#source.cancel()
  }

  #take(piece: Buffer): void {
    this.#bytes += piece.length
    if (this.#bytes <= this.#maxBytes) this.#pieces.push(piece)
    else this.#pieces = []
  }
}
