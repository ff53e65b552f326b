/**
 * Names that count for good, the newest of them, and are kept: what was said of them must not be forgotten by a power cut. What
 * has to stay true: a name that was added is there until as many others came after it as there may be.
 */
import * as v from 'valibot'
import type { Part, RunningPart } from '../../../process/lifecycle.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { Kept } from '../kept.ts'
import { KeptState } from '../kept-state.ts'

/** Names that come together are written together, but soon: a token must not come back by a power cut. */
const NAMES_KEEP_MS = 500

export interface KeptNamesOptions {
  readonly kept: Kept
  readonly clock: Clock
  readonly logger: Logger
}

interface NameLimits {
  readonly maxNames: number
  readonly maxNameChars: number
}

export class KeptNames implements Part {
  readonly name: string
  readonly #limits: NameLimits
  readonly #kept: KeptState
  readonly #names = new Set<string>()

  constructor(name: string, limits: NameLimits, { kept, clock, logger }: KeptNamesOptions) {
    this.name = name
    this.#limits = limits
    const keptName = v.pipe(v.string(), v.maxLength(limits.maxNameChars))
    const keptSchema = v.pipe(v.array(keptName), v.maxLength(limits.maxNames))
    this.#kept = new KeptState({
      name: name.replaceAll('-', ' '),
      kept,
      restore: (text) => {
        for (const each of v.parse(keptSchema, JSON.parse(text))) this.#names.add(each)
      },
      render: () => JSON.stringify([...this.#names]),
      patienceMs: NAMES_KEEP_MS,
      clock,
      logger,
    })
  }

  start(): Promise<RunningPart> {
    return this.#kept.start()
  }

  has(name: string): boolean {
    return this.#names.has(name)
  }

  add(name: string): void {
    if (name === '' || name.length > this.#limits.maxNameChars || this.#names.has(name)) return
    this.#names.add(name)
    const [oldest] = this.#names
    if (oldest !== undefined && this.#names.size > this.#limits.maxNames) this.#names.delete(oldest)
    this.#kept.changed()
  }

  delete(name: string): void {
    if (this.#names.delete(name)) this.#kept.changed()
  }
}
