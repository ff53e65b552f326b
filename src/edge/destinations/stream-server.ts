/**
 * Serves the streams that hubs open: the header names a destination, the policy decides, this node connects, answers, and joins
 * the two. No byte of the destination goes out before the answer, and each direction ends by itself.
 */
import type { Socket } from 'node:net'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { type IncomingOpen, receiveOpen } from '../../tunnel/incoming.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import { relay } from '../../tunnel/relay.ts'
import type { TunnelStream } from '../../tunnel/tunnel-stream.ts'
import type { DestinationDialer } from './destination-dialer.ts'
import type { DestinationMetrics } from './destination-metrics.ts'
import type { DestinationPolicy } from './destination-policy.ts'

/** Streams from all hubs at a time; each has a socket of this node. */
const MAX_DESTINATION_STREAMS = 4_096
/** Streams from hubs that only the kubelet gets: `kubectl logs` and `exec` work while something else takes all it can. */
const RESERVED_KUBELET_STREAMS = 512
/** Connections that are being made at a time: what a busy `kubectl` fleet needs, and little for a table of sockets. */
export const MAX_DESTINATION_DIALS = 256
/** Connections in the making that only the kubelet gets: addresses that swallow packets bind the others for as long as hubs wait. */
export const RESERVED_KUBELET_DIALS = 64
/** One line about denied destinations in this time: a hub that asks without end must not fill the log. */
export const DENIAL_LOG_INTERVAL_MS = 10_000

export interface StreamServerOptions {
  readonly policy: DestinationPolicy
  readonly dialer: DestinationDialer
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: DestinationMetrics
  readonly maxStreams?: number
  readonly reservedStreams?: number
  readonly maxDials?: number
  readonly reservedDials?: number
}

export interface DestinationRequest {
  /** `host:port`. */
  readonly target: string
  readonly deadlineMs: number | undefined
  /** Aborts when nobody wants it any more. */
  readonly signal: AbortSignal
}

export class StreamServer {
  readonly #options: StreamServerOptions
  #streams = 0
  #dials = 0
  #denied = { unlogged: 0, loggedMs: Number.NEGATIVE_INFINITY }

  constructor(options: StreamServerOptions) {
    this.#options = options
  }

  get streamCount(): number {
    return this.#streams
  }

  serve(stream: TunnelStream): void {
    receiveOpen(stream, this.#options.clock, (open) => {
      // Costs next to nothing: a hub that was taken over may ask without end.
      const decision = this.#options.policy.decide(open.header.target)
      if (decision.kind === 'denied') this.#deny(open, decision.text)
      else void this.#answer(open)
    })
  }

  async #answer(open: IncomingOpen): Promise<void> {
    const { metrics } = this.#options
    this.#streams += 1
    metrics.opened()
    try {
      const gone = new AbortController()
      open.onGone(() => gone.abort(new OpenError('refused', 'the opener has gone')))
      const { target, deadlineMs } = open.header
      const socket = await this.connect({ target, deadlineMs, signal: gone.signal })
      // Also where the opener has just gone: the join sees to it that the socket goes too.
      await relay(open.accept(), socket)
    } catch (error) {
      if (!open.isGone) this.#refuse(open, error)
    } finally {
      this.#streams -= 1
      metrics.closed()
    }
  }

  /** A connection to where somebody in the cloud wants to go, if the policy allows it; rejects with an `OpenError`. */
  async connect({ target, deadlineMs, signal }: DestinationRequest): Promise<Socket> {
    const { policy, metrics } = this.#options
    const decision = policy.decide(target)
    const destination = decision.kind === 'denied' ? 'none' : decision.kind
    try {
      if (decision.kind === 'denied') throw new OpenError('denied', decision.text)
      const socket = await this.#dial({ allowed: decision, deadlineMs, signal })
      metrics.answered(destination, 'ok')
      return socket
    } catch (error) {
      metrics.answered(destination, error instanceof OpenError ? error.code : 'failed')
      throw error
    }
  }

  async #dial(request: Parameters<DestinationDialer['dial']>[0]): Promise<Socket> {
    const { maxStreams, maxDials } = this.#limitsFor(request.allowed.kind)
    if (this.#streams > maxStreams) throw new OpenError('overloaded', `${maxStreams} streams from hubs are open here`)
    if (this.#dials >= maxDials)
      throw new OpenError('overloaded', `${maxDials} connections are being made here already`)
    this.#dials += 1
    try {
      return await this.#options.dialer.dial(request)
    } finally {
      this.#dials -= 1
    }
  }

  #limitsFor(kind: 'kubelet' | 'address'): { readonly maxStreams: number; readonly maxDials: number } {
    const { maxStreams = MAX_DESTINATION_STREAMS, maxDials = MAX_DESTINATION_DIALS } = this.#options
    if (kind === 'kubelet') return { maxStreams, maxDials }
    const { reservedStreams = RESERVED_KUBELET_STREAMS, reservedDials = RESERVED_KUBELET_DIALS } = this.#options
    return { maxStreams: maxStreams - reservedStreams, maxDials: maxDials - reservedDials }
  }

  #refuse(open: IncomingOpen, error: unknown): void {
    if (error instanceof OpenError) {
      if (error.code === 'denied') this.#logDenial(open)
      open.refuse(error.code, error.message)
      return
    }
    this.#options.logger.error({ err: error }, 'a stream could not be served')
    open.refuse('refused', 'the edge failed; its log says why')
  }

  #deny(open: IncomingOpen, text: string): void {
    this.#options.metrics.answered('none', 'denied')
    this.#logDenial(open)
    open.refuse('denied', text)
  }

  #logDenial({ header: { target, source } }: IncomingOpen): void {
    const { clock, logger } = this.#options
    const nowMs = clock.monotonicMs()
    if (nowMs - this.#denied.loggedMs < DENIAL_LOG_INTERVAL_MS) {
      this.#denied.unlogged += 1
      return
    }
    logger.warn({ target, claimedSource: source, andOthers: this.#denied.unlogged }, 'destination denied')
    this.#denied = { unlogged: 0, loggedMs: nowMs }
  }
}
