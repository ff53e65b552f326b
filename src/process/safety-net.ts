/**
 * The net under everything that a request or a peer sets off. An error that nobody expected is a defect of ours, and whoever
 * found it must not take the others along: the offender is cut off, the error is counted, and the log says what it was.
 *
 * Whatever the runtime calls because of a peer stands over a net: events by `watch`, handlers and whatever else runs on its own
 * by a `Guard`, timers by the clock of `timers`. None of them lets anything through, nor does telling of it.
 */
import type { EventEmitter } from 'node:events'
import { Counter, type Registry } from 'prom-client'
import type { Clock } from '../runtime/clock.ts'
import { guardEmitter } from '../runtime/guarded-emitter.ts'
import { LineLimit } from '../telemetry/line-limit.ts'
import type { Logger } from '../telemetry/logger.ts'

/** Lines in the log about errors that were caught, per second: a peer that has found a defect must not fill the disk with it. */
const CAUGHT_ERRORS_LOGGED_PER_SECOND = 1
/** How many lines about caught errors may follow one another at once. */
export const CAUGHT_ERRORS_LOG_BURST = 10

/**
 * Where an error was caught: while serving a request, on a connection, on one of its streams, in a session of the tunnel, at a
 * port before the connection had an owner, in a timer, or nowhere but at the last resort of the process.
 */
const CATCHING_PLACES = ['request', 'connection', 'stream', 'session', 'listener', 'timer', 'process'] as const
export type CatchingPlace = (typeof CATCHING_PLACES)[number]

/** Runs an action, to the end of its promise if it gives one. Never throws, and leaves no rejection behind. */
export type Guard = (action: () => unknown) => void

/** What can be cut off: sockets, requests, streams. */
interface Cuttable {
  destroy(): unknown
}

export interface SafetyNetOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly registry: Registry
}

export class SafetyNet {
  readonly #logger: Logger
  readonly #counter: Counter<'place'>
  readonly #lines: LineLimit

  constructor({ clock, logger, registry }: SafetyNetOptions) {
    this.#logger = logger
    this.#counter = caughtErrors(registry)
    this.#lines = new LineLimit(clock, CAUGHT_ERRORS_LOGGED_PER_SECOND, CAUGHT_ERRORS_LOG_BURST)
  }

  /** Counts an error that is over with. Never throws. */
  caught(place: CatchingPlace, error: unknown): void {
    try {
      this.#counter.inc({ place })
      const rest = this.#lines.admit()
      if (rest !== undefined) this.#logger.error({ place, err: error, ...rest }, 'an unexpected error was caught')
    } catch {
      // There is nobody left to tell.
    }
  }

  /** `cut` ends whatever the action was done for. */
  guard(place: CatchingPlace, cut: () => void): Guard {
    const fail = (error: unknown): void => this.#fail(place, error, cut)
    return (action) => {
      try {
        const result = action()
        if (result instanceof Promise) result.then(undefined, fail)
      } catch (error) {
        fail(error)
      }
    }
  }

  /** From now on no listener of the emitter can throw further than here; it is destroyed where one does. */
  watch<T extends EventEmitter & Cuttable>(
    emitter: T,
    place: CatchingPlace,
    cut = (): unknown => emitter.destroy(),
  ): T {
    guardEmitter(emitter, (error) => this.#fail(place, error, cut))
    return emitter
  }

  /** Watches a server: what came with the event, such as a socket, is destroyed, and the server goes on. */
  watchServer(server: EventEmitter): void {
    guardEmitter(server, (error, given) =>
      this.#fail('listener', error, () => {
        for (const each of given) if (isCuttable(each)) each.destroy()
      }),
    )
  }

  /** A clock whose appointments end nothing but themselves. */
  timers(clock: Clock): Clock {
    const guard = this.guard('timer', () => {})
    return {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      schedule: (delayMs, action) => clock.schedule(delayMs, () => guard(action)),
      sleep: (delayMs, signal) => clock.sleep(delayMs, signal),
    }
  }

  #fail(place: CatchingPlace, error: unknown, cut: () => unknown): void {
    this.caught(place, error)
    try {
      cut()
    } catch (second) {
      this.caught(place, second)
    }
  }
}

const counterName = 'causeway_caught_errors_total'

/** One for each registry: several roles of a process may share one. */
function caughtErrors(registry: Registry): Counter<'place'> {
  const known = registry.getSingleMetric(counterName)
  if (known !== undefined) return known as Counter<'place'>
  const counter = new Counter({
    name: counterName,
    help: 'Unexpected errors, each a defect to report, by where they were caught; whoever caused one there was cut off.',
    labelNames: ['place'] as const,
    registers: [registry],
  })
  // An alert on the first one needs the zero before it.
  for (const place of CATCHING_PLACES) counter.inc({ place }, 0)
  return counter
}

function isCuttable(value: unknown): value is Cuttable {
  return typeof (value as Partial<Cuttable> | null)?.destroy === 'function'
}
