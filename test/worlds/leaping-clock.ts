/** The time of this machine, which a test can move on: what waits for a minute need not be waited for. */
import { ManualClock, systemClock } from '../../src/runtime/clock.ts'

interface Appointment {
  readonly dueMs: number
  readonly run: () => void
  cancel: () => void
}

export class LeapingClock extends ManualClock {
  readonly #appointments = new Set<Appointment>()
  #aheadMs = 0

  override nowMs(): number {
    return systemClock.nowMs() + this.#aheadMs
  }

  override monotonicMs(): number {
    return systemClock.monotonicMs() + this.#aheadMs
  }

  override schedule(delayMs: number, action: () => void): () => void {
    const dueMs = this.monotonicMs() + Math.max(0, delayMs)
    const appointment: Appointment = {
      dueMs,
      run: () => {
        this.#appointments.delete(appointment)
        action()
      },
      cancel: systemClock.schedule(delayMs, () => appointment.run()),
    }
    this.#appointments.add(appointment)
    return () => {
      appointment.cancel()
      this.#appointments.delete(appointment)
    }
  }

  /** All that was to happen within this time happens in the next turns. */
  leap(ms: number): void {
    this.#aheadMs += ms
    for (const appointment of this.#appointments) {
      appointment.cancel()
      appointment.cancel = systemClock.schedule(Math.max(0, appointment.dueMs - this.monotonicMs()), appointment.run)
    }
  }
}
