/** Numbers about the streams that hubs open towards this node. */
import { Counter, Gauge, type Registry } from 'prom-client'

export interface DestinationMetrics {
  opened(): void
  closed(): void
  answered(destination: 'kubelet' | 'address' | 'none', code: string): void
}

export function createDestinationMetrics(registry: Registry): DestinationMetrics {
  const registers = [registry]
  const streams = new Gauge({
    name: 'causeway_edge_destination_streams',
    help: 'Streams from hubs that are being connected or are connected.',
    registers,
  })
  const opens = new Counter({
    name: 'causeway_edge_destination_opens_total',
    help: 'Streams that hubs opened, by destination (kubelet, address, none where it was not allowed) and by the answer.',
    labelNames: ['destination', 'code'],
    registers,
  })
  return {
    opened: () => streams.inc(),
    closed: () => streams.dec(),
    answered: (destination, code) => opens.inc({ destination, code }),
  }
}
