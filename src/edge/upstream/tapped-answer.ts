/** An answer that somebody else gets a copy of while it passes, if it is complete and not too large. */
import type { ByteReader, ByteSource } from '../../http/body/byte-source.ts'
import type { UpstreamAnswer } from './upstream.ts'

/**
 * `whole` is called once the last byte has been passed on, with nothing where that was too much; and not at all for what is cut
 * off or not read to its end. It runs on a connection that others share, and must not throw: whoever taps catches and tells.
 */
export function tapAnswer(
  answer: UpstreamAnswer,
  maxBytes: number,
  whole: (bytes: Buffer | undefined) => void,
): UpstreamAnswer {
  const { status, headers } = answer
  return { status, headers, body: new Tap(answer.body, maxBytes, whole), trailers: () => answer.trailers() }
}

class Tap implements ByteSource {
  readonly #source: ByteSource
  readonly #maxBytes: number
  readonly #whole: (bytes: Buffer | undefined) => void
  #pieces: Buffer[] = []
  #bytes = 0

  constructor(source: ByteSource, maxBytes: number, whole: (bytes: Buffer | undefined) => void) {
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
        this.#whole(this.#bytes <= this.#maxBytes ? Buffer.concat(this.#pieces) : undefined)
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
