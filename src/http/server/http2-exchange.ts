/** An exchange over HTTP/2. */

import type { Guard } from '../../process/safety-net.ts'
import { callAll } from '../../runtime/call-all.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { ByteReader, ByteSource } from '../body/byte-source.ts'
import { clientGone, readBody } from '../body/request-body.ts'
import { RequestBody } from '../body/streamed-body.ts'
import { readResponseHead } from '../http2/head-rules.ts'
import type { Http2Stream, StreamHandler } from '../http2/stream.ts'
import { ErrorCode } from '../http2/wire.ts'
import { Ending } from './ending.ts'
import {
  type HeaderList,
  headerListOf,
  type Peer,
  RequestHeaders,
  type ResponseHeaders,
  type StreamedResponse,
  type StreamingExchange,
} from './exchange.ts'
import { UnreadRest } from './unread-rest.ts'

export interface Http2ExchangeOptions {
  readonly peer: Peer
  readonly hasBody: boolean
  readonly guard: (exchange: Http2Exchange) => Guard
  readonly clock: Clock
  /** Now, as HTTP writes it. */
  readonly date: () => string
  /** The stream is over. */
  readonly onClose: () => void
}

export class Http2Exchange implements StreamingExchange, StreamHandler, ByteSource {
  readonly httpVersion = '2'
  readonly method: string
  readonly target: string
  readonly host: string
  readonly headers: RequestHeaders
  readonly peer: Peer
  readonly ending = new Ending()
  readonly guard: Guard
  readonly #stream: Http2Stream
  readonly #options: Http2ExchangeOptions
  #isStarted = false
  #reader: ByteReader | undefined
  #trailers: HeaderList = []
  #response: Http2Response | undefined

  constructor(stream: Http2Stream, fields: readonly string[], options: Http2ExchangeOptions) {
    this.#stream = stream
    this.#options = options
    this.peer = options.peer
    this.guard = options.guard(this)
    const headers = new RequestHeaders()
    let [method, target, authority] = ['', '', '']
    for (let index = 0; index + 1 < fields.length; index += 2) {
      const name = fields[index] as string
      const value = fields[index + 1] as string
      if (!name.startsWith(':')) headers.add(name, value)
      else if (name === ':path') target = value
      else if (name === ':method') method = value
      else if (name === ':authority') authority = value
    }
    this.headers = headers
    this.method = method
    this.target = target
    this.host = authority || (headers.get('host') ?? '')
    // Until somebody reads.
    if (options.hasBody) stream.pause()
  }

  get closed(): AbortSignal {
    return this.ending.signal
  }

  get started(): boolean {
    return this.#isStarted
  }

  body(): RequestBody | undefined {
    if (!this.#options.hasBody) return undefined
    return new RequestBody(this, () => this.#trailers, this.guard)
  }

  readBody(maxBytes: number): Promise<Buffer> {
    return readBody(this, this.headers.get('content-length'), maxBytes)
  }

  respond(status: number, headers: ResponseHeaders, body: Buffer): void {
    const hasBody = this.method !== 'HEAD' && body.length > 0
    this.#sendHead(status, { ...headers, 'content-length': String(body.length) }, !hasBody)
    if (hasBody) this.#stream.endWith(body)
  }

  stream(status: number, headers: ResponseHeaders): StreamedResponse {
    this.#sendHead(status, headers, false)
    this.#response = new Http2Response(this.#stream, this.ending, headers['trailer'] !== undefined)
    return this.#response
  }

  /** An answer that is complete stays so, though the client may still be sending. */
  abort(): void {
    if (!this.ending.aborted) this.#stream.reset(ErrorCode.internalError)
  }

  read(reader: ByteReader): void {
    this.#reader = reader
    if (!this.#options.hasBody) this.#letGo()?.end()
    else if (this.#stream.isClosed) this.#letGo()?.broken(clientGone())
    else {
      this.#continue()
      this.#stream.resume()
    }
  }

  /** Not when the answer has gone: nobody reads what comes behind it. */
  pause(): void {
    if (!this.ending.aborted) this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  /** Who stops reading leaves the rest to flow away: the stream still has an answer to carry. */
  cancel(): void {
    this.#letGo()
    this.#stream.resume()
  }

  /** Never: it is for those who ask. */
  onHead(): void {}

  onData(piece: Buffer): void {
    this.#reader?.data(piece)
  }

  onEnd(trailers: readonly string[]): void {
    this.#trailers = headerListOf(trailers)
    this.#letGo()?.end()
  }

  onDrain(): void {
    this.#response?.drain()
  }

  /** The exchange is over with its answer, also where the client still sends. */
  onSent(): void {
    if (this.#stream.isReceivingOver) this.cancel()
    else {
      this.#stream.handTo(new UnreadRest(this.#stream, this.#options.clock))
      this.onClose()
    }
  }

  onClose(): void {
    callAll([() => this.#letGo()?.broken(clientGone()), () => this.ending.end(), () => this.#options.onClose()])
  }

  #letGo(): ByteReader | undefined {
    const reader = this.#reader
    this.#reader = undefined
    return reader
  }

  /** A client may wait with its body until it is asked for it. Behind the answer itself there is no place for that. */
  #continue(): void {
    if (this.#isStarted || this.headers.get('expect')?.toLowerCase() !== '100-continue') return
    this.#stream.respond([':status', '100'], false)
  }

  /** Throws, with nothing sent, at a head that must not be sent. */
  #sendHead(status: number, headers: ResponseHeaders, isEnd: boolean): void {
    const fields = [':status', String(status)]
    for (const [given, value] of Object.entries(headers)) {
      const name = given.toLowerCase()
      if (typeof value === 'string') fields.push(name, value)
      else for (const each of value) fields.push(name, each)
    }
    if (headers['date'] === undefined) fields.push('date', this.#options.date())
    const facts = readResponseHead(fields)
    if (typeof facts === 'string') throw new Error(`the answer has ${facts}`)
    this.#isStarted = true
    this.#stream.respond(fields, isEnd)
  }
}

class Http2Response implements StreamedResponse {
  readonly #stream: Http2Stream
  readonly #ending: Ending
  readonly #mayTrail: boolean
  #onDrain: (() => void) | undefined
  #waiting: (() => void)[] = []
  #isWatchingEnd = false

  constructor(stream: Http2Stream, ending: Ending, mayTrail: boolean) {
    this.#stream = stream
    this.#ending = ending
    this.#mayTrail = mayTrail
  }

  write(piece: Buffer): boolean {
    return this.#stream.write(piece)
  }

  drained(): Promise<void> {
    if (this.#ending.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.#isWatchingEnd) return
      this.#isWatchingEnd = true
      this.#ending.addEventListener('abort', () => this.#goOn())
    })
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener
  }

  drain(): void {
    this.#onDrain?.()
    this.#goOn()
  }

  end(trailers: HeaderList = []): void {
    this.#stream.end(this.#mayTrail ? trailers.flat() : [])
  }

  endWith(piece: Buffer): void {
    this.#stream.endWith(piece)
  }

  #goOn(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
