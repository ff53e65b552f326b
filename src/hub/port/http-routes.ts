/** Finds the route for a request and turns whatever happens there into an answer. Never throws, and never takes for ever. */
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { Refusal } from '../refusal.ts'
import { type HubRequest, type HubResponse, refusalResponse } from './http-message.ts'
import type { ServingMetrics } from './metrics.ts'

/** For reading the request, asking the cluster and signing. Waiting routes say how long they take themselves. */
const ROUTE_TIMEOUT_MS = 30_000
/** For a client whose request took too long on our side: the cluster may be well again by then. */
const TIMEOUT_RETRY_AFTER_SECONDS = 5

export interface Route {
  readonly method: 'GET' | 'POST'
  /** Exactly this path. */
  readonly path: string
  readonly timeoutMs?: number
  handle(request: HubRequest): Promise<HubResponse>
}

export interface HttpRoutesOptions {
  readonly routes: readonly Route[]
  readonly clock: Clock
  readonly metrics: ServingMetrics
  readonly logger: Logger
}

export class HttpRoutes {
  readonly #options: HttpRoutesOptions
  /** By path, then by method. */
  readonly #routes = new Map<string, Map<string, Route>>()

  constructor(options: HttpRoutesOptions) {
    this.#options = options
    for (const route of options.routes) {
      const methods = this.#routes.get(route.path) ?? new Map<string, Route>()
      if (methods.has(route.method)) throw new Error(`two routes for ${route.method} ${route.path}`)
      this.#routes.set(route.path, methods.set(route.method, route))
    }
  }

  async answer(request: HubRequest): Promise<HubResponse> {
    const methods = this.#routes.get(request.path)
    const route = methods?.get(request.method)
    // The label must not carry what a stranger typed.
    const label = methods === undefined ? 'none' : request.path
    try {
      if (methods === undefined) throw new Refusal('not-found', 'nothing is served at this path')
      if (route === undefined) return this.#methodNotAllowed(label, [...methods.keys()])
      const response = await this.#withinTime(route, request)
      this.#options.metrics.requests.inc({ route: label, result: 'ok' })
      return response
    } catch (error) {
      const refusal = this.#refusalFor(error, label)
      this.#options.metrics.requests.inc({ route: label, result: refusal.code })
      return refusalResponse(refusal)
    }
  }

  #methodNotAllowed(route: string, methods: readonly string[]): HubResponse {
    const allow = methods.join(', ')
    const refusal = new Refusal('method-not-allowed', `this path serves ${allow} only`)
    this.#options.metrics.requests.inc({ route, result: refusal.code })
    const response = refusalResponse(refusal)
    return { ...response, headers: { ...response.headers, allow } }
  }

  async #withinTime(route: Route, request: HubRequest): Promise<HubResponse> {
    const { timeoutMs = ROUTE_TIMEOUT_MS } = route
    const work = route.handle(request)
    let cancel = (): void => {}
    const limit = new Promise<never>((_, reject) => {
      cancel = this.#options.clock.schedule(timeoutMs, () => reject(tookTooLong(timeoutMs)))
    })
    try {
      return await Promise.race([work, limit])
    } finally {
      cancel()
    }
  }

  #refusalFor(error: unknown, route: string): Refusal {
    if (error instanceof Refusal) return error
    this.#options.logger.error({ err: error, route }, 'request failed')
    return new Refusal('internal', 'the hub failed to do this; its log says why')
  }
}

function tookTooLong(timeoutMs: number): Refusal {
  return new Refusal('cluster-unavailable', `the hub could not do this within ${timeoutMs / 1000} seconds`, {
    retryAfterSeconds: TIMEOUT_RETRY_AFTER_SECONDS,
  })
}
