/** What the control plane asks of the fronts. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

export interface FrontMetrics {
  readonly connections: Gauge<'front'>
  /** By `ok` or the code of the refusal. */
  readonly dials: Counter<'front' | 'code'>
  readonly dialSeconds: Histogram<'front'>
  /** Connections that ended before a dial, by what was wrong. */
  readonly rejected: Counter<'front' | 'reason'>
  readonly bytes: Counter<'front' | 'direction'>
}

export function createFrontMetrics(registry: Registry): FrontMetrics {
  const registers = [registry]
  return {
    connections: new Gauge({
      name: 'causeway_hub_front_connections',
      help: 'Open connections of the control plane to the fronts.',
      labelNames: ['front'],
      registers,
    }),
    dials: new Counter({
      name: 'causeway_hub_front_dials_total',
      help: 'Connections asked for through the fronts, by result: ok, or the code of the refusal.',
      labelNames: ['front', 'code'],
      registers,
    }),
    dialSeconds: new Histogram({
      name: 'causeway_hub_front_dial_seconds',
      help: 'From the request to the connected destination.',
      labelNames: ['front'],
      buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
      registers,
    }),
    rejected: new Counter({
      name: 'causeway_hub_front_rejected_total',
      help: 'Connections to the fronts that ended before a dial: request, timeout, tls, certificate, or limit.',
      labelNames: ['front', 'reason'],
      registers,
    }),
    bytes: new Counter({
      name: 'causeway_hub_front_bytes_total',
      help: 'Bytes carried by the fronts, to the edge and from it.',
      labelNames: ['front', 'direction'],
      registers,
    }),
  }
}
