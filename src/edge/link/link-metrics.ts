/** Numbers about the links of an edge. Hubs are not told apart here: their addresses are in `status`. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { LinkPhase } from './link-core.ts'

export interface LinkNumbers {
  readonly phases: readonly LinkPhase[]
  readonly sessions: number
  readonly streams: number
  readonly bufferedBytes: number
  /** Bytes that all sessions there ever were have received. */
  readonly receivedBytes: number
  readonly sentBytes: number
  /** The shortest of all, as streams take that one. */
  readonly rttMs: number | undefined
}

export interface LinkMetrics {
  attempt(result: 'ok' | 'failed' | 'refused'): void
  ended(code: string): void
  opened(code: string): void
}

const allPhases: readonly LinkPhase[] = ['connecting', 'up', 'handing-over', 'draining', 'down']

export function createLinkMetrics(registry: Registry, numbers: () => LinkNumbers): LinkMetrics {
  addGauges([registry], numbers)
  addByteCounters([registry], numbers)
  const counters = createCounters([registry])
  return {
    attempt: (result) => counters.attempts.inc({ result }),
    ended: (code) => counters.ends.inc({ code }),
    opened: (code) => counters.opens.inc({ code }),
  }
}

function addGauges(registers: Registry[], numbers: () => LinkNumbers): void {
  const links = new Gauge({
    name: 'causeway_edge_links',
    help: 'Links by state; one for each address of a hub.',
    labelNames: ['state'],
    registers,
    collect: () => {
      const { phases } = numbers()
      for (const state of allPhases) links.set({ state }, phases.filter((phase) => phase === state).length)
    },
  })
  const add = (name: string, help: string, value: () => number): void => {
    const gauge: Gauge = new Gauge({ name, help, registers, collect: () => gauge.set(value()) })
  }
  add('causeway_edge_sessions', 'Sessions that are open, those that drain included.', () => numbers().sessions)
  add('causeway_edge_streams', 'Streams that are open, in both directions.', () => numbers().streams)
  add('causeway_edge_buffered_bytes', 'Bytes held in memory for streams.', () => numbers().bufferedBytes)
  add('causeway_edge_session_rtt_seconds', 'Shortest round trip to a hub; NaN where no session is up.', () => {
    return (numbers().rttMs ?? Number.NaN) / 1000
  })
}

function addByteCounters(registers: Registry[], numbers: () => LinkNumbers): void {
  const add = (name: string, help: string, value: () => number): void => {
    const collect = (): void => {
      counter.reset()
      counter.inc(value())
    }
    const counter: Counter = new Counter({ name, help, registers, collect })
  }
  add('causeway_edge_session_received_bytes_total', 'Bytes that came from hubs.', () => numbers().receivedBytes)
  add('causeway_edge_session_sent_bytes_total', 'Bytes that went to hubs.', () => numbers().sentBytes)
}

function createCounters(registers: Registry[]) {
  return {
    attempts: new Counter({
      name: 'causeway_edge_session_attempts_total',
      help: 'Attempts to open a session: ok, failed (to be repeated soon), refused (a person has to act).',
      labelNames: ['result'],
      registers,
    }),
    ends: new Counter({
      name: 'causeway_edge_session_ends_total',
      help: 'Sessions that have ended, by the code of docs/protocol.md.',
      labelNames: ['code'],
      registers,
    }),
    opens: new Counter({
      name: 'causeway_edge_target_opens_total',
      help: 'Streams opened towards the cloud, by the code of the answer.',
      labelNames: ['code'],
      registers,
    }),
  }
}
