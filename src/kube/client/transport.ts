/**
 * HTTP/1.1 to one API server: requests whose answers stream with back-pressure, and upgrades. It adds nothing to a
 * request, follows no redirect, repeats nothing and judges no status code.
 */
import { setMaxListeners } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import { type Dispatcher, Pool } from 'undici'
import type { Clock } from '../../runtime/clock.ts'
import type { ConnectionConfig } from './connection.ts'
import { Connector, type Dial } from './connector.ts'
import type { HeaderList } from './credentials.ts'
import { TransportError, type TransportErrorCode, toTransportError } from './transport-error.ts'
import { negotiate, type UpgradeOptions } from './upgrade.ts'

/** An API server ends ordinary requests after 60 s itself. */
export const DEFAULT_HEADERS_TIMEOUT_MS = 70_000
/** Longest silence inside an answer. Watches set their own. */
const DEFAULT_BODY_TIMEOUT_MS = 120_000
/** Shorter than the 90 s after which an API server closes an idle connection, so that we close first. */
const IDLE_CONNECTION_MS = 45_000
/** Far more than an API server sends; a peer that sends more is not one. */
const MAX_RESPONSE_HEADER_BYTES = 64 * 1024

export interface TransportRequest {
  readonly method: string
  /** Path and query as they go on the wire. */
  readonly path: string
  readonly headers?: HeaderList | undefined
  readonly body?: Uint8Array | Readable
  readonly signal?: AbortSignal | undefined
  readonly headersTimeoutMs?: number
  /** Longest silence between two pieces of the answer's body; 0 for no limit. */
  readonly bodyTimeoutMs?: number
}

export interface TransportResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Must be read to its end or destroyed: until then it holds a connection. */
  readonly body: Readable
}

export type UpgradeResult =
  | { readonly type: 'upgraded'; readonly headers: IncomingHttpHeaders; readonly stream: Duplex }
  /** The server declined and said why in an ordinary answer. */
  | { readonly type: 'declined'; readonly response: TransportResponse }

export interface Transport {
  request(request: TransportRequest): Promise<TransportResponse>
  /** `protocol` goes into the Upgrade header, for example `websocket`. */
  upgrade(request: Omit<TransportRequest, 'body'>, protocol: string): Promise<UpgradeResult>
  /** Breaks everything under way. */
  close(): Promise<void>
}

export interface HttpTransportOptions {
  readonly clock: Clock
  readonly dial?: Dial
  readonly connectTimeoutMs?: number
  /** Every watch holds a connection, so there is no limit unless one is set. */
  readonly maxConnections?: number
}

export class HttpTransport implements Transport {
  readonly #server: string
  readonly #clock: Clock
  readonly #connector: Connector
  readonly #pool: Pool
  readonly #closing = new AbortController()

  constructor(connection: ConnectionConfig, options: HttpTransportOptions) {
    const connector = new Connector(connection, options)
    this.#server = new URL(connection.server).origin
    this.#clock = options.clock
    this.#connector = connector
    // Every connect listens, and a busy client has many under way.
    setMaxListeners(0, this.#closing.signal)
    this.#pool = new Pool(this.#server, {
      connections: options.maxConnections ?? null,
      pipelining: 1,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      keepAliveMaxTimeout: IDLE_CONNECTION_MS,
      headersTimeout: DEFAULT_HEADERS_TIMEOUT_MS,
      bodyTimeout: DEFAULT_BODY_TIMEOUT_MS,
      maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
      // undici hangs when a connector calls back in the same tick; a promise never does.
      connect: (_options, connected) => {
        connector.connect(this.#closing.signal).then(
          (stream) => connected(null, stream as Socket),
          (error: Error) => connected(error, null),
        )
      },
    })
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    const { method, path, headers, body, signal, headersTimeoutMs, bodyTimeoutMs } = request
    try {
      signal?.throwIfAborted()
      const asked = this.#pool.request({
        method,
        path,
        headers: flat(headers),
        body: body ?? null,
        // The library gives up a connection after a DELETE with a body; API servers are sure of its length.
        reset: false,
        signal: signal ?? null,
        headersTimeout: headersTimeoutMs ?? null,
        bodyTimeout: bodyTimeoutMs ?? null,
      })
      const answered = asked.then(toResponse)
      return signal === undefined ? await answered : await unlessAborted(answered, signal)
    } catch (error) {
      throw this.#failure(error, signal)
    }
  }

  /** An upgraded connection belongs to its caller, so it is never taken from the pool. */
  async upgrade(request: Omit<TransportRequest, 'body'>, protocol: string): Promise<UpgradeResult> {
    const { signal: caller, headersTimeoutMs, bodyTimeoutMs } = request
    const late = new AbortController()
    const signal = AbortSignal.any([this.#closing.signal, late.signal, ...(caller === undefined ? [] : [caller])])
    let cancel: (() => void) | undefined
    try {
      signal.throwIfAborted()
      const stream = await this.#connector.connect(signal)
      cancel = this.#limit('headers-timeout', headersTimeoutMs ?? DEFAULT_HEADERS_TIMEOUT_MS, (error) =>
        late.abort(error),
      )
      const result = await negotiate(stream, this.#upgradeOptions(request, protocol, signal))
      if (result.type === 'declined') this.#limitBody(result.response.body, bodyTimeoutMs ?? DEFAULT_BODY_TIMEOUT_MS)
      return result
    } catch (error) {
      throw this.#failure(error, signal)
    } finally {
      cancel?.()
    }
  }

  async close(): Promise<void> {
    const closed = new TransportError('closed', `${this.#server}: the transport was closed`)
    this.#closing.abort(closed)
    await this.#pool.destroy(closed)
  }

  /** For a declined upgrade, whose answer is a short explanation: all of it must come in time. */
  #limitBody(body: Readable, timeoutMs: number): void {
    const cancel = this.#limit('body-timeout', timeoutMs, (error) => body.destroy(error))
    body.once('close', cancel)
  }

  /** As in requests, 0 means no limit. */
  #limit(code: TransportErrorCode, timeoutMs: number, giveUp: (error: TransportError) => void): () => void {
    if (timeoutMs === 0) return () => undefined
    const error = new TransportError(code, `${this.#server}: no answer to an upgrade within ${timeoutMs} ms`)
    return this.#clock.schedule(timeoutMs, () => giveUp(error))
  }

  #upgradeOptions(request: Omit<TransportRequest, 'body'>, protocol: string, signal: AbortSignal): UpgradeOptions {
    const own: HeaderList = [
      ['host', new URL(this.#server).host],
      ['connection', 'Upgrade'],
      ['upgrade', protocol],
    ]
    const { method, path } = request
    const headers = flat([...own, ...(request.headers ?? [])])
    return { method, path, headers, signal, maxHeaderSize: MAX_RESPONSE_HEADER_BYTES }
  }

  #failure(error: unknown, signal: AbortSignal | undefined): unknown {
    return signal?.aborted === true ? signal.reason : toTransportError(error, this.#server)
  }
}

function toResponse({ statusCode, headers, body }: Dispatcher.ResponseData): TransportResponse {
  // A body that is destroyed unread fails with nobody listening, which would end the process.
  body.on('error', () => undefined)
  return { status: statusCode, headers, body }
}

/** undici looks at the signal of a request only once it has a connection for it; then it drops the request itself. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    const settled = (): void => signal.removeEventListener('abort', abort)
    work.then(resolve, reject).finally(settled)
  })
}

function flat(headers: HeaderList | undefined): string[] {
  return (headers ?? []).flat()
}

/** Reads a whole body into memory, and no more than the limit of it. */
export async function readBody(response: TransportResponse, maxBodyBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let length = 0
  try {
    for await (const piece of response.body as AsyncIterable<Buffer>) {
      length += piece.length
      if (length > maxBodyBytes) {
        throw new TransportError('too-large', `the answer is larger than the limit of ${maxBodyBytes} bytes`)
      }
      pieces.push(piece)
    }
  } catch (error) {
    throw toTransportError(error, 'reading the answer')
  }
  return Buffer.concat(pieces, length)
}
