/** Numbers about connections to local ports that lead to the cloud. */
import { Counter, Gauge, type Registry } from 'prom-client'

export interface ForwardMetrics {
  connected(): void
  closed(toCloudBytes: number, fromCloudBytes: number): void
  /** `ok`, the code of a refusal, or which limit was met. */
  answered(code: string): void
}

export function createForwardMetrics(registry: Registry): ForwardMetrics {
  const registers = [registry]
  const connections = new Gauge({
    name: 'causeway_edge_forward_connections',
    help: 'Connections to local ports that lead to the cloud.',
    registers,
  })
  const answers = new Counter({
    name: 'causeway_edge_forward_connections_total',
    help: 'Connections by how they began: ok, the code of the refusal, or limit.',
    labelNames: ['code'],
    registers,
  })
  const bytes = new Counter({
    name: 'causeway_edge_forward_bytes_total',
    help: 'Bytes of connections that are closed, by direction: up (to the cloud) or down.',
    labelNames: ['direction'],
    registers,
  })
  return {
    connected: () => connections.inc(),
    closed: (toCloudBytes, fromCloudBytes) => {
      connections.dec()
      bytes.inc({ direction: 'up' }, toCloudBytes)
      bytes.inc({ direction: 'down' }, fromCloudBytes)
    },
    answered: (code) => answers.inc({ code }),
  }
}
