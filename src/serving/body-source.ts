/** Where the body of a request comes from, whatever version of HTTP carries it. */
import type { Readable } from 'node:stream'

export interface BodySource {
  /** Begins; to be called once. What has come meanwhile may come in the same turn. */
  start(sink: BodySink): void
  pause(): void
  resume(): void
  /** Nobody reads on: the sink hears nothing more, and the rest is thrown away as it comes. */
  discard(): void
}

/** Hears one of `end` and `broken`, once and last. */
export interface BodySink {
  data(piece: Buffer): void
  end(): void
  /** The client went away before the end. */
  broken(): void
}

/** A body that comes from a stream of Node. */
export class ReadableBodySource implements BodySource {
  readonly #source: Readable
  #sink: BodySink | undefined

  constructor(source: Readable) {
    this.#source = source
  }

  start(sink: BodySink): void {
    this.#sink = sink
    const source = this.#source
    source.on('data', this.#onData)
    source.once('end', this.#onEnd)
    source.once('close', this.#onClose)
    source.once('error', this.#onClose)
    if (source.readableEnded) this.#onEnd()
    else if (source.destroyed) this.#onClose()
  }

  pause(): void {
    this.#source.pause()
  }

  resume(): void {
    this.#source.resume()
  }

  /** A connection that is kept must come to its next request. */
  discard(): void {
    this.#letGo()
    this.#source.resume()
  }

  #letGo(): BodySink | undefined {
    const [source, sink] = [this.#source, this.#sink]
    this.#sink = undefined
    source.off('data', this.#onData)
    source.off('end', this.#onEnd)
    source.off('close', this.#onClose)
    source.off('error', this.#onClose)
    return sink
  }

  readonly #onData = (piece: Buffer): void => {
    this.#sink?.data(piece)
  }

  readonly #onEnd = (): void => {
    this.#letGo()?.end()
  }

  readonly #onClose = (): void => {
    this.#letGo()?.broken()
  }
}
