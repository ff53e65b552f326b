/** Waiting for a hub that says it is busy: a fleet that joins at once is let in a few at a time. */
import type { Clock } from '../../runtime/clock.ts'
import { HubError } from '../hub/hub-error.ts'

/** A hub that lets thousands in needs minutes; a person who watches should not wait much longer. */
const MAX_BUSY_RETRIES = 20
/** The longest wait where the hub does not say when to come back; drawn anew each time. */
const BUSY_RETRY_MS = 10_000

export interface Patience {
  readonly clock: Clock
  readonly random: () => number
  readonly signal?: AbortSignal | undefined
}

/** Repeats `work` while a hub answers that it cannot now. A hub that cannot be reached is for the caller to judge. */
export async function patiently<T>(work: () => Promise<T>, { clock, random, signal }: Patience): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await work()
    } catch (error) {
      const isBusy = error instanceof HubError && error.kind === 'refusal' && error.retryable
      if (!isBusy || retries === MAX_BUSY_RETRIES) throw error
      // Spread out, so that those who were turned away together do not return together.
      const delayMs = (error.retryAfterMs ?? 0) + Math.floor(random() * BUSY_RETRY_MS)
      await clock.sleep(delayMs, signal)
    }
  }
}
