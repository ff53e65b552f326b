/**
 * Starting and stopping a process made of parts. Parts start in order, each when the one before it serves, and stop in the
 * reverse order; whatever was started is stopped, also when a later part fails to start. After a clean run nothing is left
 * open, so the process ends by itself.
 */
import type { Clock } from '../runtime/clock.ts'
import { HEALTHY, type Health, unhealthy } from '../telemetry/health.ts'
import type { Logger } from '../telemetry/logger.ts'

export interface Part {
  readonly name: string
  /**
   * Resolves once the part serves. May assume that every earlier part serves. When `signal` aborts before that, the start
   * is given up: reject, leaving nothing behind. A part that breaks later, by itself, calls `fail` and so ends the process.
   */
  start(signal: AbortSignal, fail: (cause: unknown) => void): Promise<RunningPart>
}

export interface RunningPart {
  /**
   * Takes no new work, lets what is under way end, releases everything, resolves. When `deadline` aborts, what is still
   * under way is dropped instead. May assume that every earlier part still serves. Called once.
   */
  stop(deadline: AbortSignal): Promise<void>
}

/** For one part to drop what it holds after the deadline; a part that takes longer is left behind and named in the log. */
export const DROP_LIMIT_MS = 2_000

export interface LifecycleOptions {
  readonly parts: readonly Part[]
  readonly clock: Clock
  readonly logger: Logger
  /** For everything under way at the time of a stop, all parts together. */
  readonly drainLimitMs: number
}

/**
 * - `idle`: made, not yet run.
 * - `starting`: `part` is being started, those before it serve.
 * - `running`: all serve.
 * - `stopping`: no new work is taken; parts stop in reverse order.
 * - `stopped`: everything is released; final.
 */
type Phase =
  | { readonly name: 'idle' | 'running' | 'stopping' | 'stopped' }
  | { readonly name: 'starting'; readonly part: string }

interface StartedPart {
  readonly name: string
  readonly running: RunningPart
}

export class Lifecycle {
  readonly #options: LifecycleOptions
  readonly #started: StartedPart[] = []
  #phase: Phase = { name: 'idle' }

  constructor(options: LifecycleOptions) {
    this.#options = options
  }

  /** Ready only between the end of the start and the begin of the stop. */
  health(): Health {
    if (this.#phase.name === 'running') return HEALTHY
    return unhealthy(this.#phase.name === 'starting' ? `starting ${this.#phase.part}` : this.#phase.name)
  }

  /**
   * Starts all parts, calls `onReady`, and stops them when `signal` aborts. Resolves after a clean end; rejects, after
   * everything is stopped, with the first error of a start, of `onReady`, of a part that broke, or of a stop.
   */
  async run(signal: AbortSignal, onReady: () => void): Promise<void> {
    if (this.#phase.name !== 'idle') throw new Error('a lifecycle runs once')
    const errors: unknown[] = []
    try {
      await this.#startAndWait(signal, onReady)
    } catch (error) {
      if (!signal.aborted || error !== signal.reason) errors.push(error)
    }
    errors.push(...(await this.#stopAll()))
    this.#phase = { name: 'stopped' }
    if (errors.length > 0) throw errors[0]
  }

  async #startAndWait(signal: AbortSignal, onReady: () => void): Promise<void> {
    const broken = new AbortController()
    const wanted = AbortSignal.any([signal, broken.signal])
    for (const part of this.#options.parts) {
      wanted.throwIfAborted()
      this.#phase = { name: 'starting', part: part.name }
      const running = await part.start(wanted, (cause) => broken.abort(cause))
      this.#started.push({ name: part.name, running })
    }
    wanted.throwIfAborted()
    this.#phase = { name: 'running' }
    onReady()
    await aborted(wanted)
    broken.signal.throwIfAborted()
  }

  /** Returns the errors met on the way; one part's failure never keeps another from being stopped. */
  async #stopAll(): Promise<unknown[]> {
    const { clock, logger, drainLimitMs } = this.#options
    this.#phase = { name: 'stopping' }
    const deadline = new AbortController()
    const allStopped = new AbortController()
    const enforceDrainLimit = async (): Promise<void> => {
      await clock.sleep(drainLimitMs, allStopped.signal)
      logger.warn({ drainLimitMs }, 'drain limit reached, dropping what is still under way')
      deadline.abort(new Error(`not drained within ${drainLimitMs} ms`))
    }
    // Rejects when all parts stopped in time.
    enforceDrainLimit().catch(() => {})
    const errors: unknown[] = []
    for (const part of this.#started.toReversed()) {
      try {
        await this.#stop(part, deadline.signal)
        logger.debug({ part: part.name }, 'part stopped')
      } catch (error) {
        logger.error({ part: part.name, err: error }, 'part did not stop cleanly')
        errors.push(error)
      }
    }
    allStopped.abort()
    return errors
  }

  async #stop({ name, running }: StartedPart, deadline: AbortSignal): Promise<void> {
    const stopped = new AbortController()
    const leftBehind = async (): Promise<never> => {
      await aborted(deadline)
      await this.#options.clock.sleep(DROP_LIMIT_MS, stopped.signal)
      throw new Error(`${name} did not stop within ${DROP_LIMIT_MS} ms after the drain limit`)
    }
    const limit = leftBehind()
    // Lost the race: the sleep was cancelled.
    limit.catch(() => {})
    try {
      await Promise.race([running.stop(deadline), limit])
    } finally {
      stopped.abort()
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
