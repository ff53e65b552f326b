/**
 * Sends connections to the service `default/kubernetes` to the endpoint, where no kube-proxy does: one nftables table of our own,
 * put back when it vanishes, taken over after a crash, removed at the end. Tables of others are never touched.
 */

import type { Registry } from 'prom-client'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ExplainedError } from '../../runtime/explained-error.ts'
import { HEALTHY, type Health, unhealthy } from '../../telemetry/health.ts'
import { componentLogger, type Logger } from '../../telemetry/logger.ts'
import { type NftCommand, NftCommandError, runNft } from './nat-command.ts'
import {
  isInPlace,
  type NatTargets,
  type NatWish,
  natRemovalScript,
  natScript,
  natTableName,
  planNat,
} from './nat-plan.ts'
import { createNatMetrics, type NatMetrics } from './network-metrics.ts'

/** Rules that somebody removes, and a new address of the service, are seen to within this time. */
export const NAT_CHECK_MS = 10_000

class NatError extends ExplainedError {
  override readonly name = 'NatError'
}

export interface NatOptions {
  /** Tells the tables of several edges on one machine apart: the data folder, say. Must be the same at each start. */
  readonly owner: string
  /** What is known now; asked at each check. No address of the service: nothing is known yet. */
  readonly targets: () => NatTargets
  readonly clock: Clock
  readonly logger: Logger
  readonly registry: Registry
  readonly nft?: NftCommand
}

export interface NatStatus {
  readonly table: string
  /** As in the table at the last check. */
  readonly rules: readonly string[]
  readonly problem: string | undefined
}

export class Nat implements Part {
  readonly name = 'nat'
  readonly #options: NatOptions
  readonly #table: string
  readonly #nft: NftCommand
  readonly #logger: Logger
  readonly #metrics: NatMetrics
  #placed: NatWish | undefined
  #isRunning = false
  #problem: string | undefined
  #checking: Promise<void> = Promise.resolve()
  #cancelCheck = (): void => {}

  constructor(options: NatOptions) {
    this.#options = options
    this.#table = natTableName(options.owner)
    this.#nft = options.nft ?? runNft
    this.#logger = componentLogger(options.logger, 'edge/nat')
    this.#metrics = createNatMetrics(options.registry)
  }

  health(): Health {
    return this.#problem === undefined ? HEALTHY : unhealthy(this.#problem)
  }

  get status(): NatStatus {
    const rules = (this.#placed?.rules ?? []).map(({ text }) => text)
    return { table: this.#table, rules, problem: this.#problem }
  }

  /** Rejects with a `NatError` that says how to help where this machine lets us make no table. */
  async start(): Promise<RunningPart> {
    try {
      // What a crash left may lead to a port where nobody listens any more. Also shows at once whether we may do this at all.
      await this.#removeTable()
      await this.#ensure()
    } catch (error) {
      await this.#removeTable().catch(() => {})
      throw explained(error)
    }
    this.#isRunning = true
    this.#scheduleCheck()
    return {
      stop: async () => {
        this.#isRunning = false
        this.#cancelCheck()
        await this.#checking
        await this.#removeTable()
        this.#placed = undefined
        this.#metrics.services(0)
      },
    }
  }

  /** To be called when `targets` has something else to say; otherwise that is seen at the next check. */
  targetsChanged(): void {
    if (!this.#isRunning) return
    this.#cancelCheck()
    this.#checking = this.#checking.then(() => this.#check())
  }

  #scheduleCheck(): void {
    if (!this.#isRunning) return
    this.#cancelCheck()
    this.#cancelCheck = this.#options.clock.schedule(NAT_CHECK_MS, () => {
      this.#checking = this.#check()
    })
  }

  async #check(): Promise<void> {
    try {
      await this.#ensure()
    } catch (error) {
      const { message } = explained(error)
      if (message !== this.#problem) this.#logger.error({ why: message }, 'the rules for the service are not in place')
      this.#problem = message
    }
    this.#scheduleCheck()
  }

  async #ensure(): Promise<void> {
    const wish = planNat(this.#options.owner, this.#options.targets())
    if (wish.rules.length === 0) await this.#clear()
    else if (this.#placed === undefined || natScript(wish) !== natScript(this.#placed)) await this.#place(wish)
    else if (!(await this.#isInPlace(wish))) {
      await this.#place(wish)
      this.#metrics.repaired()
      this.#logger.warn({ table: wish.table }, 'the rules for the service had vanished and were put back')
    }
    this.#setProblem(unservedText(wish))
  }

  async #clear(): Promise<void> {
    if (this.#placed === undefined) return
    await this.#removeTable()
    this.#placed = undefined
    this.#metrics.services(0)
  }

  async #place(wish: NatWish): Promise<void> {
    await this.#nft(['-f', '-'], natScript(wish))
    this.#placed = wish
    this.#metrics.services(wish.rules.length)
    this.#logger.info({ table: wish.table, rules: wish.rules.map(({ text }) => text) }, 'the service is led here')
  }

  async #isInPlace(wish: NatWish): Promise<boolean> {
    try {
      return isInPlace(wish, await this.#nft(['list', 'table', 'inet', wish.table]))
    } catch (error) {
      if (error instanceof NftCommandError && error.failure === 'not-there') return false
      throw error
    }
  }

  async #removeTable(): Promise<void> {
    await this.#nft(['-f', '-'], natRemovalScript(this.#table))
  }

  #setProblem(problem: string | undefined): void {
    if (problem !== undefined && problem !== this.#problem) this.#logger.warn(problem)
    this.#problem = problem
  }
}

function unservedText({ unserved }: NatWish): string | undefined {
  if (unserved.length === 0) return undefined
  return (
    `connections to ${unserved.join(', ')} cannot be led to the endpoint: it has no address of that kind besides loopback; ` +
    'add one with --endpoint-address'
  )
}

function explained(error: unknown): Error {
  if (!(error instanceof NftCommandError)) return error instanceof Error ? error : new Error(String(error))
  return new NatError(`--nat cannot make its nftables table: ${reasonOf(error)}`, { cause: error })
}

function reasonOf({ failure, message }: NftCommandError): string {
  switch (failure) {
    case 'not-installed':
      return 'there is no nft command; install nftables'
    case 'not-permitted':
      return 'this user may not; run as root or with CAP_NET_ADMIN'
    case 'not-supported':
      return `this kernel cannot translate addresses in an inet table, which takes Linux 5.2 with nf_tables (${message})`
    default:
      return message
  }
}
