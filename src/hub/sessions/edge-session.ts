/** One session of an edge, and so a way into its node. It knows whose it is, and why it ended. */
import type { Duplex } from 'node:stream'
import type { SafetyNet } from '../../process/safety-net.ts'
import type { HubRefusalCode } from '../../protocol/refusals.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Carrier } from '../../tunnel/carrier.ts'
import { OpenError, openErrorFrom } from '../../tunnel/open-error.ts'
import { openTarget } from '../../tunnel/outgoing.ts'
import { SessionDriver } from '../../tunnel/session-driver.ts'
import type { TunnelStream } from '../../tunnel/tunnel-stream.ts'
import type { Budget } from '../../tunnel/yamux/budget.ts'
import type { SessionErrorCode } from '../../tunnel/yamux/errors.ts'
import type { SessionCounters } from '../../tunnel/yamux/session-options.ts'
import type { EdgePeer } from '../port/peer-check.ts'
import type { NodeRoute, RouteDialOptions } from '../routing/node-route.ts'
import type { SessionMetrics } from './metrics.ts'
import type { SessionLimit } from './session-limits.ts'
import type { SessionProof } from './standing.ts'

/** Why a session is over, for logs and metrics. */
export type EndCode = SessionErrorCode | HubRefusalCode | SessionLimit | 'rotated' | 'hub-stopping'

export interface EdgeSessionOptions {
  readonly peer: EdgePeer
  readonly carrier: Carrier
  readonly clock: Clock
  readonly net: SafetyNet
  readonly budget: Budget
  readonly metrics: SessionMetrics
  /** Looks at the certificate again as at the begin; rejects with a `Refusal`. */
  readonly recheck: () => Promise<unknown>
  readonly onStream: (stream: TunnelStream) => void
  /** What speaks against one more stream into the node, if anything does. */
  readonly overload: () => string | undefined
  readonly onEnd: (code: EndCode, message: string) => void
}

export class EdgeSession implements NodeRoute {
  readonly kind = 'session'
  readonly node: string
  readonly sinceMs: number
  readonly proof: SessionProof
  readonly #options: EdgeSessionOptions
  readonly #driver: SessionDriver
  #endCode: EndCode | undefined
  /** Since when, on the monotonic clock, another key of the same holder is in use. */
  supersededMs: number | undefined

  constructor(options: EdgeSessionOptions) {
    const { peer, carrier, clock, net, budget, metrics } = options
    const { node, key, certificate, claim } = peer
    this.#options = options
    this.node = node
    this.sinceMs = clock.nowMs()
    this.proof = { node, key, claim, notBeforeMs: certificate.notBeforeMs, notAfterMs: certificate.notAfterMs }
    const handler = {
      onStream: (stream: TunnelStream) => options.onStream(stream),
      onRoundTrip: (rttMs: number) => metrics.rtt.observe(rttMs / 1000),
      onEnd: (error: { code: SessionErrorCode; message: string }) => this.#onEnd(error.code, error.message),
    }
    this.#driver = new SessionDriver({ role: 'server', carrier, clock, net, budget, handler })
    metrics.began(this)
  }

  get rttMs(): number | undefined {
    return this.#driver.rttMs
  }

  get streamCount(): number {
    return this.#driver.streamCount
  }

  get description(): string {
    return this.#driver.description
  }

  get isGoingAway(): boolean {
    return this.#driver.isGoingAway
  }

  get counters(): SessionCounters {
    return this.#driver.counters
  }

  recheck(): Promise<unknown> {
    return this.#options.recheck()
  }

  async dial(options: RouteDialOptions): Promise<Duplex> {
    const { metrics } = this.#options
    try {
      const stream = await this.#dial(options)
      metrics.dials.inc({ code: 'ok' })
      return stream
    } catch (error) {
      const failure = openErrorFrom(error)
      metrics.dials.inc({ code: failure.code })
      throw failure
    }
  }

  /** Takes no new streams and ends once those it has are done, or after `drainMs`. The first code given is kept. */
  drain(code: EndCode, drainMs: number): void {
    this.#endCode ??= code
    this.#driver.goAway(drainMs)
  }

  /** Ends it and all its streams now. */
  end(code: EndCode): void {
    this.#endCode = code
    this.#driver.close()
  }

  async #dial({ address, deadlineMs, source, signal }: RouteDialOptions): Promise<Duplex> {
    const overload = this.#options.overload()
    if (overload !== undefined) throw new OpenError('overloaded', overload)
    const giveUp = (): void => void stream.destroy(new OpenError('refused', `nobody waits for ${address} any more`))
    const header = { target: address, deadlineMs, source }
    const { stream, answered } = openTarget(this.#driver, header, this.#options.clock)
    if (signal?.aborted === true) giveUp()
    signal?.addEventListener('abort', giveUp, { once: true })
    try {
      await answered
      return stream
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }

  #onEnd(code: SessionErrorCode, message: string): void {
    const endCode = code === 'closed' ? (this.#endCode ?? code) : code
    this.#options.metrics.over(this, endCode)
    this.#options.onEnd(endCode, message)
  }
}
