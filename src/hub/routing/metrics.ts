/** What routing decides, and where Nodes contradict each other. */
import { Counter, Gauge, type Registry } from 'prom-client'

export type RouteOutcome = 'node' | 'default' | 'contested' | 'unowned' | 'unknown' | 'offline'

export interface RouteMetrics {
  readonly contested: Gauge
  readonly choices: Counter<'outcome'>
}

export function createRouteMetrics(registry: Registry, table: { readonly contestedCount: number }): RouteMetrics {
  const registers = [registry]
  return {
    contested: new Gauge({
      name: 'causeway_hub_contested_addresses',
      help: 'Names, addresses and pod ranges that several Nodes claim; nothing is routed there.',
      registers,
      collect() {
        this.set(table.contestedCount)
      },
    }),
    choices: new Counter({
      name: 'causeway_hub_route_choices_total',
      help: 'Destinations by where they went: to their node, to a default one, or nowhere (contested, unowned, unknown, offline).',
      labelNames: ['outcome'],
      registers,
    }),
  }
}
