/** Numbers about what an edge keeps on its disk. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { KeepingStatus } from './kept.ts'
import type { UnkeptReason } from './kept-image.ts'

/** `damaged`: by its checksum or unreadable; `key`: encrypted with another key; `orphaned`: without its feed. */
export type QuarantineReason = 'damaged' | 'key' | 'orphaned'

export interface KeepingMetrics {
  wrote(bytes: number): void
  failed(): void
  quarantined(reason: QuarantineReason, rows: number): void
  unkept(reason: UnkeptReason): void
}

export function createKeepingMetrics(registry: Registry, status: () => KeepingStatus): KeepingMetrics {
  const registers = [registry]
  addGauges(registers, status)
  const transactions = new Counter({
    name: 'causeway_edge_keeping_transactions_total',
    help: 'Transactions by which changes were kept: written, or failed, which turns keeping off for a while.',
    labelNames: ['result'],
    registers,
  })
  const bytes = new Counter({
    name: 'causeway_edge_keeping_written_bytes_total',
    help: 'Bytes of keys and values in those transactions.',
    registers,
  })
  const quarantined = new Counter({
    name: 'causeway_edge_keeping_quarantined_total',
    help: 'Rows left behind at the start: damaged, encrypted with another key (key), or without their feed (orphaned).',
    labelNames: ['reason'],
    registers,
  })
  const unkept = new Counter({
    name: 'causeway_edge_keeping_unkept_total',
    help: 'Feeds and records that stay in memory alone: too-large, long-name, or secret without a key (no-key).',
    labelNames: ['reason'],
    registers,
  })
  return {
    wrote: (count) => {
      transactions.inc({ result: 'written' })
      bytes.inc(count)
    },
    failed: () => transactions.inc({ result: 'failed' }),
    quarantined: (reason, rows) => quarantined.inc({ reason }, rows),
    unkept: (reason) => unkept.inc({ reason }),
  }
}

function addGauges(registers: Registry[], status: () => KeepingStatus): void {
  const isOn = new Gauge({
    name: 'causeway_edge_keeping_on',
    help: '1 while changes reach the disk, 0 while they do not and a restart would bring back an older state.',
    registers,
    collect: () => {
      isOn.set(status().isOn ? 1 : 0)
    },
  })
  const bytes = new Gauge({
    name: 'causeway_edge_keeping_file_bytes',
    help: 'Size of the file that everything is kept in.',
    registers,
    collect: () => {
      bytes.set(status().bytes)
    },
  })
  const kept = new Gauge({
    name: 'causeway_edge_keeping_kept',
    help: 'What is on disk: feeds, the entries in them, and records.',
    labelNames: ['kind'],
    registers,
    collect: () => {
      const { feeds, entries, records } = status()
      kept.set({ kind: 'feeds' }, feeds)
      kept.set({ kind: 'entries' }, entries)
      kept.set({ kind: 'records' }, records)
    },
  })
}
