/** A timer for a date, however far away: timers take some weeks at most, and the machine's clock may be set meanwhile. */
import type { Clock } from '../../runtime/clock.ts'

/** How long one may rely on the distance to a date. */
const maxStepMs = 60 * 60 * 1000

/** The returned function cancels it. */
export function scheduleAt(clock: Clock, atMs: number, action: () => void): () => void {
  let cancel = (): void => {}
  const arm = (): void => {
    const leftMs = Math.max(0, atMs - clock.nowMs())
    cancel = clock.schedule(Math.min(leftMs, maxStepMs), () => (clock.nowMs() >= atMs ? action() : arm()))
  }
  arm()
  return () => cancel()
}
