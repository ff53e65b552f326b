/** The audit log of an API server: events as lines, and how many there were. */
import { Counter, type Registry } from 'prom-client'
import { scrubText } from '../../telemetry/redaction.ts'
import type { AuditEvent } from './event.ts'
import type { AuditSink } from './sink.ts'

interface AuditMetrics {
  readonly events: Counter
  readonly errors: Counter
}

export function addAuditMetrics(registry: Registry): AuditMetrics {
  const registers = [registry]
  return {
    events: new Counter({
      name: 'apiserver_audit_event_total',
      help: 'Audit events that were made.',
      registers,
    }),
    errors: new Counter({
      name: 'apiserver_audit_error_total',
      help: 'Audit events that were lost, because the log could not be written or not fast enough.',
      labelNames: ['plugin'],
      registers,
    }),
  }
}

export class Audit {
  readonly #sink: AuditSink | undefined
  readonly #events: Counter

  /** Without a sink there are no events. */
  constructor(registry: Registry, sink: AuditSink | undefined) {
    const { events, errors } = addAuditMetrics(registry)
    this.#sink = sink
    this.#events = events
    sink?.onLost((count) => errors.inc({ plugin: 'log' }, count))
  }

  get isOn(): boolean {
    return this.#sink !== undefined
  }

  record(event: AuditEvent): void {
    if (this.#sink === undefined) return
    this.#events.inc()
    // A client may put a credential anywhere, into its target for instance.
    this.#sink.append(scrubText(JSON.stringify(event)))
  }
}
