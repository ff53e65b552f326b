/** All forwards of an edge as one part of its process. Either all listen or none does. */

import type { Registry } from 'prom-client'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import { componentLogger, type Logger } from '../../telemetry/logger.ts'
import { Forward, type ForwardStatus, type OpenStream } from './forward.ts'
import { createForwardMetrics } from './forward-metrics.ts'
import type { ForwardSpec } from './forward-spec.ts'
import { withinBudget } from './fruitless-opens.ts'

export interface ForwardsOptions {
  readonly forwards: readonly ForwardSpec[]
  /** An address of this machine, or one that was put there before. */
  readonly bindAddress: string
  readonly open: OpenStream
  readonly clock: Clock
  readonly logger: Logger
  readonly net: SafetyNet
  readonly registry: Registry
}

export class Forwards implements Part {
  readonly name = 'forwards'
  readonly #forwards: readonly Forward[]

  constructor({ forwards, bindAddress, open: toHub, clock, logger: all, net, registry }: ForwardsOptions) {
    const metrics = createForwardMetrics(registry)
    const logger = componentLogger(all, 'edge/forwards')
    const open = withinBudget(toHub, clock)
    this.#forwards = forwards.map((spec) => new Forward({ ...spec, bindAddress, open, clock, net, metrics, logger }))
  }

  get status(): readonly ForwardStatus[] {
    return this.#forwards.map(({ status }) => status)
  }

  async start(): Promise<RunningPart> {
    const started: Forward[] = []
    const stop = async (deadline: AbortSignal): Promise<void> => {
      await Promise.all(started.map(async (forward) => await forward.stop(deadline)))
    }
    try {
      for (const forward of this.#forwards) {
        await forward.start()
        started.push(forward)
      }
    } catch (error) {
      await stop(AbortSignal.abort())
      throw error
    }
    return { stop }
  }
}
