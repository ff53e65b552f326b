/** What happens at the hub's ports before anybody has a name. */
import { Counter, Gauge, type Registry } from 'prom-client'

export interface ServingMetrics {
  readonly connections: Gauge
  readonly connectionsRefused: Counter<'limit'>
  readonly tlsErrors: Counter
  readonly requests: Counter<'route' | 'result'>
}

export function createServingMetrics(registry: Registry): ServingMetrics {
  const registers = [registry]
  return {
    connections: new Gauge({
      name: 'causeway_hub_connections',
      help: 'Open connections, handshakes included.',
      registers,
    }),
    connectionsRefused: new Counter({
      name: 'causeway_hub_connections_refused_total',
      help: 'Connections closed at once because a limit was reached: of all, or of one address.',
      labelNames: ['limit'],
      registers,
    }),
    tlsErrors: new Counter({
      name: 'causeway_hub_tls_errors_total',
      help: 'TLS handshakes that failed or took too long.',
      registers,
    }),
    requests: new Counter({
      name: 'causeway_hub_http_requests_total',
      help: 'HTTP requests by route and result: ok, or the code of the refusal.',
      labelNames: ['route', 'result'],
      registers,
    }),
  }
}
