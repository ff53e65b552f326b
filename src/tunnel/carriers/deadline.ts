/** A step of dialling that takes at most so long, and ends at once when the caller gives up. */
import type { Clock } from '../../runtime/clock.ts'

export interface Patience {
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * Runs `work` under a signal of its own. Where that aborts, the result is the caller's reason or what `late` makes, whatever
 * the work itself rejects with; the work has to clean up behind itself.
 */
export async function within<T>(
  { clock, signal: caller }: Patience,
  limitMs: number,
  late: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  caller.throwIfAborted()
  const giveUp = new AbortController()
  const obey = (): void => giveUp.abort(caller.reason)
  caller.addEventListener('abort', obey, { once: true })
  const cancel = clock.schedule(limitMs, () => giveUp.abort(late()))
  try {
    return await work(giveUp.signal)
  } catch (error) {
    throw giveUp.signal.aborted ? giveUp.signal.reason : error
  } finally {
    cancel()
    caller.removeEventListener('abort', obey)
  }
}
