/**
 * One HTTP request and its response, whatever version of HTTP carries them. Everything above this file speaks to an
 * Exchange; only `http1-exchange.ts` and `http2-exchange.ts` know the difference.
 */
import type { Duplex } from 'node:stream'
import type { Guard } from '../../process/safety-net.ts'
import type { RequestBody } from '../body/streamed-body.ts'
import type { Cancellation } from './ending.ts'

/** Names in lower case; a name may stand several times. */
export type HeaderList = readonly (readonly [name: string, value: string])[]

/** From names and values in turn, as they stood on the wire. The pseudo fields of HTTP/2 are not headers. */
export function headerListOf(raw: readonly string[]): HeaderList {
  const list: [string, string][] = []
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] as string
    if (!name.startsWith(':')) list.push([name.toLowerCase(), raw[index + 1] as string])
  }
  return list
}

/** Names in lower case; a name may stand several times, and each value counts on its own. */
export class RequestHeaders {
  readonly #values = new Map<string, string[]>()

  constructor(pairs: Iterable<readonly [string, string]> = []) {
    for (const [name, value] of pairs) this.add(name, value)
  }

  add(name: string, value: string): void {
    const known = this.#values.get(name)
    if (known === undefined) this.#values.set(name, [value])
    else known.push(value)
  }

  /** The first value, as Go's `Header.Get` gives it. */
  get(name: string): string | undefined {
    return this.#values.get(name)?.[0]
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? []
  }

  names(): Iterable<string> {
    return this.#values.keys()
  }

  /** Each name with all its values, in the order in which the names first stood. */
  entries(): Iterable<readonly [name: string, values: readonly string[]]> {
    return this.#values
  }

  /** Takes a header away for everything that comes after, such as a credential that has been used. */
  remove(name: string): void {
    this.#values.delete(name)
  }
}

export interface Peer {
  readonly address: string
  /** The certificate that the client presented, in DER, and those it sent along; not yet verified by anybody. */
  readonly certificates: readonly Buffer[]
}

/** A response that is sent piece by piece. */
export interface ResponseStream {
  /** False when the client reads slower than we write: wait for `drained` before the next piece. */
  write(chunk: Buffer): boolean
  drained(): Promise<void>
  end(): void
}

export type ResponseHeaders = Record<string, string | string[]>

export interface Exchange {
  readonly method: string
  /** Path and query as they stood in the request. */
  readonly target: string
  readonly host: string
  readonly httpVersion: '1.1' | '2'
  readonly headers: RequestHeaders
  readonly peer: Peer
  /** Aborts when the response is complete or the client has gone, whichever comes first. */
  readonly closed: AbortSignal
  /** Whether the head of a response has been sent. */
  readonly started: boolean
  /** Throws a BodyTooLargeError, and an error of any other kind when the client goes away. */
  readBody(maxBytes: number): Promise<Buffer>
  respond(status: number, headers: ResponseHeaders, body: Buffer): void
  stream(status: number, headers: ResponseHeaders): ResponseStream
  /** Ends the exchange without a proper end: the client sees that something was cut off. */
  abort(): void
}

/** A response of which nothing is gathered and whose sender is told, without a promise each time, when to go on. */
export interface StreamedResponse extends ResponseStream {
  /** Called each time that what made `write` say false has been taken. Set once, before the first `write`. */
  onDrain(listener: () => void): void
  /** Trailers pass only where the head announced them in `trailer`. */
  end(trailers?: HeaderList): void
  /** The last piece and the end in one: they need one packet, not two. */
  endWith(chunk: Buffer): void
}

/** An exchange as somebody needs it who passes on what comes: both bodies flow, each with back-pressure. */
export interface StreamingExchange extends Exchange {
  /** For whatever is done for this exchange out of events of others: what fails there costs this exchange alone. */
  readonly guard: Guard
  /** What `closed` says, for a fraction of its cost. */
  readonly ending: Cancellation
  /** The body as it comes, undefined where the request has none. To be called once, and not beside `readBody`. */
  body(): RequestBody | undefined
  stream(status: number, headers: ResponseHeaders): StreamedResponse
}

/** An HTTP/1.1 request to go on in another protocol. Any answer but the switch ends the connection. */
export interface UpgradeExchange extends StreamingExchange {
  /** Answers 101 and gives the connection away, with all that the client has sent since its request. */
  switchProtocols(headers: ResponseHeaders): Duplex
}

export class BodyTooLargeError extends Error {
  override readonly name = 'BodyTooLargeError'

  constructor(maxBytes: number) {
    super(`the request body is larger than ${maxBytes} bytes`)
  }
}
