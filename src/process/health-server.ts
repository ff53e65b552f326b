/**
 * The small HTTP server every long-running role has: `/healthz`, `/livez`, `/readyz` and `/metrics`. It has no
 * authentication, therefore it listens on loopback unless told otherwise, and it tells reasons but never data.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Registry } from 'prom-client'
import { formatAddress, type ListenAddress, listen } from '../network/listen.ts'
import { type HealthChecks, type HealthQuestion, renderHealth } from '../telemetry/health.ts'
import type { Logger } from '../telemetry/logger.ts'
import { HttpDrain } from './http-drain.ts'
import type { Part, RunningPart } from './lifecycle.ts'
import type { SafetyNet } from './safety-net.ts'

/** Probes and scrapers are few and brief; whoever is not, is cut off. */
export const HEALTH_SERVER_LIMITS = {
  maxHeaderBytes: 8 * 1024,
  maxHeaders: 64,
  maxConnections: 128,
  maxTargetChars: 2048,
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 10_000,
  keepAliveTimeoutMs: 15_000,
  idleTimeoutMs: 30_000,
} as const

const QUESTIONS: Readonly<Record<string, HealthQuestion>> = { healthz: 'live', livez: 'live', readyz: 'ready' }

export interface HealthServerOptions {
  readonly address: ListenAddress
  readonly health: HealthChecks
  readonly registry: Registry
  readonly logger: Logger
  readonly net: SafetyNet
}

interface Answer {
  readonly status: number
  readonly body: string
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
}

export class HealthServer implements Part {
  readonly name = 'health'
  readonly #options: HealthServerOptions
  #boundAddress: ListenAddress | undefined
  #rendering: Promise<string> | undefined

  constructor(options: HealthServerOptions) {
    this.#options = options
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
    const limits = HEALTH_SERVER_LIMITS
    const server = createServer({
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
    })
    server.maxConnections = limits.maxConnections
    server.maxHeadersCount = limits.maxHeaders
    server.timeout = limits.idleTimeoutMs
    const { net } = this.#options
    net.watchServer(server)
    server.on('request', (request: IncomingMessage, response: ServerResponse) =>
      net.guard('request', () => void request.socket.destroy())(() => this.#serve(request, response)),
    )
    return server
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Nothing here reads a body: let it run out unseen.
    request.resume()
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
    if (target.length > HEALTH_SERVER_LIMITS.maxTargetChars) return { status: 414, body: 'request target too long\n' }
    const [path = '', query = ''] = target.split('?', 2)
    const endpoint = path.slice(1)
    const question = Object.hasOwn(QUESTIONS, endpoint) ? QUESTIONS[endpoint] : undefined
    if (question === undefined && endpoint !== 'metrics') return { status: 404, body: notFoundText() }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return { status: 405, body: 'only GET and HEAD are served here\n', headers: { allow: 'GET, HEAD' } }
    }
    return question === undefined ? this.#metrics() : this.#health(endpoint, question, new URLSearchParams(query))
  }

  async #health(endpoint: string, question: HealthQuestion, query: URLSearchParams): Promise<Answer> {
    const report = await this.#options.health.report(question, query.getAll('exclude'))
    return { status: report.ok ? 200 : 500, body: renderHealth(endpoint, report, query.has('verbose')) }
  }

  /** Scrapes that arrive together share one rendering: pipelined requests must not keep the process busy. */
  async #metrics(): Promise<Answer> {
    const { registry } = this.#options
    this.#rendering ??= registry.metrics().finally(() => {
      this.#rendering = undefined
    })
    return { status: 200, body: await this.#rendering, contentType: registry.contentType }
  }
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
