/** Numbers about the connections to the API server; every label has a handful of values. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { PoolName, PoolStatus, UpstreamErrorKind } from './upstream.ts'

export interface UpstreamNumbers {
  readonly pools: readonly (PoolStatus & { readonly windowBytes: number | undefined })[]
  readonly upgrades: number
}

/** An upgrade has a connection of its own. */
type ConnectionUse = PoolName | 'upgrade'
type OpenResult = 'ok' | 'cancelled' | UpstreamErrorKind

export interface UpstreamMetrics {
  opened(use: ConnectionUse, result: OpenResult): void
  retried(pool: PoolName): void
}

export function createUpstreamMetrics(registry: Registry, numbers: () => UpstreamNumbers): UpstreamMetrics {
  const registers = [registry]
  addPoolGauges(registers, numbers)
  const upgrades: Gauge = new Gauge({
    name: 'causeway_edge_upstream_upgrades',
    help: 'Upgraded connections to the API server: exec, attach, port-forward.',
    registers,
    collect: () => upgrades.set(numbers().upgrades),
  })
  const opens = new Counter({
    name: 'causeway_edge_upstream_opens_total',
    help: 'Connections to the API server that were attempted, by pool (upgrade: one for itself) and result.',
    labelNames: ['pool', 'result'],
    registers,
  })
  const retries = new Counter({
    name: 'causeway_edge_upstream_retries_total',
    help: 'Requests sent again on another connection, because the API server had not taken them.',
    labelNames: ['pool'],
    registers,
  })
  return {
    opened: (pool, result) => opens.inc({ pool, result }),
    retried: (pool) => retries.inc({ pool }),
  }
}

function addPoolGauges(registers: Registry[], numbers: () => UpstreamNumbers): void {
  const add = (name: string, help: string, value: (pool: UpstreamNumbers['pools'][number]) => number): void => {
    const gauge = new Gauge({
      name,
      help,
      labelNames: ['pool'],
      registers,
      collect: () => {
        for (const pool of numbers().pools) gauge.set({ pool: pool.pool }, value(pool))
      },
    })
  }
  add('causeway_edge_upstream_connections', 'Connections to the API server.', ({ connections }) => connections)
  add('causeway_edge_upstream_streams', 'Requests under way to the API server.', ({ streams }) => streams)
  add('causeway_edge_upstream_waiting', 'Requests that wait for a connection.', ({ waiting }) => waiting)
  add('causeway_edge_upstream_window_bytes', 'Smallest receive window; NaN without a connection.', (pool) => {
    return pool.windowBytes ?? Number.NaN
  })
}
