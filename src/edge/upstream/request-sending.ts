/** The body of a request on its way up, as fast as the API server takes it. */
import type { ByteReader } from '../../http/body/byte-source.ts'
import type { Http2Stream } from '../../http/http2/stream.ts'
import type { RetriableBody } from './retriable-body.ts'
import type { UpstreamRequest } from './upstream.ts'

export class RequestSending implements ByteReader {
  readonly #request: UpstreamRequest
  readonly #body: RetriableBody
  readonly #stream: Http2Stream
  readonly #onCut: () => void

  /** `onCut` is called where the body breaks off before its end. */
  constructor(request: UpstreamRequest, body: RetriableBody, stream: Http2Stream, onCut: () => void) {
    this.#request = request
    this.#body = body
    this.#stream = stream
    this.#onCut = onCut
  }

  start(): void {
    this.#body.read(this)
  }

  resume(): void {
    this.#body.resume()
  }

  /** Nobody takes the rest. */
  stop(): void {
    this.#body.leave()
  }

  data(piece: Buffer): void {
    if (!this.#stream.write(piece)) this.#body.pause()
  }

  end(): void {
    this.#stream.end((this.#request.trailers?.() ?? []).flat())
  }

  broken(): void {
    if (!this.#stream.isClosed) this.#onCut()
  }
}
