/** The body of a request on its way up, as fast as the API server takes it. */
import type { Readable } from 'node:stream'
import type { Http2Stream } from '../../http/http2/stream.ts'
import type { UpstreamRequest } from './upstream.ts'

export class RequestSending {
  readonly #request: UpstreamRequest
  readonly #body: Readable
  readonly #stream: Http2Stream
  readonly #onCut: () => void

  /** `onCut` is called where the body breaks off before its end. */
  constructor(request: UpstreamRequest, body: Readable, stream: Http2Stream, onCut: () => void) {
    this.#request = request
    this.#body = body
    this.#stream = stream
    this.#onCut = onCut
    body.on('data', this.#onData)
    body.once('end', this.#onEnd)
    body.once('error', this.#onClose)
    body.once('close', this.#onClose)
    if (body.destroyed) this.#onClose()
  }

  resume(): void {
    this.#body.resume()
  }

  /** Nobody takes the rest. */
  stop(): void {
    const body = this.#body
    body.off('data', this.#onData)
    body.off('end', this.#onEnd)
    body.off('error', this.#onClose)
    body.off('close', this.#onClose)
    body.pause()
  }

  readonly #onData = (piece: Buffer): void => {
    if (!this.#stream.write(piece)) this.#body.pause()
  }

  readonly #onEnd = (): void => {
    this.#stream.end((this.#request.trailers?.() ?? []).flat())
  }

  readonly #onClose = (): void => {
    if (!this.#body.readableEnded && !this.#stream.isClosed) this.#onCut()
  }
}
