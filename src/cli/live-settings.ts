/**
 * Settings that count without a restart: the file of `--config` is read again now and then, and what has changed is handed
 * over. A file that cannot be used changes nothing; it is complained of once.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Part, RunningPart } from '../process/lifecycle.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../telemetry/logger.ts'

/** Whoever saves the file sees the effect while looking. */
export const SETTINGS_CHECK_MS = 5_000

export interface LiveSettingsOptions<T extends object> {
  readonly present: T
  /** Reads all settings anew; throws where they cannot be used. */
  readonly read: () => T
  /** Takes over what may change while running, and says which settings that is. */
  readonly apply: (changed: T) => readonly (keyof T)[]
  readonly clock: Clock
  readonly logger: Logger
}

export class LiveSettings<T extends object> implements Part {
  readonly name = 'live-settings'
  readonly #options: LiveSettingsOptions<T>
  #present: T
  #problem: string | undefined
  #cancel = (): void => {}

  constructor(options: LiveSettingsOptions<T>) {
    this.#options = options
    this.#present = options.present
  }

  async start(): Promise<RunningPart> {
    this.#schedule()
    return { stop: async () => this.#cancel() }
  }

  #schedule(): void {
    this.#cancel = this.#options.clock.schedule(SETTINGS_CHECK_MS, () => {
      this.#schedule()
      this.#look()
    })
  }

  #look(): void {
    const { read, apply, logger } = this.#options
    try {
      const found = read()
      const changed = keysOf(found).filter((key) => !isDeepStrictEqual(found[key], this.#present[key]))
      this.#problem = undefined
      if (changed.length === 0) return
      this.#present = found
      const applied = new Set(apply(found))
      const waiting = changed.filter((key) => !applied.has(key))
      logger.info({ settings: changed.filter((key) => applied.has(key)) }, 'settings have changed')
      if (waiting.length > 0) logger.warn({ settings: waiting }, 'these settings have changed and need a restart')
    } catch (error) {
      const { message } = error as Error
      if (message !== this.#problem) logger.error({ why: message }, 'the settings cannot be used; the last ones stay')
      this.#problem = message
    }
  }
}

function keysOf<T extends object>(value: T): (keyof T)[] {
  return Object.keys(value) as (keyof T)[]
}
