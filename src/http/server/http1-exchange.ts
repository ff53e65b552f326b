/** An exchange over HTTP/1.1. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Guard } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import { drained } from '../body/drained.ts'
import { ReadableSource } from '../body/readable-source.ts'
import { clientGone, readBody } from '../body/request-body.ts'
import { RequestBody } from '../body/streamed-body.ts'
import { Ending } from './ending.ts'
import {
  headerListOf,
  type Peer,
  RequestHeaders,
  type ResponseHeaders,
  type StreamedResponse,
  type StreamingExchange,
} from './exchange.ts'
import { ANSWER_PIECE_BYTES, EARLY_ANSWER_LINGER_MS } from './limits.ts'
import type { UnsentAccount } from './unsent-answers.ts'

export interface Http1ExchangeOptions {
  readonly peer: Peer
  readonly clock: Clock
  readonly guard: Guard
  /** What waits for the client. */
  readonly unsent: UnsentAccount
}

export class Http1Exchange implements StreamingExchange {
  readonly httpVersion = '1.1'
  readonly method: string
  readonly target: string
  readonly host: string
  readonly headers: RequestHeaders
  readonly peer: Peer
  readonly ending: Ending
  readonly guard: Guard
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #clock: Clock
  readonly #hasBody: boolean
  readonly #unsent: UnsentAccount
  #isPassedOn = false

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    { peer, clock, guard, unsent }: Http1ExchangeOptions,
  ) {
    const ending = new Ending()
    response.once('close', () => ending.end())
    // One that stands behind another has no connection yet, and Node does not tell it when there never will be one.
    if (response.socket === null) closeWith(request.socket, ending)
    // Whoever writes to a client that has just gone is told by `closed`.
    response.on('error', () => {})
    this.method = request.method ?? ''
    this.target = request.url ?? ''
    this.headers = new RequestHeaders(headerListOf(request.rawHeaders))
    this.host = this.headers.get('host') ?? ''
    this.peer = peer
    this.ending = ending
    this.guard = guard
    this.#request = request
    this.#response = response
    this.#clock = clock
    this.#unsent = unsent
    this.#hasBody = hasBody(this.headers)
  }

  get closed(): AbortSignal {
    return this.ending.signal
  }

  get started(): boolean {
    return this.#response.headersSent
  }

  async readBody(maxBytes: number): Promise<Buffer> {
    try {
      return await readBody(bodySource(this.#request), this.headers.get('content-length'), maxBytes)
    } catch (error) {
      // Nobody is going to read the rest: the next request of this connection would stand behind it.
      if (!this.#response.headersSent) this.#response.shouldKeepAlive = false
      throw error
    }
  }

  body(): RequestBody | undefined {
    if (!this.#hasBody) return undefined
    this.#isPassedOn = true
    const request = this.#request
    return new RequestBody(bodySource(request), () => headerListOf(request.rawTrailers), this.guard)
  }

  /** Nobody reads the rest of a body that is answered before its end, and the next request would stand behind it. */
  get #isEarly(): boolean {
    return this.#isPassedOn && !this.#request.complete
  }

  respond(status: number, headers: ResponseHeaders, body: Buffer): void {
    const response = this.#response
    const sent: OutgoingHttpHeaders = { ...headers, 'content-length': body.length }
    if (this.#isEarly) response.shouldKeepAlive = false
    response.writeHead(status, sent)
    const content = this.method === 'HEAD' ? Buffer.alloc(0) : body
    if (this.#request.complete || response.shouldKeepAlive) this.#send(content)
    else this.#answerWhoSends(content)
  }

  /** Piece by piece as the client takes them. */
  #send(content: Buffer): void {
    const [response, unsent] = [this.#response, this.#unsent]
    let leftBytes = content.length
    let restBytes = content.length
    unsent.add(content.length)
    const taken = (bytes: number): void => {
      leftBytes -= bytes
      unsent.taken(bytes)
    }
    response.once('close', () => taken(leftBytes))
    const next = (): void => {
      while (restBytes > ANSWER_PIECE_BYTES) {
        const start = content.length - restBytes
        // What was written before has gone when this is called again.
        if (start > 0) taken(Math.min(ANSWER_PIECE_BYTES, leftBytes))
        restBytes -= ANSWER_PIECE_BYTES
        if (response.write(content.subarray(start, start + ANSWER_PIECE_BYTES))) continue
        response.once('drain', next)
        return
      }
      response.end(content.subarray(content.length - restBytes))
    }
    next()
  }

  /** The connection is to be closed and the client still sends: it gets its answer, and is read from until it is done. */
  #answerWhoSends(content: Buffer): void {
    const response = this.#response
    if (content.length > 0) response.write(content)
    else response.flushHeaders()
    const end = (): void => void response.end()
    response.once('close', this.#clock.schedule(EARLY_ANSWER_LINGER_MS, end))
    this.#request.once('end', end).resume()
  }

  stream(status: number, headers: ResponseHeaders): StreamedResponse {
    const response = this.#response
    const { socket } = response
    response.writeHead(status, this.#sendable(status, headers))
    // The head waits for what is written in this turn and the next: a small answer is one packet.
    socket?.cork()
    response.flushHeaders()
    process.nextTick(() => socket?.uncork())
    return {
      write: (chunk) => response.write(chunk),
      drained: () => drained(response, this.closed),
      onDrain: (listener) => void response.on('drain', listener),
      end: (trailers = []) => {
        if (trailers.length > 0 && response.chunkedEncoding) response.addTrailers(trailers.map(([...pair]) => pair))
        response.end()
      },
      endWith: (chunk) => void response.end(chunk),
    }
  }

  /** Node throws where trailers are announced for a body that cannot have them. */
  #sendable(status: number, headers: ResponseHeaders): ResponseHeaders {
    const sent = this.#isEarly ? { ...headers, connection: 'close' } : headers
    if (headers['trailer'] === undefined) return sent
    const { trailer: _trailer, ...rest } = sent
    const hasLength = headers['content-length'] !== undefined || this.method === 'HEAD'
    const canTrail = !hasLength && status !== 204 && status !== 304 && this.#request.httpVersion === '1.1'
    return canTrail ? sent : rest
  }

  abort(): void {
    this.#response.destroy()
  }
}

const waiting = new WeakMap<Socket, Set<Ending>>()

/** One listener for all that wait on a connection. */
function closeWith(socket: Socket, ending: Ending): void {
  let all = waiting.get(socket)
  if (all === undefined) {
    all = new Set()
    waiting.set(socket, all)
    socket.once('close', () => {
      for (const each of waiting.get(socket) ?? []) each.end()
    })
  }
  all.add(ending)
  ending.addEventListener('abort', () => waiting.get(socket)?.delete(ending))
}

/** Who stops reading leaves the rest to flow away: a connection that is kept must come to its next request. */
function bodySource(request: IncomingMessage): ReadableSource {
  return new ReadableSource(request, { broken: clientGone, cancel: () => void request.resume() })
}

function hasBody(headers: RequestHeaders): boolean {
  return headers.get('transfer-encoding') !== undefined || Number(headers.get('content-length') ?? 0) > 0
}
