/**
 * A value in memory that is also kept: changes are written together after a while, one write at a time. A write that fails is
 * logged once and tried again; nobody waits for it.
 */
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Kept } from './kept.ts'

/** After a write that failed: a disk that is full or broken is not asked more often than this. */
export const KEEP_RETRY_MS = 30_000

export interface KeptStateOptions {
  /** For the log and for parts. */
  readonly name: string
  readonly kept: Kept
  /** Takes in what was kept; throws for what it cannot read, which is then as if there were nothing. */
  readonly restore: (text: string) => void
  readonly render: () => string
  /** How long changes may wait to be written together. */
  readonly patienceMs: number
  readonly clock: Clock
  readonly logger: Logger
}

export class KeptState implements Part {
  readonly name: string
  readonly #options: KeptStateOptions
  #cancelTimer: (() => void) | undefined
  #writing: Promise<void> | undefined
  #isChanged = false
  #isStopped = false
  #isFailing = false

  constructor(options: KeptStateOptions) {
    this.name = options.name
    this.#options = options
  }

  async start(): Promise<RunningPart> {
    await this.#load()
    return {
      stop: async () => {
        this.#isStopped = true
        this.#cancelTimer?.()
        await this.#writing
        if (this.#isChanged) await this.#write()
      },
    }
  }

  /** To be called after every change that should survive. */
  changed(): void {
    this.#isChanged = true
    this.#schedule(this.#options.patienceMs)
  }

  async #load(): Promise<void> {
    const { kept, restore, logger, name } = this.#options
    try {
      const bytes = await kept.load()
      if (bytes !== undefined) restore(Buffer.from(bytes).toString('utf8'))
    } catch (error) {
      logger.warn({ kept: name, err: error }, 'what was kept cannot be read; beginning anew')
    }
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped || this.#cancelTimer !== undefined || this.#writing !== undefined) return
    this.#cancelTimer = this.#options.clock.schedule(delayMs, () => {
      this.#cancelTimer = undefined
      this.#writing = this.#writeAndGoOn()
    })
  }

  async #writeAndGoOn(): Promise<void> {
    await this.#write()
    this.#writing = undefined
    if (this.#isChanged) this.#schedule(this.#isFailing ? KEEP_RETRY_MS : this.#options.patienceMs)
  }

  async #write(): Promise<void> {
    const { kept, render, logger, name } = this.#options
    this.#isChanged = false
    try {
      await kept.save(Buffer.from(render()))
      if (this.#isFailing) logger.info({ kept: name }, 'this can be kept again')
      this.#isFailing = false
    } catch (error) {
      this.#isChanged = true
      if (!this.#isFailing) logger.error({ kept: name, err: error }, 'this could not be kept; it will be tried again')
      this.#isFailing = true
    }
  }
}
