/** Connections to targets in numbers. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { DialSlots } from './dial-slots.ts'

/** From a neighbour on the same machine to the longest anybody waits. */
const durationBuckets = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 10, 30]

export interface TargetMetrics {
  readonly dials: Gauge
  readonly connections: Gauge
  readonly opens: Counter<'target' | 'code'>
  readonly dialDurations: Histogram
  readonly limits: Counter<'limit'>
  readonly failingApiServers: Gauge
}

/** As the label `target`: the names of hosts would be labels without end. */
export type TargetKind = 'api-server' | 'address'

export function createTargetMetrics(registry: Registry, slots: DialSlots): TargetMetrics {
  const registers = [registry]
  return {
    dials: new Gauge({
      name: 'causeway_hub_target_dials',
      help: 'Connections to targets that are being made.',
      registers,
      collect() {
        this.set(slots.taken)
      },
    }),
    connections: new Gauge({
      name: 'causeway_hub_target_connections',
      help: 'Connections to targets that are open, from all nodes.',
      registers,
      collect() {
        this.set(slots.held)
      },
    }),
    opens: new Counter({
      name: 'causeway_hub_target_opens_total',
      help: 'Targets that nodes asked for: ok, gone if the node did not wait, or the code of the refusal.',
      labelNames: ['target', 'code'],
      registers,
    }),
    dialDurations: new Histogram({
      name: 'causeway_hub_target_dial_duration_seconds',
      help: 'From the question for a target to its connection.',
      buckets: durationBuckets,
      registers,
    }),
    limits: new Counter({
      name: 'causeway_hub_target_limits_total',
      help: 'Targets refused because too many connections were being made, by all nodes or by one, or one had more than its share of them or of the API server.',
      labelNames: ['limit'],
      registers,
    }),
    failingApiServers: new Gauge({
      name: 'causeway_hub_apiserver_addresses_failing',
      help: 'Addresses of API servers that could not be reached when they were last tried.',
      registers,
    }),
  }
}
