/** Says of each subject now and then that it was denied something: whoever asks without end must not fill the log. */
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../telemetry/logger.ts'
import { DENIAL_LOG_INTERVAL_MS } from './targets/stream-server.ts'

/** Subjects that may have a line each within the interval: a bad day of a site, not an attack from everywhere. */
export const MAX_DENIED_SUBJECTS = 100

interface Denials {
  readonly loggedMs: number
  unlogged: number
}

export class DenialLog {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #message: string
  readonly #level: 'info' | 'warn'
  /** By subject; the one logged last stands last. */
  readonly #subjects = new Map<string, Denials>()
  /** Denials of subjects for which there was no room. */
  #unlogged = 0

  constructor(clock: Clock, logger: Logger, message: string, level: 'info' | 'warn' = 'info') {
    this.#clock = clock
    this.#logger = logger
    this.#message = message
    this.#level = level
  }

  add(subject: string, facts: Readonly<Record<string, unknown>>): void {
    const nowMs = this.#clock.monotonicMs()
    const isRecent = ({ loggedMs }: Denials): boolean => nowMs - loggedMs < DENIAL_LOG_INTERVAL_MS
    const before = this.#subjects.get(subject)
    if (before !== undefined && isRecent(before)) {
      before.unlogged += 1
      return
    }
    this.#forgetOld(isRecent, before === undefined ? undefined : subject)
    if (this.#subjects.size >= MAX_DENIED_SUBJECTS) {
      this.#unlogged += 1
      return
    }
    this.#subjects.set(subject, { loggedMs: nowMs, unlogged: 0 })
    const andOthers = (before?.unlogged ?? 0) + this.#unlogged
    this.#unlogged = 0
    this.#logger[this.#level]({ ...facts, andOthers: andOthers || undefined }, this.#message)
  }

  /** What they were denied without a line is told with the next one. */
  #forgetOld(isRecent: (denials: Denials) => boolean, told: string | undefined): void {
    for (const [subject, denials] of this.#subjects) {
      if (isRecent(denials)) return
      this.#subjects.delete(subject)
      if (subject !== told) this.#unlogged += denials.unlogged
    }
  }
}
