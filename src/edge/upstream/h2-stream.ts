/** One request and its answer on an HTTP/2 connection. */
import { type ClientHttp2Session, type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2'
import { letGo } from '../../serving/let-go.ts'
import { AnswerBody } from './answer-body.ts'
import { addPairs, type HeaderRecord, pairsOf } from './header-pairs.ts'
import {
  type AnswerSource,
  type HeaderPairs,
  type UpstreamAnswer,
  UpstreamError,
  type UpstreamRequest,
} from './upstream.ts'
import { brokenBy } from './upstream-error.ts'

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants

/** One for all: its stack would say nothing. */
const requestCutOff = new UpstreamError('broken', 'the request was cut off')

/** Asking twice changes nothing. */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

export interface StreamFailure {
  readonly failure: UpstreamError
  /** Whether the same request may be sent again without being carried out twice. */
  readonly mayRetry: boolean
}

export type StreamOutcome = UpstreamAnswer | StreamFailure

/** The same for all streams of a connection. */
export interface StreamOptions {
  readonly session: ClientHttp2Session
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

/** Node hands over the raw headers too; its types do not say so. */
type HeadersEvent = [headers: IncomingHttpHeaders, flags: number, raw: string[]]

/** Rejects with the reason of the request's signal only; everything else is an outcome. */
export function sendOnStream(request: UpstreamRequest, options: StreamOptions): Promise<StreamOutcome> {
  const { signal } = request
  if (signal.aborted) {
    options.onClose()
    return Promise.reject(signal.reason)
  }
  let stream: ClientHttp2Stream
  try {
    stream = start(request, options)
  } catch (error) {
    options.onClose()
    const { closed, destroyed } = options.session
    return Promise.resolve({ failure: brokenBy(error), mayRetry: closed || destroyed })
  }
  return new Promise((resolve, reject) => new H2Stream(stream, request, options, resolve, reject))
}

function start({ method, target, headers, body, trailers }: UpstreamRequest, options: StreamOptions) {
  const record = Object.create(null) as HeaderRecord
  record[':method'] = method
  record[':scheme'] = 'https'
  record[':authority'] = options.authority
  record[':path'] = target
  const waitForTrailers = body !== undefined && trailers !== undefined
  return options.session.request(addPairs(record, headers), { endStream: body === undefined, waitForTrailers })
}

class H2Answer implements UpstreamAnswer {
  readonly status: number
  readonly headers: HeaderPairs
  readonly source: H2Stream
  #body: AnswerBody | undefined

  constructor(status: number, headers: HeaderPairs, source: H2Stream) {
    this.status = status
    this.headers = headers
    this.source = source
  }

  get body(): AnswerBody {
    this.#body ??= new AnswerBody(this.source)
    return this.#body
  }

  trailers(): HeaderPairs {
    return this.source.trailers
  }
}

class H2Stream implements AnswerSource {
  readonly stream: ClientHttp2Stream
  readonly #request: UpstreamRequest
  readonly #options: StreamOptions
  readonly #reject: (reason: Error) => void
  #error: Error | undefined
  #isAnswered = false
  #bodyFailed = false
  trailers: HeaderPairs = []

  constructor(
    stream: ClientHttp2Stream,
    request: UpstreamRequest,
    options: StreamOptions,
    resolve: (outcome: StreamOutcome) => void,
    reject: (reason: Error) => void,
  ) {
    this.stream = stream
    this.#request = request
    this.#options = options
    this.#reject = reject
    request.signal.addEventListener('abort', this.#onAbort, { once: true })
    // Not by `once`, for what comes once anyway: on these streams taking a listener away costs more than adding it.
    stream.on('response', (...[headers, , raw]: HeadersEvent) => {
      this.#isAnswered = true
      resolve(new H2Answer(Number(headers[':status']), pairsOf(raw), this))
    })
    stream.on('trailers', (...[, , raw]: HeadersEvent) => {
      this.trailers = pairsOf(raw)
    })
    stream.on('error', (error) => {
      this.#error ??= error
    })
    stream.on('close', () => {
      request.signal.removeEventListener('abort', this.#onAbort)
      if (!this.#isAnswered && this.#isRefused) options.onRefused()
      options.onClose()
      if (!this.#isAnswered) resolve(this.#failure())
      letGo(stream)
    })
    if (request.body !== undefined) this.#send(request.body)
  }

  readonly #onAbort = (): void => {
    this.#reject(this.#request.signal.reason as Error)
    this.cancel()
  }

  /**
   * The peer learns of it at once, whatever is still to be sent or read. A body that is not out yet must not look complete, and
   * closing a stream of Node ends its body in good order first: only destroying it with an error does not.
   */
  cancel(): void {
    const { stream } = this
    if (!stream.closed && !stream.destroyed) this.#options.onCancel()
    if (!stream.writableFinished) stream.destroy(requestCutOff)
    else if (!stream.closed) stream.close(NGHTTP2_CANCEL)
    stream.destroy()
  }

  #send(body: NonNullable<UpstreamRequest['body']>): void {
    const { stream } = this
    const cut = (): void => {
      if (body.readableEnded) return
      this.#bodyFailed = true
      this.cancel()
    }
    const { trailers } = this.#request
    if (trailers !== undefined)
      stream.once('wantTrailers', () => stream.sendTrailers(addPairs(Object.create(null) as HeaderRecord, trailers())))
    body.once('error', cut)
    body.once('close', cut)
    // Whoever has answered may refuse the rest of the body, and what is written after that would be an error of its own.
    stream.once('aborted', () => body.unpipe(stream))
    stream.once('close', () => {
      body.unpipe(stream)
      body.removeListener('error', cut)
      body.removeListener('close', cut)
    })
    if (body.destroyed) cut()
    else body.pipe(stream)
  }

  /** What cut the answer off; `undefined` where nothing did. */
  fault(): UpstreamError | undefined {
    if (this.#bodyFailed) return new UpstreamError('broken', 'the body of the request ended before it was complete')
    // What ends with its connection has the code CANCEL, and no error.
    if (this.stream.rstCode === NGHTTP2_NO_ERROR && this.#error === undefined) return undefined
    return brokenBy(this.#options.whyLost() ?? this.#error)
  }

  /** The second: by a server that has no memory left for this connection, before it looks at the request. */
  get #isRefused(): boolean {
    const { rstCode } = this.stream
    return rstCode === NGHTTP2_REFUSED_STREAM || rstCode === NGHTTP2_ENHANCE_YOUR_CALM
  }

  #failure(): StreamFailure {
    const { method, body } = this.#request
    const isCertain = this.stream.rstCode === NGHTTP2_REFUSED_STREAM || safeMethods.has(method)
    const isRefused = this.#isRefused && isCertain
    const isUntouched = body === undefined || !body.readableDidRead
    const { closed, destroyed } = this.#options.session
    const isLost = (closed || destroyed) && body === undefined && safeMethods.has(method)
    const mayRetry = isUntouched && !this.#bodyFailed && (isRefused || isLost)
    return { failure: this.fault() ?? brokenBy(undefined), mayRetry }
  }
}
