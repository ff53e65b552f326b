/** The metrics that the chain and the listener feed. */
import type { Registry } from 'prom-client'
import { AccessMetrics } from './access-metrics.ts'
import { RequestMetrics } from './request-metrics.ts'

export interface ApiServerMetrics {
  readonly requests: RequestMetrics
  readonly access: AccessMetrics
}

export function createMetrics(registry: Registry): ApiServerMetrics {
  return { requests: new RequestMetrics(registry), access: new AccessMetrics(registry) }
}
