/** An exchange over HTTP/1.1. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { drained } from './drained.ts'
import {
  EXCHANGE_OVER,
  type Exchange,
  type Peer,
  RequestHeaders,
  type ResponseHeaders,
  type ResponseStream,
} from './exchange.ts'
import { readBody } from './request-body.ts'

export class Http1Exchange implements Exchange {
  readonly httpVersion = '1.1'
  readonly method: string
  readonly target: string
  readonly host: string
  readonly headers: RequestHeaders
  readonly peer: Peer
  readonly closed: AbortSignal
  readonly #request: IncomingMessage
  readonly #response: ServerResponse

  constructor(request: IncomingMessage, response: ServerResponse, peer: Peer) {
    const closed = new AbortController()
    response.once('close', () => closed.abort(EXCHANGE_OVER))
    this.method = request.method ?? ''
    this.target = request.url ?? ''
    this.headers = new RequestHeaders(pairs(request.rawHeaders))
    this.host = this.headers.get('host') ?? ''
    this.peer = peer
    this.closed = closed.signal
    this.#request = request
    this.#response = response
  }

  get started(): boolean {
    return this.#response.headersSent
  }

  async readBody(maxBytes: number): Promise<Buffer> {
    try {
      return await readBody(this.#request, this.headers.get('content-length'), maxBytes)
    } catch (error) {
      // Nobody is going to read the rest: the next request of this connection would stand behind it.
      if (!this.#response.headersSent) this.#response.setHeader('connection', 'close')
      throw error
    }
  }

  respond(status: number, headers: ResponseHeaders, body: Buffer): void {
    this.#response.writeHead(status, { ...headers, 'content-length': body.length })
    this.#response.end(this.method === 'HEAD' ? undefined : body)
  }

  stream(status: number, headers: ResponseHeaders): ResponseStream {
    const response = this.#response
    response.writeHead(status, headers)
    response.flushHeaders()
    return {
      write: (chunk) => response.write(chunk),
      drained: () => drained(response, this.closed),
      end: () => response.end(),
    }
  }

  abort(): void {
    this.#response.destroy()
  }
}

function* pairs(rawHeaders: readonly string[]): Generator<readonly [string, string]> {
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    yield [(rawHeaders[index] as string).toLowerCase(), rawHeaders[index + 1] as string]
  }
}
