/** Where audit events go. */
import type { Part } from '../../process/lifecycle.ts'

/**
 * Requests do not wait for their audit event: it is queued, and a queue that is full drops it. Every event that is lost is
 * reported to whoever asked for that.
 */
export interface AuditSink extends Part {
  /** Called before the sink starts, with what hears of every event that was lost. */
  onLost(listener: (count: number) => void): void
  /** One event, as a line without its end. */
  append(line: string): void
}

/** Events that wait for a slow disk or a slow reader; at 1 KiB each, some seconds of a busy server. */
export const MAX_AUDIT_QUEUE_BYTES = 16 * 1024 * 1024
