/** Numbers about the token that an edge keeps for its kube-proxy. */
import { Counter, Gauge, type Registry } from 'prom-client'

export interface TokenMetrics {
  expires(atMs: number): void
  refresh(result: 'ok' | 'failed'): void
}

export function createTokenMetrics(registry: Registry): TokenMetrics {
  const expiry = new Gauge({
    name: 'causeway_edge_kube_proxy_token_expiry_timestamp_seconds',
    help: 'When the token of kube-proxy ends, in seconds since the epoch; 0 while there is none.',
    registers: [registry],
  })
  const refreshes = new Counter({
    name: 'causeway_edge_kube_proxy_token_refreshes_total',
    help: 'Attempts to get the token of kube-proxy: ok, failed (to be repeated).',
    labelNames: ['result'],
    registers: [registry],
  })
  return {
    expires: (atMs) => expiry.set(atMs / 1000),
    refresh: (result) => refreshes.inc({ result }),
  }
}
