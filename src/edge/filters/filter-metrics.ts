/** Numbers about answers that filters look at. */
import { Counter, Gauge, type Registry } from 'prom-client'

/** Why a body that a filter was meant for passed as it was. */
export type UnfilteredReason = 'media-type' | 'encoding' | 'undecodable' | 'too-large'

export interface FilterMetrics {
  changed(filter: string, outcome: 'edited' | 'dropped'): void
  unfiltered(reason: UnfilteredReason): void
  /** No room for one more body. */
  refused(): void
  passed(receivedBytes: number, sentBytes: number): void
  watchBegan(): void
  watchEnded(): void
  watchExpired(): void
}

export function createFilterMetrics(registry: Registry): FilterMetrics {
  const registers = [registry]
  const objects = new Counter({
    name: 'causeway_edge_filter_objects_total',
    help: 'Objects that a filter edited or dropped on their way to a client.',
    labelNames: ['filter', 'outcome'],
    registers,
  })
  const unfiltered = new Counter({
    name: 'causeway_edge_filter_unfiltered_total',
    help: 'Bodies and watch events that passed as they were: media-type, encoding, undecodable or too-large.',
    labelNames: ['reason'],
    registers,
  })
  const refused = new Counter({
    name: 'causeway_edge_filter_refused_total',
    help: 'Answers refused with 429 because too many others were held in memory.',
    registers,
  })
  const bytes = new Counter({
    name: 'causeway_edge_filter_bytes_total',
    help: 'Bytes of filtered answers without compression: received from the API server, sent to clients.',
    labelNames: ['direction'],
    registers,
  })
  const watches = new Gauge({
    name: 'causeway_edge_filter_watches',
    help: 'Watches that filters look at.',
    registers,
  })
  const expired = new Counter({
    name: 'causeway_edge_filter_watches_expired_total',
    help: 'Watches ended with 410 Expired because the filters for them changed.',
    registers,
  })
  return {
    changed: (filter, outcome) => objects.inc({ filter, outcome }),
    unfiltered: (reason) => unfiltered.inc({ reason }),
    refused: () => refused.inc(),
    passed: (receivedBytes, sentBytes) => {
      bytes.inc({ direction: 'received' }, receivedBytes)
      bytes.inc({ direction: 'sent' }, sentBytes)
    },
    watchBegan: () => watches.inc(),
    watchEnded: () => watches.dec(),
    watchExpired: () => expired.inc(),
  }
}
