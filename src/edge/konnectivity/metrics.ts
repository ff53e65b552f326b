/** What the edge does as an agent of stock konnectivity servers. */
import { Counter, Gauge, type Registry } from 'prom-client'

export interface KonnectivityMetrics {
  readonly servers: Gauge
  readonly knownServers: Gauge
  readonly connects: Counter<'result'>
  readonly dials: Counter<'code'>
  readonly stalledReaders: Counter
}

export function createKonnectivityMetrics(registry: Registry): KonnectivityMetrics {
  const registers = [registry]
  return {
    servers: new Gauge({
      name: 'causeway_edge_konnectivity_servers',
      help: 'Konnectivity servers the edge is connected to.',
      registers,
    }),
    knownServers: new Gauge({
      name: 'causeway_edge_konnectivity_known_servers',
      help: 'Konnectivity servers there are, by what they say themselves.',
      registers,
    }),
    connects: new Counter({
      name: 'causeway_edge_konnectivity_connects_total',
      help: 'Attempts to connect to a konnectivity server: ok, duplicate (a server it is connected to already), or failed.',
      labelNames: ['result'],
      registers,
    }),
    dials: new Counter({
      name: 'causeway_edge_konnectivity_dials_total',
      help: 'Connections that konnectivity servers asked for, by result: ok, or the code of the refusal.',
      labelNames: ['code'],
      registers,
    }),
    stalledReaders: new Counter({
      name: 'causeway_edge_konnectivity_stalled_readers_total',
      help: 'Connections ended because their destination took no bytes while others needed the link.',
      registers,
    }),
  }
}
