/** Whether the API server can be reached, as a part of the process: `reach-core.ts` says what to probe, this file does it. */
import type { Registry } from 'prom-client'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import { componentLogger, type Logger } from '../../telemetry/logger.ts'
import { UpstreamError } from '../upstream/upstream.ts'
import type { Probe } from './probe.ts'
import {
  beginReach,
  type ReachInput,
  type ReachName,
  type ReachState,
  type Refused,
  type Refuser,
  step,
} from './reach-core.ts'
import { createReachMetrics, type ReachMetrics } from './reach-metrics.ts'

/** Whoever asks to be sure waits no longer: clients have limits of their own. */
export const CONFIRM_MS = 2_000
/** What fails together asks within this time: a probe that began for the first of them counts for the others. */
export const CONFIRM_TOGETHER_MS = 250

/** The links to the hubs, as far as reach depends on them; `EdgeLinks` is one. */
export interface ReachLink {
  readonly isUp: boolean
  /** Why a hub will not have this node any more, if the last word of a hub was that. */
  readonly refusal: string | undefined
  /** Since when and why there is no link. */
  readonly whyDown: string
  /** Returns what ends it. */
  onChange(listener: () => void): () => void
}

export interface Reachability {
  readonly state: ReachName
  /** Since when, as a date and on the monotonic clock. */
  readonly sinceMs: number
  readonly changedMs: number
  readonly why: string
  /** Only in the state `refused`. */
  readonly refusedBy: Refuser | undefined
}

export interface ReachOptions {
  readonly link: ReachLink
  readonly probe: Probe
  /** This node was refused when the process before this one ended; asked at the start. */
  readonly refusedBefore?: (() => Refused | undefined) | undefined
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  readonly net: SafetyNet
  readonly registry: Registry
}

/** Those who asked before the same probe began, and share its answer. */
interface Confirming {
  readonly afterProbe: number
  readonly promise: Promise<ReachName>
  readonly settle: () => void
}

export class Reach implements Part {
  readonly name = 'reach'
  readonly #options: ReachOptions
  readonly #logger: Logger
  readonly #metrics: ReachMetrics
  readonly #listeners = new Set<(now: Reachability) => void>()
  readonly #confirming = new Set<Confirming>()
  #state: ReachState
  #underWay: AbortController | undefined
  #cancelTimer = (): void => {}
  #isStopped = false

  constructor(options: ReachOptions) {
    const { clock, registry } = options
    this.#options = options
    this.#logger = componentLogger(options.logger, 'edge/reach')
    this.#state = beginReach(this.#times())
    this.#metrics = createReachMetrics(registry, () => {
      return { state: this.#state.name, lastsMs: clock.monotonicMs() - this.#state.changedMs }
    })
  }

  get now(): Reachability {
    const { name: state, sinceMs, changedMs, why, refusedBy } = this.#state
    return { state, sinceMs, changedMs, why, refusedBy }
  }

  /** Called after each change of the state. Returns what ends it. */
  onChange(listener: (now: Reachability) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async start(): Promise<RunningPart> {
    const { link, refusedBefore } = this.#options
    this.#state = beginReach(this.#times(), refusedBefore?.())
    const unlisten = link.onChange(() => this.#lookAtLink())
    this.#lookAtLink()
    return {
      stop: async () => {
        unlisten()
        this.#isStopped = true
        this.#cancelTimer()
        this.#underWay?.abort(new Error('the process is stopping'))
        for (const { settle } of [...this.#confirming]) settle()
      },
    }
  }

  /** The API server has answered a request, with whatever status: that of one extension says nothing about the server. */
  answered(): void {
    this.#feed({ type: 'answered' })
  }

  /** A request got no answer. What is no evidence, such as a limit of ours or a client that left, is ignored. */
  failed(error: unknown): void {
    if (error instanceof UpstreamError && error.kind !== 'overloaded') this.#feed({ type: 'doubted' })
  }

  /** A request waits for its answer longer than usual. */
  doubt(): void {
    this.#feed({ type: 'doubted' })
  }

  /** The API server answered 401 to a request under the node's own certificate. Only probes that meet the same are believed. */
  nodeRejected(): void {
    this.#feed({ type: 'doubted' })
  }

  /**
   * For a request that has just failed: the state once a probe that begins with this call or after it, and the second one where
   * the first fails, have shown it. At once where it is not online anyway; after `CONFIRM_MS` as it is then.
   */
  confirm(): Promise<ReachName> {
    if (this.#state.name !== 'online' || this.#isStopped) return Promise.resolve(this.#state.name)
    const { probe, lastProbe, begunMs } = this.#state
    const isJustBegun = probe !== undefined && this.#options.clock.monotonicMs() - begunMs <= CONFIRM_TOGETHER_MS
    const afterProbe = isJustBegun ? lastProbe - 1 : lastProbe
    const known = [...this.#confirming].find((each) => each.afterProbe === afterProbe)
    const confirming = known ?? this.#beginConfirming(afterProbe)
    if (!isJustBegun) this.#feed({ type: 'doubted' })
    return confirming.promise
  }

  #beginConfirming(afterProbe: number): Confirming {
    let resolve = (_state: ReachName): void => {}
    const promise = new Promise<ReachName>((settle) => {
      resolve = settle
    })
    const settle = (): void => {
      this.#confirming.delete(confirming)
      cancelTimer()
      resolve(this.#state.name)
    }
    const confirming = { afterProbe, promise, settle }
    const cancelTimer = this.#options.clock.schedule(CONFIRM_MS, settle)
    this.#confirming.add(confirming)
    return confirming
  }

  #lookAtLink(): void {
    const { isUp, refusal, whyDown: why } = this.#options.link
    this.#feed({ type: 'link', isUp, refusal, why })
  }

  #feed(input: ReachInput): void {
    if (this.#isStopped) return
    const { random } = this.#options
    const before = this.#state
    const { state, outputs } = step(before, input, { ...this.#times(), random })
    this.#state = state
    for (const { type, probe } of outputs) {
      if (type === 'abandon') this.#underWay?.abort(new Error('the link is down'))
      else this.#options.net.guard('timer', () => {})(() => this.#send(probe))
    }
    // A timer may ring a moment early; then there is nothing to do yet, and it has to ring again.
    if (state.probeAtMs !== before.probeAtMs || input.type === 'tick') this.#schedule()
    if (state.name !== before.name || state.refusedBy !== before.refusedBy) this.#changed()
    this.#settleConfirming()
  }

  #schedule(): void {
    this.#cancelTimer()
    const { probeAtMs } = this.#state
    if (probeAtMs === undefined) return
    const { clock } = this.#options
    const delayMs = Math.max(0, probeAtMs - clock.monotonicMs())
    this.#cancelTimer = clock.schedule(delayMs, () => this.#feed({ type: 'tick' }))
  }

  async #send(probe: number): Promise<void> {
    const controller = new AbortController()
    this.#underWay = controller
    try {
      const result = await this.#options.probe(controller.signal)
      this.#metrics.probed(result.outcome)
      this.#feed({ type: 'probed', probe, result })
    } catch (error) {
      // One that was abandoned belongs to a link that is gone. Any other end is a defect, and must not be the last probe.
      if (controller.signal.aborted) return
      this.#feed({ type: 'probed', probe, result: { outcome: 'unknown', why: String(error) } })
      throw error
    }
  }

  #changed(): void {
    const { now } = this
    this.#metrics.changed(now.state)
    this.#logger[now.state === 'online' ? 'info' : 'warn']({ reach: now.state, why: now.why }, 'reach has changed')
    // One who fails must not keep it from the others, nor from the request that showed the change.
    const guard = this.#options.net.guard('timer', () => {})
    for (const listener of [...this.#listeners]) guard(() => listener(now))
  }

  #settleConfirming(): void {
    const { name, settledProbe, failures, rejections } = this.#state
    const isDecided = failures === 0 && rejections === 0
    for (const { afterProbe, settle } of [...this.#confirming])
      if (name !== 'online' || (settledProbe > afterProbe && isDecided)) settle()
  }

  #times(): { readonly nowMs: number; readonly wallMs: number } {
    const { clock } = this.#options
    return { nowMs: clock.monotonicMs(), wallMs: clock.nowMs() }
  }
}
