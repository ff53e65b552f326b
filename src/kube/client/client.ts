/**
 * One API server, one identity. `resource` is the everyday way; `fetch` reads any path into memory, `raw` streams it
 * and `upgrade` turns it into a byte stream. Only `fetch`, and with it `resource`, waits and tries again, and only when
 * the server asked for it.
 */
import { type Duplex, Readable } from 'node:stream'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import type { KubeObject } from '../objects.ts'
import { contentEncoding, failureInSuccess, fromHttp, type ResponseContext } from '../status/from-http.ts'
import { ApiError } from '../status/status.ts'
import { DEFAULT_MAX_WATCH_EVENT_BYTES } from '../watch/frames.ts'
import { type BodyCodec, BodyDecodeError, jsonCodec, mediaTypeOf } from './body-codec.ts'
import type { ConnectionConfig } from './connection.ts'
import { type HeaderList, RequestCredentials } from './credentials.ts'
import type { Resource } from './kinds.ts'
import { refuseLostFields } from './lost-fields.ts'
import type { ClientRequest } from './options.ts'
import type { EncodedPatch } from './patch.ts'
import { ResourceClient } from './resource-client.ts'
import {
  HttpTransport,
  type HttpTransportOptions,
  readBody,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from './transport.ts'
import { TransportError } from './transport-error.ts'
import { WatchStream } from './watch-stream.ts'

/** An unpaged list of several thousand large pods fits; more is read in pages. */
const DEFAULT_MAX_BODY_BYTES = 64 * 1024 * 1024
/** Times that a request is sent again when the server asked for patience. */
export const DEFAULT_MAX_RETRIES = 5
/** A server that wants us to wait longer than this gets its error reported instead. */
export const MAX_RETRY_DELAY_MS = 30_000

export interface KubeClientOptions extends Partial<HttpTransportOptions> {
  /** Replaces the HTTP transport altogether. */
  readonly transport?: Transport
  /** Asked for in front of JSON, and used to send; JSON always stays understood. */
  readonly codec?: BodyCodec
  readonly userAgent?: string
  readonly maxBodyBytes?: number
  readonly maxWatchEventBytes?: number
}

export interface FetchedResponse {
  readonly status: number
  readonly headers: TransportResponse['headers']
  readonly contentType: string
  readonly body: Buffer
}

export class KubeClient {
  readonly connection: ConnectionConfig
  /** What `Accept` asks for by default. */
  readonly accept: string
  readonly #codecs: readonly BodyCodec[]
  readonly #transport: Transport
  readonly #credentials: RequestCredentials
  readonly #clock: Clock
  readonly #userAgent: string
  readonly #basePath: string
  readonly #maxBodyBytes: number
  readonly #maxWatchEventBytes: number

  constructor(connection: ConnectionConfig, options: KubeClientOptions = {}) {
    const clock = options.clock ?? systemClock
    this.connection = connection
    this.#codecs = options.codec === undefined ? [jsonCodec] : [options.codec, jsonCodec]
    this.accept = this.#codecs.map((codec) => codec.mediaType).join(',')
    this.#transport = options.transport ?? new HttpTransport(connection, { ...options, clock })
    this.#credentials = new RequestCredentials(connection, clock)
    this.#clock = clock
    this.#userAgent = options.userAgent ?? 'kube-causeway'
    this.#basePath = new URL(connection.server).pathname.replace(/\/$/, '')
    this.#maxBodyBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
    this.#maxWatchEventBytes = options.maxWatchEventBytes ?? DEFAULT_MAX_WATCH_EVENT_BYTES
  }

  /** All namespaces at first; `.in(namespace)` narrows to one. */
  resource<T extends KubeObject>(resource: Resource<T>): ResourceClient<T> {
    return new ResourceClient(this, resource)
  }

  /** Whatever the server answers, as a stream, under this client's identity. */
  async raw(request: TransportRequest): Promise<TransportResponse> {
    const response = await this.#transport.request({
      ...request,
      path: this.#basePath + request.path,
      headers: await this.#headers(request.headers),
    })
    if (response.status === 401) this.#credentials.refused()
    return response
  }

  /** A whole answer in memory; an answer that is no success becomes an `ApiError`. */
  async fetch(request: ClientRequest): Promise<FetchedResponse> {
    // A body that is a stream can be sent once only.
    const maxRetries = request.body instanceof Readable ? 0 : (request.maxRetries ?? DEFAULT_MAX_RETRIES)
    for (let attempt = 0; ; attempt++) {
      const response = await this.raw(request)
      if (isSuccess(response)) return await this.#buffer(response, request)
      const error = await this.#apiError(response, request)
      const delayMs = attempt < maxRetries ? retryDelayMs(error) : undefined
      if (delayMs === undefined) throw error
      await this.#clock.sleep(delayMs, request.signal)
    }
  }

  /** Sends an object, if one is given, and reads the one that comes back. */
  async exchange<R extends KubeObject>(request: ClientRequest, object?: KubeObject): Promise<R> {
    if (object === undefined) return this.#decode(await this.fetch(request), request) as R
    refuseLostFields(object)
    const codec = this.#codecs.find((candidate) => candidate.encodes(object)) ?? jsonCodec
    return await this.exchangeBytes<R>(request, { contentType: codec.mediaType, body: codec.encode(object) })
  }

  /** Sends a body that is encoded already, and reads the object that comes back. */
  async exchangeBytes<R extends KubeObject>(request: ClientRequest, sent: Pick<EncodedPatch, 'contentType' | 'body'>) {
    const headers: HeaderList = [['content-type', sent.contentType], ...(request.headers ?? [])]
    return this.#decode(await this.fetch({ ...request, headers, body: sent.body }), request) as R
  }

  /** Opens a watch on any path whose query says `watch=true`. Never waits for a retry: who watches has its own rhythm. */
  async watch<T extends KubeObject>(request: ClientRequest): Promise<WatchStream<T>> {
    const response = await this.raw(request)
    if (!isSuccess(response)) throw await this.#apiError(response, request)
    try {
      const codec = this.#codecFor(contentTypeOf(response), contentEncoding(response.headers))
      return new WatchStream<T>(response.body, codec, this.#maxWatchEventBytes, request.signal)
    } catch (error) {
      response.body.destroy()
      throw error
    }
  }

  /** A two-way byte stream after `101 Switching Protocols`, as exec, attach and port-forward need it. */
  async upgrade(request: Omit<ClientRequest, 'body'>, protocol: string): Promise<Duplex> {
    const path = this.#basePath + request.path
    const headers = await this.#headers(request.headers)
    const result = await this.#transport.upgrade({ ...request, path, headers }, protocol)
    if (result.type === 'upgraded') return result.stream
    if (result.response.status === 401) this.#credentials.refused()
    throw await this.#apiError(result.response, request)
  }

  async close(): Promise<void> {
    await this.#transport.close()
  }

  async #headers(given: HeaderList = []): Promise<HeaderList> {
    const names = new Set(given.map(([name]) => name.toLowerCase()))
    // Who brings an identity means it: ours would only mix in.
    const identity = names.has('authorization') ? [] : await this.#credentials.headers()
    const defaults: HeaderList = [
      ['accept', this.accept],
      ['user-agent', this.#userAgent],
    ]
    return [...given, ...defaults.filter(([name]) => !names.has(name)), ...identity]
  }

  async #buffer(response: TransportResponse, { signal }: ClientRequest): Promise<FetchedResponse> {
    try {
      const body = await readBody(response, this.#maxBodyBytes)
      return { status: response.status, headers: response.headers, contentType: contentTypeOf(response), body }
    } catch (error) {
      throw signal?.aborted === true ? signal.reason : error
    }
  }

  async #apiError(response: TransportResponse, request: ClientRequest): Promise<ApiError | TransportError> {
    const { body } = await this.#buffer(response, request)
    if (response.status < 400) {
      const place = `${request.method} ${request.path}`
      return new TransportError('protocol', `${place}: status ${response.status}; redirects are not followed`)
    }
    return fromHttp(response.status, response.headers, body, {
      ...contextOf(request),
      decodeBody: (mediaType, bytes) => this.#codecFor(mediaType).decode(bytes, mediaType),
    })
  }

  #decode({ contentType, headers, body }: FetchedResponse, request: ClientRequest): KubeObject {
    const object = this.#codecFor(contentType, contentEncoding(headers)).decode(body, contentType)
    const failure = failureInSuccess(object, contextOf(request))
    if (failure !== undefined) throw failure
    return object
  }

  #codecFor(contentType: string, encoding = ''): BodyCodec {
    if (encoding !== '') {
      throw new BodyDecodeError(`the server answered in content-encoding ${encoding}, which was not asked for`)
    }
    const mediaType = mediaTypeOf(contentType)
    const codec = this.#codecs.find((candidate) => candidate.mediaType === mediaType)
    if (codec !== undefined) return codec
    const known = this.#codecs.map((candidate) => candidate.mediaType).join(', ')
    throw new BodyDecodeError(`the server answered with ${mediaType || 'no content type'}; this client reads ${known}`)
  }
}

function contextOf({ method, about }: ClientRequest): ResponseContext {
  return { method, ...about }
}

function isSuccess({ status }: TransportResponse): boolean {
  return status >= 200 && status < 300
}

function contentTypeOf({ headers }: TransportResponse): string {
  return headers['content-type'] ?? ''
}

/**
 * When a request may be repeated: only when the server said that it did not act on it, and when to come back. `undefined` when
 * the error is final.
 */
function retryDelayMs(error: unknown): number | undefined {
  if (!(error instanceof ApiError) || (error.code !== 429 && error.code !== 503)) return undefined
  if (error.retryAfterSeconds === undefined) return undefined
  const delayMs = error.retryAfterSeconds * 1000
  return delayMs > MAX_RETRY_DELAY_MS ? undefined : delayMs
}
