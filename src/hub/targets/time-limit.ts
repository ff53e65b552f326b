/** Work that is given up at a time limit, or as soon as nobody wants it any more. */
import type { Clock } from '../../telemetry/clock.ts'

export interface TimeLimit {
  readonly clock: Clock
  readonly limitMs: number
  /** What the work is given up with when time is over. */
  readonly late: () => Error
  /** Of whoever wants the work done. */
  readonly signal?: AbortSignal | undefined
}

/** The signal given to `work` aborts with the reason; `work` must reject with it. */
export async function withinTime<T>(
  { clock, limitMs, late, signal }: TimeLimit,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted()
  const controller = new AbortController()
  const giveUp = (): void => controller.abort(signal?.reason)
  const cancel = clock.schedule(limitMs, () => controller.abort(late()))
  signal?.addEventListener('abort', giveUp, { once: true })
  try {
    return await work(controller.signal)
  } finally {
    cancel()
    signal?.removeEventListener('abort', giveUp)
  }
}
