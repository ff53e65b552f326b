/** The body of a request, which may be sent on another stream as long as nothing of it has been sent on the first. */
import type { ByteReader, ByteSource } from '../../http/body/byte-source.ts'

export class RetriableBody {
  readonly #source: ByteSource
  #reader: ByteReader | undefined
  #isTouched = false
  #isBegun = false
  #fault: Error | undefined

  constructor(source: ByteSource) {
    this.#source = source
  }

  /** Something of it, if only its end, has been given to a reader. */
  get isTouched(): boolean {
    return this.#isTouched
  }

  /** The reader before, if there was one, hears nothing more. */
  read(reader: ByteReader): void {
    this.#reader = reader
    if (this.#fault !== undefined) reader.broken(this.#fault)
    else if (this.#isBegun) this.#source.resume()
    else this.#begin()
  }

  pause(): void {
    this.#source.pause()
  }

  resume(): void {
    this.#source.resume()
  }

  /** Nobody takes the rest, unless there is another reader. */
  leave(): void {
    this.#reader = undefined
    this.#source.pause()
  }

  #begin(): void {
    this.#isBegun = true
    this.#source.read({
      data: (piece) => {
        this.#isTouched = true
        this.#reader?.data(piece)
      },
      end: () => {
        this.#isTouched = true
        this.#reader?.end()
      },
      broken: (fault) => {
        this.#fault = fault
        this.#reader?.broken(fault)
      },
    })
  }
}
