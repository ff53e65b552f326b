/** One request and its answer on an HTTP/2 connection. */

import type { ByteReader, ByteSource } from '../../http/body/byte-source.ts'
import type { Http2Session } from '../../http/http2/session.ts'
import type { Http2Stream, StreamHandler } from '../../http/http2/stream.ts'
import { ErrorCode, errorName } from '../../http/http2/wire.ts'
import { headerListOf } from '../../http/server/exchange.ts'
import { RequestSending } from './request-sending.ts'
import type { RetriableBody } from './retriable-body.ts'
import { type HeaderPairs, type UpstreamAnswer, UpstreamError, type UpstreamRequest } from './upstream.ts'
import { brokenBy } from './upstream-error.ts'

/** Methods by which asking twice changes nothing. */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

export interface StreamFailure {
  readonly failure: UpstreamError
  /** Whether the same request may be sent again without being carried out twice. */
  readonly mayRetry: boolean
}

export type StreamOutcome = UpstreamAnswer | StreamFailure

/** What all streams of a connection have in common. */
export interface StreamOptions {
  readonly session: Http2Session
  readonly authority: string
  /** Why the connection was lost, where it was. */
  readonly whyLost: () => Error | undefined
  /** The API server takes no more streams here than there are, whatever it has said before. */
  readonly onRefused: () => void
  /** A stream was broken off by us. */
  readonly onCancel: () => void
  /** The stream is over, in whatever way; called once. */
  readonly onClose: () => void
}

/** Rejects with the reason of the request's signal only; everything else is an outcome. */
export function sendOnStream(
  request: UpstreamRequest,
  body: RetriableBody | undefined,
  options: StreamOptions,
): Promise<StreamOutcome> {
  const { signal } = request
  if (signal.aborted) {
    options.onClose()
    return Promise.reject(signal.reason)
  }
  return new Promise((resolve, reject) => {
    try {
      new AnsweredStream(request, body, options, resolve, reject).send()
    } catch (error) {
      options.onClose()
      resolve({ failure: brokenBy(error), mayRetry: options.session.isOver })
    }
  })
}

class AnsweredStream implements StreamHandler, ByteSource, UpstreamAnswer {
  status = 0
  headers: HeaderPairs = []
  readonly #request: UpstreamRequest
  readonly #requestBody: RetriableBody | undefined
  readonly #options: StreamOptions
  readonly #resolve: (outcome: StreamOutcome) => void
  readonly #reject: (reason: Error) => void
  readonly #stream: Http2Stream
  #trailers: HeaderPairs = []
  #sending: RequestSending | undefined
  #reader: ByteReader | undefined
  #bodyFailed = false
  #isCancelled = false
  #isComplete = false
  #isTold = false

  constructor(
    request: UpstreamRequest,
    body: RetriableBody | undefined,
    options: StreamOptions,
    resolve: (outcome: StreamOutcome) => void,
    reject: (reason: Error) => void,
  ) {
    this.#request = request
    this.#requestBody = body
    this.#options = options
    this.#resolve = resolve
    this.#reject = reject
    this.#stream = options.session.open(headOf(request, options.authority), this, body === undefined)
  }

  /** The body, if there is one, until nobody wants the answer any more. */
  send(): void {
    const body = this.#requestBody
    this.#request.signal.addEventListener('abort', this.#onAbort, { once: true })
    if (body === undefined) return
    this.#sending = new RequestSending(this.#request, body, this.#stream, this.#onBodyCut)
    this.#sending.start()
  }

  get body(): ByteSource {
    return this
  }

  trailers(): HeaderPairs {
    return this.#trailers
  }

  read(reader: ByteReader): void {
    this.#reader = reader
    if (this.#stream.isClosed) this.#tellEnd()
    else this.#stream.resume()
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  /** The peer learns of it at once, whatever is still to be sent or read. */
  cancel(): void {
    this.#isCancelled = true
    this.#breakOff()
  }

  onHead(fields: readonly string[], status: number): void {
    // Until somebody reads.
    this.#stream.pause()
    this.status = status
    this.headers = headerListOf(fields)
    this.#resolve(this)
  }

  onData(piece: Buffer): void {
    this.#reader?.data(piece)
  }

  onEnd(trailers: readonly string[]): void {
    this.#trailers = headerListOf(trailers)
    this.#isComplete = true
    this.#tellEnd()
  }

  onDrain(): void {
    this.#sending?.resume()
  }

  onSent(): void {}

  onClose(): void {
    this.#request.signal.removeEventListener('abort', this.#onAbort)
    this.#sending?.stop()
    const isAnswered = this.status !== 0
    if (!isAnswered && this.#isRefused) this.#options.onRefused()
    this.#options.onClose()
    if (isAnswered) this.#tellEnd()
    else this.#resolve(this.#failure())
  }
  readonly #onAbort = (): void => {
    this.#reject(this.#request.signal.reason as Error)
    this.#breakOff()
  }

  /** Some servers take a body for complete whose stream is only cancelled; one that is not out yet must not look so. */
  #breakOff(): void {
    // An answer that has been told whole takes its client with it, and needs no end by force.
    if (this.#stream.isClosed || (this.#isComplete && this.#stream.isSendingOver)) return
    this.#options.onCancel()
    this.#stream.reset(this.#stream.isSendingOver ? ErrorCode.cancel : ErrorCode.internalError)
  }

  /** Once, and not before somebody reads. */
  #tellEnd(): void {
    const reader = this.#reader
    if (reader === undefined || this.#isCancelled || this.#isTold) return
    this.#isTold = true
    if (this.#isComplete) reader.end()
    else reader.broken(this.#fault())
  }

  readonly #onBodyCut = (): void => {
    this.#bodyFailed = true
    this.#breakOff()
  }

  /** What cut the answer off. */
  #fault(): UpstreamError {
    if (this.#bodyFailed) return new UpstreamError('broken', 'the body of the request ended before it was complete')
    const lost = this.#options.whyLost()
    if (lost !== undefined || this.#options.session.isOver) return brokenBy(lost)
    return brokenBy(new Error(`it has ended the stream with ${errorName(this.#stream.resetCode ?? 0)}`))
  }

  /** Whether the API server would not take the stream; ENHANCE_YOUR_CALM comes from one that has no memory left for this connection, before it looks at the request. */
  get #isRefused(): boolean {
    const { resetCode } = this.#stream
    return resetCode === ErrorCode.refusedStream || resetCode === ErrorCode.enhanceYourCalm
  }

  #failure(): StreamFailure {
    const body = this.#requestBody
    const isSafe = safeMethods.has(this.#request.method)
    const isRefused = this.#isRefused && (this.#stream.resetCode === ErrorCode.refusedStream || isSafe)
    const isUntouched = body === undefined || !body.isTouched
    const isLost = this.#options.session.isOver && body === undefined && isSafe
    return { failure: this.#fault(), mayRetry: isUntouched && !this.#bodyFailed && (isRefused || isLost) }
  }
}

function headOf({ method, target, headers }: UpstreamRequest, authority: string): string[] {
  const fields = [':method', method, ':scheme', 'https', ':authority', authority, ':path', target]
  for (const [name, value] of headers) fields.push(name, value)
  return fields
}
