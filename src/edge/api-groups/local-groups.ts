/**
 * Which group versions the API server serves itself, as a hub says: what is in them all readers of a node may share. Asked for at
 * start, when the link is back and every few minutes; the last answer is kept, so that it holds for a start without a link. Where
 * the hubs do not know, nothing is shared but what is built in.
 */
import * as v from 'valibot'
import { joinGroupVersion } from '../../kube/schema/catalogue.ts'
import { inBackground } from '../../process/background.ts'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { HubRefusalCode } from '../../protocol/refusals.ts'
import { Backoff } from '../../runtime/backoff.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { behindEdgeCertificate } from '../certificates/behind-edge-certificate.ts'
import { GROUP_VERSIONS, type HubClient } from '../hub/hub-client.ts'
import { HubError } from '../hub/hub-error.ts'
import type { Kept } from '../readers/kept.ts'
import { KeptState } from '../readers/kept-state.ts'

/** How often a hub is asked: for so long a group that another server has taken over may still be shared. Shortened by chance. */
export const GROUPS_REFRESH_MS = 5 * 60_000
/** A link that comes and goes is no reason to ask more often than this. */
export const GROUPS_MIN_GAP_MS = 10_000

/** A hub that does not know, and one that is older than the question. */
const unknowingCodes: ReadonlySet<string> = new Set<HubRefusalCode>(['hub-lacks-rights', 'not-found'])

export interface LocalGroupsOptions {
  readonly client: Pick<HubClient, 'localGroupVersions'>
  readonly kept: Kept
  /** Hears which group versions are served by the API server now and were not before, or the other way round. */
  readonly changed: (groupVersions: ReadonlySet<string>) => void
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
}

export class LocalGroups implements Part {
  readonly name = 'api-groups'
  readonly #options: LocalGroupsOptions
  readonly #kept: KeptState
  #told: ReadonlySet<string> = new Set()
  /** Why there is no answer, as it was last logged. */
  #problem: string | undefined
  #answeredMs = Number.NEGATIVE_INFINITY
  /** Ends the wait for the next question. */
  #wake = (): void => {}

  constructor(options: LocalGroupsOptions) {
    const { kept, clock, logger } = options
    this.#options = options
    this.#kept = new KeptState({
      name: 'API groups',
      kept,
      restore: (text) => {
        this.#told = new Set(v.parse(GROUP_VERSIONS, JSON.parse(text)))
      },
      render: () => JSON.stringify([...this.#told]),
      patienceMs: 0,
      clock,
      logger,
    })
  }

  has({ apiGroup, apiVersion }: { readonly apiGroup: string; readonly apiVersion: string }): boolean {
    return this.#told.has(joinGroupVersion(apiGroup, apiVersion))
  }

  get size(): number {
    return this.#told.size
  }

  /** Resolves when what was kept is known again. */
  async start(): Promise<RunningPart> {
    const keeping = await this.#kept.start()
    const asking = inBackground((signal) => this.#run(signal))
    return {
      stop: async (deadline) => {
        await asking.stop(deadline)
        await keeping.stop(deadline)
      },
    }
  }

  /** The link is back: what has changed meanwhile can be known now. */
  reachable(): void {
    this.#wake()
  }

  /** What was kept has been erased; what a hub says next is news. */
  forget(): void {
    this.#told = new Set()
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options
    const backoff = new Backoff(random, { firstMs: 5_000, maxMs: GROUPS_REFRESH_MS })
    while (!signal.aborted) {
      let waitMs = GROUPS_REFRESH_MS * (0.9 + 0.1 * random())
      try {
        await this.#ask(signal)
        backoff.reset()
      } catch (error) {
        if (signal.aborted) return
        waitMs = backoff.next(clock.monotonicMs(), (error as Partial<HubError>).retryAfterMs)
        this.#say('info', error, 'no hub has said which API groups are shared; the last answer stays')
      }
      await this.#rest(waitMs, signal)
    }
  }

  async #ask(signal: AbortSignal): Promise<void> {
    try {
      this.#take(await behindEdgeCertificate(() => this.#options.client.localGroupVersions(signal)))
      this.#problem = undefined
    } catch (error) {
      if (!(error instanceof HubError) || !unknowingCodes.has(error.code)) throw error
      this.#take([])
      this.#say(
        'warn',
        error,
        'custom resources are kept for each reader apart: the hub does not know which are shared',
      )
    }
  }

  /** Once for each reason in a row. */
  #say(level: 'info' | 'warn', error: unknown, message: string): void {
    const { code = '', message: why } = error as Error & { code?: string }
    const problem = `${code} ${level}`
    if (problem === this.#problem) return
    this.#problem = problem
    this.#options.logger[level](error instanceof HubError ? { code, why } : { err: error }, message)
  }

  #take(groupVersions: readonly string[]): void {
    this.#answeredMs = this.#options.clock.monotonicMs()
    const before = this.#told
    const told = new Set(groupVersions)
    const changed = new Set([...before, ...told].filter((each) => before.has(each) !== told.has(each)))
    if (changed.size === 0) return
    this.#told = told
    this.#kept.changed()
    this.#options.changed(changed)
  }

  async #rest(waitMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const woken = new AbortController()
    let cancelSoon = (): void => {}
    this.#wake = () => {
      cancelSoon()
      const soonMs = Math.max(0, this.#answeredMs + GROUPS_MIN_GAP_MS - clock.monotonicMs())
      cancelSoon = clock.schedule(soonMs, () => woken.abort())
    }
    await clock.sleep(waitMs, AbortSignal.any([signal, woken.signal])).catch(() => {})
    this.#wake = () => {}
    cancelSoon()
  }
}
