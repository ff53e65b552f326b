/**
 * The small HTTP server every long-running role has: `/healthz`, `/livez`, `/readyz` and `/metrics`. It has no
 * authentication, therefore it listens on loopback unless told otherwise, and it tells reasons but never data.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Counter, type Registry } from 'prom-client'
import { formatAddress, type ListenAddress, listen } from '../network/listen.ts'
import type { Clock } from '../runtime/clock.ts'
import { type HealthChecks, type HealthQuestion, renderHealth } from '../telemetry/health.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type BoundedHttpLimits, createBoundedHttp } from './bounded-http.ts'
import { HttpDrain } from './http-drain.ts'
import type { Part, RunningPart } from './lifecycle.ts'
import type { SafetyNet } from './safety-net.ts'
import { SharedRendering } from './shared-rendering.ts'

/** All headers of a request together: nobody needs a credential here. */
export const MAX_HEALTH_HEADER_BYTES = 8 * 1024
/** Headers of a request, in number. */
export const MAX_HEALTH_HEADERS = 64
/** The path and the names of some checks to leave out. */
export const MAX_HEALTH_TARGET_CHARS = 2_048
/** Probes and scrapers of a large site. Beyond, a newcomer gets the place of whoever has gone longest without a request. */
export const MAX_HEALTH_CONNECTIONS = 128
/** From the beginning of a connection, or the first byte of its next request, to the end of the headers. */
const HEALTH_HEADERS_TIMEOUT_MS = 5_000
/** From the beginning of a connection, or the first byte of its next request, to the end of a body, which nobody wants. */
const HEALTH_REQUEST_TIMEOUT_MS = 10_000
/** A connection that waits for its next request. */
const HEALTH_KEEP_ALIVE_MS = 15_000
/** A connection on which nothing moves, such as that of a client which does not read. */
const HEALTH_IDLE_TIMEOUT_MS = 30_000

/** Probes and scrapers are few and brief; whoever is not, is cut off. */
const defaultLimits: BoundedHttpLimits = {
  maxConnections: MAX_HEALTH_CONNECTIONS,
  maxHeaders: MAX_HEALTH_HEADERS,
  maxHeaderBytes: MAX_HEALTH_HEADER_BYTES,
  maxTargetChars: MAX_HEALTH_TARGET_CHARS,
  headersTimeoutMs: HEALTH_HEADERS_TIMEOUT_MS,
  requestTimeoutMs: HEALTH_REQUEST_TIMEOUT_MS,
  keepAliveTimeoutMs: HEALTH_KEEP_ALIVE_MS,
  idleTimeoutMs: HEALTH_IDLE_TIMEOUT_MS,
}

const QUESTIONS: Readonly<Record<string, HealthQuestion>> = { healthz: 'live', livez: 'live', readyz: 'ready' }

export interface HealthServerOptions {
  readonly address: ListenAddress
  readonly health: HealthChecks
  readonly registry: Registry
  readonly clock: Clock
  readonly logger: Logger
  readonly net: SafetyNet
  /** Other than the default, for tests. */
  readonly limits?: Partial<BoundedHttpLimits>
}

interface Answer {
  readonly status: number
  readonly body: string | Buffer
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
}

export class HealthServer implements Part {
  readonly name = 'health'
  readonly #options: HealthServerOptions
  readonly #metrics: SharedRendering
  readonly #cut: Counter
  #boundAddress: ListenAddress | undefined

  constructor(options: HealthServerOptions) {
    this.#options = options
    const { clock, registry } = options
    this.#metrics = new SharedRendering(clock, () => registry.metrics())
    this.#cut = createHealthMetrics(registry)
  }

  /** The address really bound; it differs from the one asked for when that had port 0 or a name. */
  get boundAddress(): ListenAddress {
    if (this.#boundAddress === undefined) throw new Error('the health server has not been started')
    return this.#boundAddress
  }

  async start(_signal: AbortSignal, fail: (cause: unknown) => void): Promise<RunningPart> {
    const { address, logger } = this.#options
    const server = this.#createServer()
    const drain = new HttpDrain(server)
    this.#boundAddress = await listen(server, address)
    server.on('error', fail)
    logger.info({ address: formatAddress(this.#boundAddress) }, 'listening')
    return { stop: (deadline) => drain.close(deadline) }
  }

  #createServer(): Server {
    return createBoundedHttp({
      limits: { ...defaultLimits, ...this.#options.limits },
      net: this.#options.net,
      connectionCut: () => this.#cut.inc(),
      serve: (request, response) => this.#serve(request, response),
    })
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let answer: Answer
    try {
      answer = await this.#answer(request)
    } catch (error) {
      this.#options.logger.error({ err: error, path: request.url }, 'request failed')
      answer = { status: 500, body: 'internal error, see the log\n' }
    }
    send(response, answer, request.method === 'HEAD')
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const target = request.url ?? '/'
    const [path = '', query = ''] = target.split('?', 2)
    const endpoint = path.slice(1)
    const question = Object.hasOwn(QUESTIONS, endpoint) ? QUESTIONS[endpoint] : undefined
    if (question === undefined && endpoint !== 'metrics') return { status: 404, body: notFoundText() }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return { status: 405, body: 'only GET and HEAD are served here\n', headers: { allow: 'GET, HEAD' } }
    }
    if (question === undefined) {
      return { status: 200, body: await this.#metrics.get(), contentType: this.#options.registry.contentType }
    }
    return this.#health(endpoint, question, new URLSearchParams(query))
  }

  async #health(endpoint: string, question: HealthQuestion, query: URLSearchParams): Promise<Answer> {
    const report = await this.#options.health.report(question, query.getAll('exclude'))
    return { status: report.ok ? 200 : 500, body: renderHealth(endpoint, report, query.has('verbose')) }
  }
}

export function createHealthMetrics(registry: Registry): Counter {
  return new Counter({
    name: 'causeway_health_connections_cut_total',
    help: 'Connections to the port for health and metrics that were cut to make room for newer ones, without a request under way.',
    registers: [registry],
  })
}

function notFoundText(): string {
  const paths = [...Object.keys(QUESTIONS), 'metrics'].map((endpoint) => `/${endpoint}`)
  return `not found; served here: ${paths.join(', ')}\n`
}

function send(response: ServerResponse, answer: Answer, headOnly: boolean): void {
  response.writeHead(answer.status, {
    'content-type': answer.contentType ?? 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(answer.body),
    'cache-control': 'no-cache, private',
    'x-content-type-options': 'nosniff',
    ...answer.headers,
  })
  response.end(headOnly ? undefined : answer.body)
}
