/** Joins and rotations in numbers. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { WorkGate } from '../port/overload.ts'

/** From a signature that takes a millisecond to an API server that takes its time. */
const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

export interface JoinMetrics {
  readonly joins: Counter<'result' | 'by'>
  readonly durations: Histogram<'by'>
  readonly throttled: Counter
  readonly inFlight: Gauge
  readonly queued: Gauge
}

export function createJoinMetrics(registry: Registry, gate: WorkGate): JoinMetrics {
  const registers = [registry]
  return {
    inFlight: new Gauge({
      name: 'causeway_hub_joins_in_flight',
      help: 'Joins and rotations being worked on.',
      registers,
      collect() {
        this.set(gate.inFlight)
      },
    }),
    queued: new Gauge({
      name: 'causeway_hub_joins_queued',
      help: 'Joins and rotations that wait for their turn.',
      registers,
      collect() {
        this.set(gate.queued)
      },
    }),
    joins: new Counter({
      name: 'causeway_hub_joins_total',
      help: 'Certificates asked for by token (join) or certificate (rotation): ok, or the code of the refusal.',
      labelNames: ['result', 'by'],
      registers,
    }),
    durations: new Histogram({
      name: 'causeway_hub_join_duration_seconds',
      help: 'From the head of a request for a certificate to its answer.',
      labelNames: ['by'],
      buckets: durationBuckets,
      registers,
    }),
    throttled: new Counter({
      name: 'causeway_hub_failures_throttled_total',
      help: 'Joins refused unseen because too many from the same address had failed.',
      registers,
    }),
  }
}
