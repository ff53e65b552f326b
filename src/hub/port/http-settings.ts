/** The limits and the surroundings that both versions of HTTP share. */
import type { IncomingMessage } from 'node:http'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { HubConnection, OpenConnection } from './connection.ts'
import type { HttpRoutes } from './http-routes.ts'

/** All headers of a request together: a join token is the longest of them, and far shorter. */
export const MAX_HEADER_BYTES = 16 * 1024
/** Headers of a request, in number. */
export const MAX_HEADERS = 64

export interface HttpTimes {
  /** From the begin of a connection, or from the last answer on it, to the end of a request's head. */
  readonly headMs: number
  /** From the head to the end of the body. */
  readonly bodyMs: number
  /** For the client to take the answer. */
  readonly answerMs: number
  /** How long what the client still sends is thrown away after its answer: closing at once would destroy the answer too. */
  readonly lingerMs: number
}

/** How long clients may take: bodies are small and links are slow, and a link of 2 kB/s still gets through. */
export const HTTP_TIMES: HttpTimes = { headMs: 10_000, bodyMs: 20_000, answerMs: 20_000, lingerMs: 2_000 }

/** What a client may turn an HTTP/1.1 connection into. */
export interface UpgradeRoute {
  readonly path: string
  /** Owns the socket from here on; `head` are the bytes that came with the request. */
  handle(connection: HubConnection, request: IncomingMessage, head: Buffer): OpenConnection
}

/** What a client may keep open as a stream of an HTTP/2 connection. */
export interface CallRoute {
  readonly path: string
  /** Owns the stream from here on. While it is open the connection is not drained but by its own `drain`. */
  handle(connection: HubConnection, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): OpenConnection
}

export interface HttpServiceOptions {
  readonly routes: HttpRoutes
  readonly upgrade?: UpgradeRoute
  readonly call?: CallRoute
  readonly clock: Clock
  readonly logger: Logger
  readonly net: SafetyNet
  readonly times?: HttpTimes
}

export type HttpSettings = HttpServiceOptions & { readonly times: HttpTimes }

/** The path of a request target, without its query. */
export function pathOf(target: string | undefined): string {
  return (target ?? '').split('?', 1)[0] ?? ''
}
