/** An exchange over HTTP/2, on the stream itself: Node's imitation of the HTTP/1 objects costs half the throughput. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { drained } from './drained.ts'
import { Ending } from './ending.ts'
import {
  type HeaderList,
  type Peer,
  RequestHeaders,
  type ResponseHeaders,
  type StreamedResponse,
  type StreamingExchange,
} from './exchange.ts'
import { letGo } from './let-go.ts'
import { MAX_UNSENT_ANSWER_BYTES } from './limits.ts'
import { readBody } from './request-body.ts'
import { RequestBody } from './streamed-body.ts'

/** Goes out as INTERNAL_ERROR. One object for all: nobody reads its stack. */
const answerCutOff = new Error('the answer is cut off')

const ignore = (): void => {}

export class Http2Exchange implements StreamingExchange {
  readonly httpVersion = '2'
  readonly method: string
  readonly target: string
  readonly host: string
  readonly headers: RequestHeaders
  readonly peer: Peer
  readonly ending = new Ending()
  readonly #stream: ServerHttp2Stream

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[], peer: Peer) {
    stream.on('close', () => {
      this.ending.end()
      letGo(stream)
    })
    // A stream that the client resets emits an error; it is told by `closed`.
    stream.on('error', ignore)
    this.method = headers[':method'] ?? ''
    this.target = headers[':path'] ?? ''
    this.host = headers[':authority'] ?? headers.host ?? ''
    this.headers = new RequestHeaders(pairs(rawHeaders))
    this.peer = peer
    this.#stream = stream
  }

  get closed(): AbortSignal {
    return this.ending.signal
  }

  get started(): boolean {
    return this.#stream.headersSent
  }

  /** A stream that the client has reset takes no answer, some turns before `closed` says so. */
  get #isGone(): boolean {
    return this.#stream.destroyed || this.#stream.closed
  }

  body(): RequestBody | undefined {
    const stream = this.#stream
    if (stream.endAfterHeaders) return undefined
    this.#continue()
    let trailers: HeaderList = []
    stream.once('trailers', (_headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
      trailers = [...pairs(raw)]
    })
    return new RequestBody(stream, () => trailers)
  }

  /** A client may wait with its body until it is asked for it. */
  #continue(): void {
    if (this.headers.get('expect')?.toLowerCase() === '100-continue' && !this.#isGone)
      this.#stream.additionalHeaders({ ':status': 100 })
  }

  readBody(maxBytes: number): Promise<Buffer> {
    this.#continue()
    return readBody(this.#stream, this.headers.get('content-length'), maxBytes)
  }

  respond(status: number, headers: ResponseHeaders, body: Buffer): void {
    if (this.#isGone) return
    this.#endWithAnswer()
    const isHead = this.method === 'HEAD'
    const endStream = isHead || body.length === 0
    this.#stream.respond({ ':status': status, ...headers, 'content-length': body.length }, { endStream })
    if (!endStream) this.#stream.end(body)
  }

  /** A client that goes on sending after its answer would keep the stream open as long as it likes. */
  #endWithAnswer(): void {
    const stream = this.#stream
    if (stream.endAfterHeaders) return
    stream.once('finish', () => {
      if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR)
    })
  }

  stream(status: number, headers: ResponseHeaders): StreamedResponse {
    const stream = this.#stream
    const waitForTrailers = headers['trailer'] !== undefined
    if (!this.#isGone) {
      this.#endWithAnswer()
      stream.respond({ ':status': status, ...headers }, { waitForTrailers })
    }
    return {
      // Node asks for a pause after each frame, and every pause costs more than the frame did.
      write: (chunk) => this.#isGone || stream.write(chunk) || stream.writableLength < MAX_UNSENT_ANSWER_BYTES,
      drained: () => drained(stream, this.closed),
      onDrain: (listener) => void stream.on('drain', listener),
      end: (trailers = []) => {
        if (waitForTrailers) stream.once('wantTrailers', () => stream.sendTrailers(merged(trailers)))
        stream.end()
      },
      endWith: (chunk) => void stream.end(chunk),
    }
  }

  /** Not by `close`: that ends the stream in good order just before it resets it, and clients believe the end. */
  abort(): void {
    this.#stream.destroy(answerCutOff)
  }
}

function merged(list: HeaderList): Record<string, string[]> {
  const headers: Record<string, string[]> = {}
  for (const [name, value] of list) headers[name] = [...(headers[name] ?? []), value]
  return headers
}

/** HTTP/2 names are in lower case already; pseudo headers are not headers. */
function* pairs(rawHeaders: readonly string[]): Generator<readonly [string, string]> {
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (!name.startsWith(':')) yield [name, rawHeaders[index + 1] as string]
  }
}
