/**
 * The addresses of the API server. Health is learnt from the dials themselves: the address that answered last is tried first,
 * one that failed comes last until its time is over, and a dial fails only when all of them have.
 */
import type { Socket } from 'node:net'
import type { HostPort } from '../../network/host-port.ts'
import { formatAddress } from '../../network/listen.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { shareOfTime } from '../../tunnel/dial-address.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import type { TargetMetrics } from './metrics.ts'
import { type DialOptions, inTurn, type TargetDialer } from './target-dialer.ts'

/** An address that failed is a last resort for so long; the time doubles with each failure that follows. */
export const API_SERVER_BACKOFF_FIRST_MS = 1_000
/** The most it grows to: an API server that was restarted gets its share of the traffic back soon. */
const API_SERVER_BACKOFF_MAX_MS = 30_000

/** A time limit shorter than this says nothing about an address: a node that hardly waits must not shift others' traffic. */
const API_SERVER_TELLING_TIMEOUT_MS = 1_000

interface Member {
  readonly address: HostPort
  readonly text: string
  failures: number
  avoidUntilMs: number
}

export interface ApiServerPoolOptions {
  /** At least one. */
  readonly addresses: readonly HostPort[]
  readonly dialer: TargetDialer
  readonly metrics: Pick<TargetMetrics, 'failingApiServers'>
  readonly clock: Clock
  readonly logger: Logger
}

export class ApiServerPool {
  readonly #options: ApiServerPoolOptions
  readonly #clock: Clock
  readonly #members: readonly Member[]
  #lastGood: Member | undefined

  constructor(options: ApiServerPoolOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#members = options.addresses.map((address) => ({
      address,
      text: formatAddress(address),
      failures: 0,
      avoidUntilMs: Number.NEGATIVE_INFINITY,
    }))
  }

  /** Rejects with an `OpenError`, or with the signal's reason. */
  async dial({ deadlineMs, signal }: DialOptions): Promise<Socket> {
    const untilMs = this.#clock.monotonicMs() + deadlineMs
    const order = this.#inOrder()
    if (order.length === 0) throw new OpenError('no-route', 'the hub knows no address of the API server')
    return await inTurn(order, 'the API server cannot be reached', signal, async (member, left) => {
      const limitMs = shareOfTime(untilMs - this.#clock.monotonicMs(), left)
      return await this.#try(member, { deadlineMs: limitMs, signal })
    })
  }

  #inOrder(): Member[] {
    const nowMs = this.#clock.monotonicMs()
    const rank = (member: Member): number => {
      if (member.avoidUntilMs > nowMs) return member.avoidUntilMs - nowMs
      return member === this.#lastGood ? -1 : 0
    }
    return this.#members.toSorted((a, b) => rank(a) - rank(b))
  }

  async #try(member: Member, options: DialOptions): Promise<Socket> {
    try {
      const socket = await this.#options.dialer.dial(member.address, options)
      this.#answered(member)
      return socket
    } catch (error) {
      if (isTelling(error, options)) this.#failed(member, error)
      throw error
    }
  }

  #answered(member: Member): void {
    const { logger, metrics } = this.#options
    this.#lastGood = member
    if (member.failures === 0) return
    logger.info({ address: member.text }, 'the API server answers again')
    metrics.failingApiServers.dec()
    member.failures = 0
    member.avoidUntilMs = Number.NEGATIVE_INFINITY
  }

  #failed(member: Member, error: unknown): void {
    const { logger, metrics } = this.#options
    const nowMs = this.#clock.monotonicMs()
    // Dials that were under way together count once.
    if (member.avoidUntilMs > nowMs) return
    if (this.#lastGood === member) this.#lastGood = undefined
    member.avoidUntilMs =
      nowMs + Math.min(API_SERVER_BACKOFF_MAX_MS, API_SERVER_BACKOFF_FIRST_MS * 2 ** member.failures)
    member.failures += 1
    if (member.failures > 1) return
    logger.warn({ address: member.text, err: error }, 'the API server does not answer')
    metrics.failingApiServers.inc()
  }
}

/** Whoever gives up waiting has learnt nothing about the address, and a hub that is out of sockets only about itself. */
function isTelling(error: unknown, { signal, deadlineMs }: DialOptions): boolean {
  if (signal.aborted || !(error instanceof OpenError) || error.code === 'overloaded') return false
  return error.code !== 'timeout' || deadlineMs >= API_SERVER_TELLING_TIMEOUT_MS
}
