/** What agents dial in the cloud, held to what one node may ask for in all its calls. */
import type { Duplex } from 'node:stream'
import type { Clock } from '../../runtime/clock.ts'
import { TokenBucket } from '../../runtime/token-bucket.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Answer } from '../../tunnel/konnectivity/incoming-dials.ts'
import { OpenError, openErrorFrom } from '../../tunnel/open-error.ts'
import { DenialLog } from '../denial-log.ts'
import { MAX_OPENS_PER_SECOND_PER_NODE } from '../sessions/session-limits.ts'
import type { AgentMetrics } from './metrics.ts'

/** For a target in the cloud to connect. */
const AGENT_TARGET_DEADLINE_MS = 10_000

export type DialTarget = (
  node: string,
  target: string,
  options: { readonly deadlineMs: number; readonly signal: AbortSignal },
) => Promise<Duplex>

export interface AgentDialsOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: AgentMetrics
  /** Reaches a target in the cloud for a node, by the policy of the hub; rejects with an `OpenError`. Absent: no targets. */
  readonly dialTarget?: DialTarget
}

export class AgentDials {
  readonly #options: AgentDialsOptions
  readonly #log: DenialLog
  /** What the agent of a node may still open, by node: as many streams as an edge of ours. */
  readonly #opens = new Map<string, TokenBucket>()

  constructor(options: AgentDialsOptions) {
    this.#options = options
    this.#log = new DenialLog(options.clock, options.logger, 'not connected for an agent')
  }

  /** Answers the dials of one agent of the node. */
  answerFor(node: string): Answer | undefined {
    const { dialTarget, metrics, clock } = this.#options
    if (dialTarget === undefined) return undefined
    const opens = this.#opens.get(node) ?? new TokenBucket(MAX_OPENS_PER_SECOND_PER_NODE, clock.monotonicMs())
    this.#opens.set(node, opens)
    return async (target, signal) => {
      try {
        if (!opens.take(clock.monotonicMs()))
          throw new OpenError('overloaded', `node ${node} dials more than ${MAX_OPENS_PER_SECOND_PER_NODE} per second`)
        const socket = await dialTarget(node, target, { deadlineMs: AGENT_TARGET_DEADLINE_MS, signal })
        metrics.targetDials.inc({ code: 'ok' })
        return socket
      } catch (error) {
        const failure = openErrorFrom(error)
        metrics.targetDials.inc({ code: failure.code })
        this.#log.add(node, { node, target, code: failure.code, reason: failure.message })
        throw failure
      }
    }
  }

  /** The node has no agent any more. */
  forget(node: string): void {
    this.#opens.delete(node)
  }
}
