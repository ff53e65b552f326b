/** Hubs in memory for the tests of links: every dial ends in a session of the test, or as the test says. */
import { Registry } from 'prom-client'
import { EdgeLinks, type EdgeLinksOptions } from '../../src/edge/link/edge-links.ts'
import type { DialSession } from '../../src/edge/link/session-attempt.ts'
import type { RunningPart } from '../../src/process/lifecycle.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createLogger, type Logger } from '../../src/telemetry/logger.ts'
import { type IncomingOpen, receiveOpen } from '../../src/tunnel/incoming.ts'
import { SessionDriver } from '../../src/tunnel/session-driver.ts'
import type { TunnelStream } from '../../src/tunnel/tunnel-stream.ts'
import { Budget } from '../../src/tunnel/yamux/budget.ts'
import type { SessionError } from '../../src/tunnel/yamux/errors.ts'
import { loudNet } from './loud-net.ts'
import { settled } from './yamux-drivers.ts'
import { type MemoryCarrier, memoryCarriers } from './yamux-wire-carrier.ts'

/** The hub's end of one session. */
export interface HubSession {
  readonly hub: string
  readonly driver: SessionDriver
  readonly near: MemoryCarrier
  readonly far: MemoryCarrier
  ended: SessionError | undefined
}

export class LinkWorld {
  readonly clock = new ManualClock()
  readonly registry = new Registry()
  readonly lines: Record<string, unknown>[] = []
  readonly logger: Logger
  readonly sessions: HubSession[] = []
  /** The dials that were made, by hub. */
  readonly dials: string[] = []
  /** Streams that hubs opened. */
  readonly served: TunnelStream[] = []
  roll = 0
  /** What becomes of the next dials instead of a session; `hang` never ends, `mute` is a hub that never answers. */
  outcome: Error | 'hang' | 'mute' | undefined
  onOpen: (open: IncomingOpen, session: HubSession) => void = (open) => {
    const stream = open.accept()
    stream.pipe(stream)
  }

  constructor() {
    const destination = { write: (line: string) => this.lines.push(JSON.parse(line) as Record<string, unknown>) }
    this.logger = createLogger({ level: 'debug', format: 'json', destination, clock: this.clock })
  }

  readonly dial: DialSession = async (hub, signal) => {
    this.dials.push(hub.host)
    const { outcome } = this
    if (outcome instanceof Error) throw outcome
    if (outcome === 'hang')
      return await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    const [near, far] = memoryCarriers()
    if (outcome !== 'mute') this.#accept(hub.host, near, far)
    return near
  }

  links(hubs: readonly string[] = ['hub-a'], options: Partial<EdgeLinksOptions> = {}): EdgeLinks {
    const { clock, registry, logger, dial } = this
    return new EdgeLinks({
      net: loudNet(),
      hubs: hubs.map((hub) => new URL(`https://${hub}`)),
      dial,
      clock,
      registry,
      logger,
      random: () => this.roll,
      serve: (stream) => void this.served.push(stream.on('error', () => {})),
      ...options,
    })
  }

  async started(links: EdgeLinks): Promise<RunningPart> {
    const running = await links.start()
    await settled()
    return running
  }

  /** Messages that were logged. */
  get messages(): unknown[] {
    return this.lines.map(({ msg }) => msg)
  }

  async metric(name: string): Promise<Record<string, number>> {
    const { values } = (await this.registry.getSingleMetric(name)?.get()) ?? { values: [] }
    return Object.fromEntries(values.map(({ labels, value }) => [Object.values(labels).join(' '), value]))
  }

  #accept(hub: string, near: MemoryCarrier, far: MemoryCarrier): void {
    const { clock } = this
    const driver = new SessionDriver({
      net: loudNet(),
      role: 'server',
      carrier: far,
      clock,
      budget: new Budget(),
      handler: {
        onStream: (stream) => receiveOpen(stream, clock, (open) => this.onOpen(open, session)),
        onEnd: (error) => {
          session.ended = error
        },
      },
    })
    const session: HubSession = { hub, driver, near, far, ended: undefined }
    this.sessions.push(session)
  }
}
