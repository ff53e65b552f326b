/** Sessions in numbers. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Budget } from '../../tunnel/yamux/budget.ts'
import type { SessionCounters } from '../../tunnel/yamux/session-options.ts'
import type { SessionLimit } from './session-limits.ts'

/** From the same rack to a satellite. */
const rttBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** What a live session says of itself. */
export interface Measured {
  readonly streamCount: number
  readonly counters: SessionCounters
}

export class SessionMetrics {
  readonly refused: Counter<'code'>
  readonly ended: Counter<'code'>
  readonly limits: Counter<'limit'>
  readonly dials: Counter<'code'>
  readonly rtt: Histogram
  readonly #live = new Set<Measured>()
  /** Bytes that sessions have received which are over. */
  #receivedBytes = 0
  #sentBytes = 0
  #refusedStreams = 0

  constructor(registry: Registry, budget: Budget) {
    const registers = [registry]
    this.refused = new Counter({
      name: 'causeway_hub_sessions_refused_total',
      help: 'Sessions that were not begun, by the code of the refusal.',
      labelNames: ['code'],
      registers,
    })
    this.ended = new Counter({
      name: 'causeway_hub_sessions_ended_total',
      help: 'Sessions that are over, by why: a code of the protocol, of a refusal, or the limit that was crossed.',
      labelNames: ['code'],
      registers,
    })
    this.limits = new Counter({
      name: 'causeway_hub_session_limits_total',
      help: 'Sessions ended and streams refused because a limit of a node, or of all, was reached.',
      labelNames: ['limit'],
      registers,
    })
    this.dials = new Counter({
      name: 'causeway_hub_session_dials_total',
      help: 'Streams opened into nodes: ok, or the code of the refusal.',
      labelNames: ['code'],
      registers,
    })
    this.rtt = new Histogram({
      name: 'causeway_hub_session_rtt_seconds',
      help: 'Round trips as the pings of sessions measure them.',
      buckets: rttBuckets,
      registers,
    })
    this.#observeLive(registers)
    observeBudget(registers, budget)
  }

  began(session: Measured): void {
    this.#live.add(session)
  }

  over(session: Measured, code: string): void {
    if (!this.#live.delete(session)) return
    this.ended.inc({ code })
    this.#receivedBytes += session.counters.receivedBytes
    this.#sentBytes += session.counters.sentBytes
    this.#refusedStreams += session.counters.refusedStreams
  }

  crossed(limit: SessionLimit): void {
    this.limits.inc({ limit })
  }

  #observeLive(registers: Registry[]): void {
    const live = this.#live
    const sum = (of: (session: Measured) => number): number => {
      let total = 0
      for (const session of live) total += of(session)
      return total
    }
    gauge(registers, 'causeway_hub_sessions', 'Sessions, those that are being drained included.', () => live.size)
    gauge(registers, 'causeway_hub_streams', 'Streams open in sessions.', () => sum((session) => session.streamCount))
    counter(registers, 'causeway_hub_session_received_bytes_total', 'Bytes that came in sessions.', () => {
      return this.#receivedBytes + sum(({ counters }) => counters.receivedBytes)
    })
    counter(registers, 'causeway_hub_session_sent_bytes_total', 'Bytes sent in sessions.', () => {
      return this.#sentBytes + sum(({ counters }) => counters.sentBytes)
    })
    counter(
      registers,
      'causeway_hub_streams_refused_total',
      'Streams reset unseen: their session had too many.',
      () => {
        return this.#refusedStreams + sum(({ counters }) => counters.refusedStreams)
      },
    )
  }
}

function observeBudget(registers: Registry[], budget: Budget): void {
  gauge(registers, 'causeway_hub_session_buffered_bytes', 'Bytes that sessions hold, unread and unsent.', () => {
    return budget.bufferedBytes
  })
  gauge(
    registers,
    'causeway_hub_session_window_bytes',
    'Credit given above what every stream has from the start.',
    () => {
      return budget.windowBytes
    },
  )
}

function gauge(registers: Registry[], name: string, help: string, value: () => number): Gauge {
  return new Gauge({
    name,
    help,
    registers,
    collect() {
      this.set(value())
    },
  })
}

/** For what is counted elsewhere and never goes back. */
function counter(registers: Registry[], name: string, help: string, value: () => number): Counter {
  return new Counter({
    name,
    help,
    registers,
    collect() {
      this.reset()
      this.inc(value())
    },
  })
}
