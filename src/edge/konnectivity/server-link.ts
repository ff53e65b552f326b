/** The edge's call to one konnectivity server: it answers what the server dials. */

import type { SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { type ClientCall, startCall } from '../../tunnel/grpc/client-call.ts'
import { Http2Liveness } from '../../tunnel/grpc/http2-liveness.ts'
import type { Answer } from '../../tunnel/konnectivity/incoming-dials.ts'
import { GrpcPacketPort } from '../../tunnel/konnectivity/packet-port.ts'
import { PacketSession } from '../../tunnel/konnectivity/packet-session.ts'
import { AGENT_PATH, AgentMetadata } from '../../tunnel/konnectivity/service.ts'
import type { Budget } from '../../tunnel/yamux/budget.ts'
import { connectToServer, type ServerSocketOptions } from './server-socket.ts'

/** Stock servers throw out who pings more often than every 30 seconds. */
const SERVER_PING_INTERVAL_MS = 35_000
/** Two pings without an answer. */
const SERVER_DEAD_AFTER_MS = 70_000
/** For a server to say its name once it is connected. */
const SERVER_HEADERS_TIMEOUT_MS = 10_000

export interface ServerLinkOptions extends Omit<ServerSocketOptions, 'signal'> {
  readonly clock: Clock
  readonly net: SafetyNet
  readonly budget: Budget
  readonly logger: Logger
  readonly agentId: string
  /** In the form of a URL query. */
  readonly identifiers: string
  readonly answer: Answer
  readonly onStalled: () => void
}

export interface ServerLinkEvents {
  /** The server takes no new calls on this connection: it is about to go. */
  leaving(): void
  closed(error: Error | undefined): void
}

/** A server that has said its name, and nothing more yet. */
export class GreetedServer {
  readonly serverId: string
  /** How many servers there are, by what this one says. */
  readonly serverCount: number
  readonly #call: ClientCall

  constructor(call: ClientCall) {
    this.#call = call
    this.serverId = onlyValue(call, AgentMetadata.serverId)
    const count = onlyValue(call, AgentMetadata.serverCount)
    if (!/^\d{1,6}$/.test(count)) throw new Error(`the server says there are ${JSON.stringify(count)} servers`)
    this.serverCount = Number(count)
  }

  serve(options: ServerLinkOptions, events: ServerLinkEvents): ServerLink {
    return new ServerLink(this.serverId, this.#call, options, events)
  }

  dismiss(): void {
    this.#call.session.destroy()
  }
}

/** Rejects where no server answers as one. */
export async function greetServer(options: ServerLinkOptions, signal: AbortSignal): Promise<GreetedServer> {
  const { server, clock, agentId, identifiers } = options
  const socket = await connectToServer({ ...options, signal })
  const timeout = new AbortController()
  const cancelTimer = clock.schedule(SERVER_HEADERS_TIMEOUT_MS, () =>
    timeout.abort(new Error(`the server did not say its name within ${SERVER_HEADERS_TIMEOUT_MS} ms`)),
  )
  try {
    const call = await startCall({
      socket,
      scheme: 'https',
      authority: `${server.host.includes(':') ? `[${server.host}]` : server.host}:${server.port}`,
      path: AGENT_PATH,
      metadata: { [AgentMetadata.agentId]: agentId, [AgentMetadata.identifiers]: identifiers },
      signal: AbortSignal.any([signal, timeout.signal]),
    })
    try {
      return new GreetedServer(call)
    } catch (error) {
      call.session.destroy()
      throw error
    }
  } finally {
    cancelTimer()
  }
}

export class ServerLink {
  readonly serverId: string
  readonly #call: ClientCall
  readonly #port: GrpcPacketPort
  readonly #packets: PacketSession
  readonly #liveness: Http2Liveness

  constructor(serverId: string, call: ClientCall, options: ServerLinkOptions, events: ServerLinkEvents) {
    const { clock, net, budget, answer, onStalled } = options
    net.watch(call.session, 'connection')
    net.watch(call.stream, 'stream')
    this.serverId = serverId
    this.#call = call
    this.#port = new GrpcPacketPort(call.stream, clock, {
      receive: (packet) => this.#packets.receive(packet),
      closed: (error) => {
        this.#liveness.stop()
        this.#packets.closed(error)
        call.session.destroy()
        events.closed(error)
      },
    })
    const ids = { first: 1, step: 1 }
    this.#packets = new PacketSession(this.#port, {
      clock,
      net,
      budget,
      answer,
      closesWith: 'close-response',
      ids,
      onStalled,
    })
    this.#liveness = new Http2Liveness(call.session, {
      clock,
      intervalMs: SERVER_PING_INTERVAL_MS,
      deadAfterMs: SERVER_DEAD_AFTER_MS,
      receivedBytes: () => call.session.socket.bytesRead,
      onDead: () => this.#port.abort(new Error('the server does not answer pings')),
    })
    call.session.once('goaway', () => events.leaving())
  }

  get streamCount(): number {
    return this.#packets.streamCount
  }

  /** Asks for no new work; what comes all the same is served. */
  drain(): void {
    this.#packets.drain()
  }

  close(): void {
    this.#port.abort(new Error('the edge is stopping'))
    this.#call.session.close()
  }
}

function onlyValue({ headers }: ClientCall, name: string): string {
  const value = headers[name]
  if (typeof value !== 'string' || value === '' || value.includes(','))
    throw new Error(`the server does not name its ${name} once, so it is no konnectivity server`)
  return value
}
