/**
 * How the endpoint reaches the API server: TLS end to end, through the tunnel. Connections are pooled by the credential they
 * carry themselves, because an API server prefers the certificate of a connection over the token of a request.
 */
import type { Duplex } from 'node:stream'
import type { ByteSource } from '../../http/body/byte-source.ts'
import type { Cancellation } from '../../http/server/ending.ts'

/**
 * Which credential the connection itself carries; connections of different pools never mix. `node`: the node's Kubernetes
 * client certificate. `token`: none, for tokens the API server has accepted. `open`: none, for everybody else.
 */
export type PoolName = 'node' | 'token' | 'open'

/** In the order of the wire, names in lower case; a name may stand several times. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[]

export interface UpstreamRequest {
  readonly pool: PoolName
  readonly method: string
  /** Path and query, as the client sent them. */
  readonly target: string
  /** Cleaned by the caller: nothing that belongs to one connection only, and no `host`. */
  readonly headers: HeaderPairs
  readonly body: ByteSource | undefined
  /** The trailers of `body`, asked for once it has ended. */
  readonly trailers?: (() => HeaderPairs) | undefined
  /** Aborts when nobody wants the answer any more: what is sent and what comes are reset at once. */
  readonly signal: Cancellation
}

export interface UpstreamAnswer {
  readonly status: number
  readonly headers: HeaderPairs
  /** Breaks with an `UpstreamError` where the answer is cut off. Whoever does not read it to its end cancels it. */
  readonly body: ByteSource
  /** Made on this node: it says nothing about what the API server thinks of the caller. */
  readonly isLocal?: true
  /** Of a watch: whether objects are told again when they look different to its reader; absent: never. */
  readonly isRetold?: () => boolean
  /** Complete once `body` has ended. */
  trailers(): HeaderPairs
}

export interface UpgradeAnswer {
  readonly status: 101
  readonly headers: HeaderPairs
  /** Raw bytes of the new protocol, the first one after the head of the answer included. */
  readonly stream: Duplex
}

export interface PoolStatus {
  readonly pool: PoolName
  readonly connections: number
  readonly streams: number
  readonly waiting: number
  /** Why the last connection did not come about, until one does. */
  readonly lastError: string | undefined
}

export interface UpstreamStatus {
  readonly pools: readonly PoolStatus[]
  /** Upgraded connections, which belong to no pool. */
  readonly upgrades: number
}

export interface Upstream {
  readonly status: UpstreamStatus
  /** Resolves with the head of the answer; rejects with an `UpstreamError`, or with the reason of the request's signal. */
  request(request: UpstreamRequest): Promise<UpstreamAnswer>
  /** For HTTP/1.1 upgrades; `headers` names the protocol in `connection` and `upgrade`. Any status but 101 is an answer. */
  upgrade(request: UpstreamRequest): Promise<UpstreamAnswer | UpgradeAnswer>
}

/**
 * `offline`: no link to any hub. `unreachable`: there is a link, but no API server that can be believed behind it.
 * `timeout`: no connection in time. `broken`: the connection ended under the request. `overloaded`: a limit of ours.
 */
export type UpstreamErrorKind = 'offline' | 'unreachable' | 'timeout' | 'broken' | 'overloaded'

export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly kind: UpstreamErrorKind
  readonly retryAfterSeconds: number
  /** The date at which the request should come again, where that is not for its HTTP client to see to. */
  readonly retryAtMs: number | undefined

  constructor(kind: UpstreamErrorKind, message: string, options: UpstreamErrorOptions = {}) {
    super(message, options)
    this.kind = kind
    this.retryAfterSeconds = options.retryAfterSeconds ?? defaultRetryAfterSeconds[kind]
    this.retryAtMs = options.retryAtMs
  }
}

interface UpstreamErrorOptions extends ErrorOptions {
  readonly retryAfterSeconds?: number
  readonly retryAtMs?: number
}

const defaultRetryAfterSeconds: Readonly<Record<UpstreamErrorKind, number>> = {
  offline: 5,
  unreachable: 5,
  timeout: 5,
  broken: 1,
  overloaded: 1,
}
