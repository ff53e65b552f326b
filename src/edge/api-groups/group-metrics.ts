/** How much of the API the readers of this node may share. */
import { Gauge, type Registry } from 'prom-client'

export function createGroupMetrics(registry: Registry, told: () => number): void {
  const gauge = new Gauge({
    name: 'causeway_edge_shared_group_versions',
    help: 'Group versions that the API server serves itself, as a hub has said last: their custom resources are shared by all readers. 0 where none has, or does not know.',
    registers: [registry],
    collect: () => {
      gauge.set(told())
    },
  })
}
