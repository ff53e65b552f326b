/**
 * The HTTPS server at the edge that plays API server: one listener for each address, all with one service behind them. It
 * opens when the node has a serving certificate, stays open whatever the link does, and takes a new certificate without
 * dropping a connection.
 */
import type { Registry } from 'prom-client'
import { Listener, type TlsFiles } from '../../http/server/listener.ts'
import { stalledReaderLog } from '../../http/server/stalled-reader-log.ts'
import { type Certificate, certificatePem } from '../../identity/certificate.ts'
import type { CertificatePair } from '../../identity/pair-file.ts'
import { type ListenAddress, ListenError } from '../../network/listen.ts'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import { HEALTHY, type Health, unhealthy } from '../../telemetry/health.ts'
import { componentLogger, type Logger } from '../../telemetry/logger.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { AcceptedTokens } from './accepted-tokens.ts'
import { CallerLimits } from './caller-limits.ts'
import { ClientCertificates } from './client-certificate.ts'
import { createEndpointMetrics, type EndpointMetrics } from './endpoint-metrics.ts'
import type { AnswerChoice, FilterChoice, Identify } from './forward-exchange.ts'
import { MAX_BODY_MS } from './request-progress.ts'
import { RequestService } from './request-service.ts'

/** An address may come later than we do, or come back; it is tried again this often. */
export const LISTEN_RETRY_MS = 5_000

/** Clients are on this machine: one that answers no ping for a few of these is gone, or does not read what it asked for. */
export const CLIENT_PING_MS = 15_000
/** One for each request that one caller may have under way, and no more: the rest is for others. Programs of the node share one. */
const MAX_CONNECTIONS_PER_ADDRESS = 2_500

export interface EndpointOptions {
  readonly node: string
  readonly addresses: readonly string[]
  /** Addresses of the endpoint that this machine may not have, now or ever: served as soon as it has them, and no illness until then. */
  readonly mayBeMissing?: readonly string[]
  readonly port: number
  /** The serving pair in force; undefined while there is none. */
  readonly certificate: () => CertificatePair | undefined
  /** The node's own Kubernetes client certificate, if it has one yet. */
  readonly nodeCertificate: () => Certificate | undefined
  /** CAs of the cluster; a changed bundle is a new list. */
  readonly kubernetesCas: () => readonly Certificate[]
  readonly upstream: Upstream
  /** Absent: every request goes up. */
  readonly replica?: AnswerChoice | undefined
  readonly identify: Identify
  readonly filters: FilterChoice
  /** Fewer than the default, for tests. */
  readonly maxConnectionsPerAddress?: number
  /** Hears the hash of every token that the API server does not take. */
  readonly onRejected?: (tokenHash: string) => void
  /** Hears of every address that has opened. */
  readonly onOpen?: () => void
  readonly clock: Clock
  readonly logger: Logger
  readonly net: SafetyNet
  readonly registry: Registry
}

export interface EndpointAddressStatus extends ListenAddress {
  readonly isOpen: boolean
  /** Why nobody listens there, where that is so. */
  readonly problem: string | undefined
}

export interface EndpointStatus {
  readonly addresses: readonly EndpointAddressStatus[]
  readonly certificateEnds: string | undefined
  readonly connections: number
  /** Callers with a request under way: the node, tokens, and addresses of those who have proven nothing. */
  readonly clients: number
  readonly requests: { readonly short: number; readonly long: number; readonly upgrade: number }
}

interface Place {
  readonly address: ListenAddress
  listener: Listener | undefined
  running: RunningPart | undefined
  /** Why it is not open. */
  failure: ListenError | undefined
}

export class Endpoint implements Part {
  readonly name = 'endpoint'
  readonly #options: EndpointOptions
  readonly #logger: Logger
  readonly #places: readonly Place[]
  readonly #metrics: EndpointMetrics
  readonly #limits: CallerLimits
  readonly #service: RequestService
  readonly #ended = new AbortController()
  readonly #tellStalled: (unsentBytes: number) => void
  #cancelRetry = (): void => {}
  /** Openings follow one another, so that no address is opened twice. */
  #opening: Promise<void> = Promise.resolve()

  constructor(options: EndpointOptions) {
    const { clock, registry, node } = options
    this.#options = options
    this.#logger = componentLogger(options.logger, 'endpoint')
    this.#places = options.addresses.map((host) => ({
      address: { host, port: options.port },
      listener: undefined,
      running: undefined,
      failure: undefined,
    }))
    this.#tellStalled = stalledReaderLog(this.#logger, clock)
    this.#limits = new CallerLimits(clock)
    this.#metrics = createEndpointMetrics(registry, () => {
      const { short, long, upgrade } = this.#service.inFlight
      return { connections: this.#connections, shortRequests: short, longRequests: long, upgrades: upgrade }
    })
    const certificates = { node, clock, trust: options.kubernetesCas, own: options.nodeCertificate }
    this.#service = new RequestService({
      ...options,
      logger: this.#logger,
      certificates: new ClientCertificates(certificates),
      accepted: new AcceptedTokens(clock),
      limits: this.#limits,
      metrics: this.#metrics,
    })
  }

  health(): Health {
    if (this.#options.certificate() === undefined)
      return unhealthy('the endpoint has no serving certificate yet; its ports are closed')
    const needed = this.#places.filter((place) => !this.#isExcused(place))
    const failure = needed.find((place) => place.failure !== undefined)?.failure
    if (failure !== undefined) return unhealthy(failure.message)
    return needed.every(({ running }) => running !== undefined) ? HEALTHY : unhealthy('the endpoint is opening')
  }

  #isExcused({ address, failure }: Place): boolean {
    const isMissing = missingCodes.has(codeOf(failure) ?? '')
    return isMissing && this.#options.mayBeMissing?.includes(address.host) === true
  }

  get status(): EndpointStatus {
    const endsMs = this.#options.certificate()?.chain[0].notAfterMs
    return {
      addresses: this.#places.map(({ listener, address, failure }) => ({
        ...(listener?.address ?? address),
        isOpen: listener !== undefined,
        problem: failure?.message,
      })),
      certificateEnds: endsMs === undefined ? undefined : new Date(endsMs).toISOString(),
      connections: this.#connections,
      clients: this.#limits.active,
      requests: { ...this.#service.inFlight },
    }
  }

  get #connections(): number {
    return this.#places.reduce((sum, { listener }) => sum + (listener?.connections ?? 0), 0)
  }

  /** A port that another process has is an error now; an address that does not exist yet may come. */
  async start(signal: AbortSignal): Promise<RunningPart> {
    signal.throwIfAborted()
    await this.#open()
    const taken = this.#places.find(({ failure }) => codeOf(failure) === 'EADDRINUSE')
    if (taken?.failure !== undefined) {
      await this.#stop(AbortSignal.abort())
      throw taken.failure
    }
    return { stop: (deadline) => this.#stop(deadline) }
  }

  /** To be called when the serving certificate or the bundle of CAs has changed. */
  certificateChanged(): void {
    const tls = this.#tls()
    if (tls === undefined) return
    for (const { listener } of this.#places) listener?.replaceCertificate(tls)
    void this.#open()
  }

  #tls(): TlsFiles | undefined {
    const pair = this.#options.certificate()
    if (pair === undefined) return undefined
    const clientCas = this.#options.kubernetesCas().map((ca) => certificatePem(ca))
    return { cert: pair.certificatePem, key: pair.keyPem, clientCas }
  }

  /** Opens what is not open. */
  #open(): Promise<void> {
    const before = this.#opening
    const open = async (): Promise<void> => {
      await before
      await this.#openAll()
    }
    this.#opening = open()
    return this.#opening
  }

  async #openAll(): Promise<void> {
    const { signal } = this.#ended
    this.#cancelRetry()
    for (const place of this.#places) {
      const tls = this.#tls()
      if (tls !== undefined && place.running === undefined && !signal.aborted) await this.#try(place, tls)
    }
    if (this.#places.some(({ failure }) => failure !== undefined) && !signal.aborted)
      this.#cancelRetry = this.#options.clock.schedule(LISTEN_RETRY_MS, () => void this.#open())
  }

  async #try(place: Place, tls: TlsFiles): Promise<void> {
    const listener = new Listener({
      address: place.address,
      tls,
      clock: this.#options.clock,
      net: this.#options.net,
      bodyTimeoutMs: MAX_BODY_MS,
      pingMs: CLIENT_PING_MS,
      maxConnectionsPerAddress: this.#options.maxConnectionsPerAddress ?? MAX_CONNECTIONS_PER_ADDRESS,
      handshakeFailed: () => this.#metrics.handshakeFailed(),
      connectionRefused: () => this.#metrics.connectionRefused(),
      readerStalled: (unsentBytes) => {
        this.#metrics.readerStalled()
        this.#tellStalled(unsentBytes)
      },
      serve: (exchange) => this.#service.serve(exchange),
      upgrade: (exchange) => this.#service.upgrade(exchange),
    })
    try {
      place.running = await listener.start(this.#ended.signal)
      place.listener = listener
      place.failure = undefined
      const { host: address, port } = listener.address
      this.#logger.info({ address, port }, 'the endpoint is open')
      this.#options.onOpen?.()
    } catch (error) {
      if (!(error instanceof ListenError)) throw error
      if (place.failure === undefined) this.#logger.warn({ why: error.message }, 'the endpoint is not open there')
      place.failure = error
    }
  }

  async #stop(deadline: AbortSignal): Promise<void> {
    this.#ended.abort(new Error('the endpoint ends'))
    this.#cancelRetry()
    await this.#opening
    const stopped = this.#places.map(async (place) => {
      await place.running?.stop(deadline)
      place.running = undefined
    })
    this.#service.endLong()
    const { upgrade } = this.#service.inFlight
    if (upgrade > 0)
      this.#logger.info(
        { connections: upgrade },
        'waiting for exec, attach and port-forward to end; a second signal does not',
      )
    await Promise.all(stopped)
  }
}

/** How a machine refuses an address it does not have: EAFNOSUPPORT where it has no IPv6 at all. */
const missingCodes: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT'])

function codeOf(failure: ListenError | undefined): string | undefined {
  return (failure?.cause as NodeJS.ErrnoException | undefined)?.code
}
