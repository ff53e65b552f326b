/** Numbers about the addresses that an edge puts on its machine, and about its address translation there. */
import { Counter, Gauge, type Registry } from 'prom-client'

export interface NetworkMetrics {
  addresses(count: number): void
  repaired(): void
}

export function createNetworkMetrics(registry: Registry): NetworkMetrics {
  const addresses = new Gauge({
    name: 'causeway_edge_interface_addresses',
    help: 'Addresses that this edge has put on its machine.',
    registers: [registry],
  })
  const repairs = new Counter({
    name: 'causeway_edge_interface_repairs_total',
    help: 'Times that an address had vanished and was put back.',
    registers: [registry],
  })
  return { addresses: (count) => addresses.set(count), repaired: () => repairs.inc() }
}

export interface NatMetrics {
  services(count: number): void
  repaired(): void
}

export function createNatMetrics(registry: Registry): NatMetrics {
  const services = new Gauge({
    name: 'causeway_edge_nat_service_addresses',
    help: 'Addresses of the service default/kubernetes whose connections this edge sends to its endpoint.',
    registers: [registry],
  })
  const repairs = new Counter({
    name: 'causeway_edge_nat_repairs_total',
    help: 'Times that the rules had vanished or were changed, and were put back.',
    registers: [registry],
  })
  return { services: (count) => services.set(count), repaired: () => repairs.inc() }
}
