/** A CONNECT front on a unix socket or on loopback, far ends that a test plays, and clients that speak byte by byte. */
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { connect as connectTcp, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { onTestFinished, vi } from 'vitest'
import { ConnectFront, type ConnectFrontOptions } from '../../src/hub/fronts/connect-front.ts'
import type { FrontHandler } from '../../src/hub/fronts/front-client.ts'
import { type FrontAddress, FrontListener } from '../../src/hub/fronts/front-listener.ts'
import { createFrontMetrics } from '../../src/hub/fronts/metrics.ts'
import type { RouteDialer } from '../../src/hub/routing/route-dialer.ts'
import type { RunningPart } from '../../src/process/lifecycle.ts'
import type { SafetyNet } from '../../src/process/safety-net.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createLogger, type Logger } from '../../src/telemetry/logger.ts'
import { removeFolder } from '../remove-folder.ts'
import { loudNet } from './loud-net.ts'

export const CONNECT_EDGE = 'CONNECT edge-1:10250 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'
export const ESTABLISHED = 'HTTP/1.1 200 Connection Established\r\n\r\n'

export interface FrontWorldOptions extends Pick<ConnectFrontOptions, 'maxPendingDials'> {
  readonly dial: RouteDialer['dial']
  /** Instead of one into which nothing may fall. */
  readonly net?: (logger: Logger, registry: Registry) => SafetyNet
  readonly handler?: FrontHandler
  readonly maxConnections?: number
  readonly maxStrangers?: number
  /** A unix socket unless given. */
  readonly address?: FrontAddress
}

export interface FrontWorld {
  readonly clock: ManualClock
  readonly path: string
  readonly listener: FrontListener
  readonly running: RunningPart
  readonly log: readonly Record<string, unknown>[]
  /** The sum of a metric over the values whose labels hold `labels`. */
  count(name: string, labels?: Record<string, string>): Promise<number>
  dial(): Promise<FrontTestClient>
}

/** Stopped by itself at the end of the test. */
export async function startFront(options: FrontWorldOptions): Promise<FrontWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-front-'))
  const path = join(folder, 'front.sock')
  const clock = new ManualClock(Date.now())
  const log: Record<string, unknown>[] = []
  const write = (line: string) => log.push(JSON.parse(line) as Record<string, unknown>)
  const logger = createLogger({ level: 'debug', format: 'json', clock, destination: { write } })
  const registry = new Registry()
  const metrics = createFrontMetrics(registry)
  const { dial, maxPendingDials, maxConnections, maxStrangers, address = { kind: 'unix', path } as const } = options
  const front = new ConnectFront({
    dialer: { dial },
    clock,
    metrics,
    logger,
    ...(maxPendingDials === undefined ? {} : { maxPendingDials }),
  })
  const listener = new FrontListener({
    net: options.net?.(logger, registry) ?? loudNet(),
    front: ConnectFront.label,
    address,
    handler: options.handler ?? ((socket, client) => front.serve(socket, client)),
    clock,
    metrics,
    logger,
    ...(maxConnections === undefined ? {} : { maxConnections }),
    ...(maxStrangers === undefined ? {} : { maxStrangers }),
  })
  const running = await listener.start(new AbortController().signal, (cause) => {
    throw cause
  })
  onTestFinished(async () => {
    await running.stop(AbortSignal.abort())
    removeFolder(folder)
  })
  const count = async (name: string, labels: Record<string, string> = {}): Promise<number> => {
    const { values = [] } = (await registry.getSingleMetric(name)?.get()) ?? {}
    const matching = values.filter((each) =>
      Object.entries(labels).every(([label, value]) => each.labels[label] === value),
    )
    return matching.reduce((sum, { value }) => sum + value, 0)
  }
  return { clock, path, listener, running, log, count, dial: () => clientOf(connectTcp({ path, allowHalfOpen: true })) }
}

/** Everything a client has received, and how it ended. */
export class FrontTestClient {
  readonly socket: Socket
  readonly #received: Buffer[] = []
  hasEnded = false

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => this.#received.push(chunk))
    socket.on('end', () => {
      this.hasEnded = true
    })
    socket.on('error', () => {})
  }

  get received(): string {
    return Buffer.concat(this.#received).toString('latin1')
  }

  /** What each read brought. */
  get reads(): string[] {
    return this.#received.map((chunk) => chunk.toString('latin1'))
  }
}

async function clientOf(socket: Socket): Promise<FrontTestClient> {
  const client = new FrontTestClient(socket)
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return client
}

/** A TCP server that a test plays: `accepted` resolves with each connection in turn. */
export interface FarEnd {
  readonly port: number
  accepted(): Promise<Socket>
  /** A connection to it, as a route would bring. */
  connect(): Promise<Socket>
}

export async function startFarEnd(greeting?: string): Promise<FarEnd> {
  const waiting: Socket[] = []
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {})
    if (greeting !== undefined) socket.write(greeting)
    waiting.push(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of waiting) socket.destroy()
    server.close()
  })
  const { port } = server.address() as { port: number }
  let taken = 0
  return {
    port,
    accepted: async () => {
      const index = taken++
      await eventually(() => {
        if (waiting[index] === undefined) throw new Error('nobody has connected')
      })
      return waiting[index] as Socket
    },
    connect: async () => {
      const socket = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true })
      await once(socket, 'connect')
      return socket
    },
  }
}

/** Waits until the check holds, however busy the machine is. */
export async function eventually(check: () => void | Promise<void>): Promise<void> {
  await vi.waitFor(check, { timeout: 30_000, interval: 5 })
}
