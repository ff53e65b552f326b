/**
 * Time as a dependency. Every part that waits, expires or backs off takes a `Clock`, so that tests move time by hand
 * and never sleep. Nothing outside this file calls `Date.now`, `performance.now` or the timer functions.
 */
export interface Clock {
  /** Milliseconds since the epoch. May jump when the machine's clock is set; use it for dates only. */
  nowMs(): number
  /** Milliseconds on a scale that never jumps. Use it for durations. */
  monotonicMs(): number
  /** Runs `action` once after `delayMs`; the returned function cancels it. Does not keep the process alive. */
  schedule(delayMs: number, action: () => void): () => void
  /** Resolves after `delayMs`; rejects with the signal's reason as soon as the signal aborts. Keeps the process alive. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>
}

class SystemClock implements Clock {
  nowMs(): number {
    return Date.now()
  }

  monotonicMs(): number {
    return performance.now()
  }

  schedule(delayMs: number, action: () => void): () => void {
    return startTimer(delayMs, action, (timer) => timer.unref())
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn((action) => startTimer(delayMs, action), signal)
  }
}

/** The longest wait of a timer of Node, some 24 days: one that is given more rings at once. */
const MAX_TIMER_MS = 2_147_483_647

/** Waits that are longer than a timer's, which clients may ask for, are waited for in parts. */
function startTimer(delayMs: number, action: () => void, started = (_timer: NodeJS.Timeout): void => {}): () => void {
  let timer: NodeJS.Timeout
  const wait = (leftMs: number): void => {
    const partMs = Math.min(leftMs, MAX_TIMER_MS)
    timer = setTimeout(() => (leftMs > partMs ? wait(leftMs - partMs) : action()), partMs)
    started(timer)
  }
  wait(delayMs)
  return () => clearTimeout(timer)
}

export const systemClock: Clock = new SystemClock()

interface Appointment {
  readonly dueMs: number
  readonly sequence: number
  readonly action: () => void
}

/** A clock that stands still until a test advances it. Appointments run in order of due time, then of making. */
export class ManualClock implements Clock {
  #elapsedMs = 0
  #epochMs: number
  #sequence = 0
  readonly #appointments = new Set<Appointment>()

  constructor(epochMs = Date.UTC(2026, 0, 1)) {
    this.#epochMs = epochMs
  }

  nowMs(): number {
    return this.#epochMs + this.#elapsedMs
  }

  monotonicMs(): number {
    return this.#elapsedMs
  }

  /** How many appointments wait: a test asserts zero to show that nothing was left behind. */
  get pending(): number {
    return this.#appointments.size
  }

  /** Milliseconds until the next appointment, if there is one. */
  get nextDueMs(): number | undefined {
    const next = this.#next(Number.POSITIVE_INFINITY)
    return next === undefined ? undefined : next.dueMs - this.#elapsedMs
  }

  schedule(delayMs: number, action: () => void): () => void {
    const appointment = { dueMs: this.#elapsedMs + Math.max(0, delayMs), sequence: this.#sequence++, action }
    this.#appointments.add(appointment)
    return () => this.#appointments.delete(appointment)
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn((action) => this.schedule(delayMs, action), signal)
  }

  /** Moves time forward and lets the promises that woke up on the way take their turn after each appointment. */
  async advance(durationMs: number): Promise<void> {
    const untilMs = this.#elapsedMs + durationMs
    await settle()
    for (let next = this.#next(untilMs); next !== undefined; next = this.#next(untilMs)) {
      this.#appointments.delete(next)
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs)
      next.action()
      await settle()
    }
    this.#elapsedMs = untilMs
  }

  /** Sets the wall clock, as an administrator or NTP would; durations are not affected. */
  jumpTo(epochMs: number): void {
    this.#epochMs = epochMs - this.#elapsedMs
  }

  #next(untilMs: number): Appointment | undefined {
    let best: Appointment | undefined
    for (const candidate of this.#appointments) {
      if (candidate.dueMs > untilMs) continue
      if (best === undefined || comesBefore(candidate, best)) best = candidate
    }
    return best
  }
}

function comesBefore(a: Appointment, b: Appointment): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.sequence < b.sequence)
}

function sleepOn(schedule: (action: () => void) => () => void, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error)
      return
    }
    const cancel = schedule(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    const onAbort = (): void => {
      cancel()
      reject(signal?.reason as Error)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** Lets every promise that is already resolved run its continuations, including chains of them. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
