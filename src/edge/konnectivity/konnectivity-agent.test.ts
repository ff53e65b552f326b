import { once } from 'node:events'
import { createSecureServer, type Http2SecureServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Registry } from 'prom-client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeCa } from '../../../test/worlds/fake-cluster.ts'
import { credentialFor, eventually, serverIdentity } from '../../../test/worlds/hub-world.ts'
import { loudNet } from '../../../test/worlds/loud-net.ts'
import { certificatePem } from '../../identity/certificate.ts'
import { ManualClock, systemClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import type { Packet } from '../../tunnel/konnectivity/packet.ts'
import { GrpcPacketPort } from '../../tunnel/konnectivity/packet-port.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import { Budget } from '../../tunnel/yamux/budget.ts'
import { KonnectivityAgent, MAX_KONNECTIVITY_SERVERS } from './konnectivity-agent.ts'
import { createKonnectivityMetrics } from './metrics.ts'

/** Servers behind one address: each new call is answered by the next name. */
class Servers {
  readonly calls: { name: string; headers: Record<string, unknown>; received: Packet[]; port: GrpcPacketPort }[] = []
  readonly #names: readonly string[]
  readonly #count: string
  #next = 0

  constructor(names: readonly string[], count: string) {
    this.#names = names
    this.#count = count
  }

  serve(server: Http2SecureServer): void {
    server.on('stream', (stream: ServerHttp2Stream, headers) => {
      const name = this.#names[this.#next++ % this.#names.length] ?? ''
      const metadata = name === '' ? {} : { serverid: name, servercount: this.#count }
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...metadata }, { waitForTrailers: true })
      const received: Packet[] = []
      const port = new GrpcPacketPort(stream, systemClock, {
        receive: (packet) => received.push(packet),
        closed: () => {},
      })
      this.calls.push({ name, headers, received, port })
    })
  }
}

async function world(names: readonly string[], count = String(names.length)) {
  const clock = new ManualClock(Date.now())
  const ca = await makeCa(clock)
  const identity = await serverIdentity(ca, clock)
  const caPem = certificatePem(ca.certificate)
  const own = { cert: identity.certificatePem, key: identity.privateKeyPem }
  const server = createSecureServer({ ...own, ca: caPem, requestCert: true, rejectUnauthorized: true })
  const sessions = new Set<{ destroy(): void }>()
  server.on('session', (session) => {
    sessions.add(session)
    session.on('error', () => {})
  })
  const servers = new Servers(names, count)
  servers.serve(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { cert, key } = await credentialFor(ca, { clock })
  const registry = new Registry()
  const agent = new KonnectivityAgent({
    server: { host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    tls: () => ({ certificatePem: cert, privateKeyPem: key, caPem }),
    agentId: 'edge-1',
    identifiers: 'host=edge-1',
    clock,
    net: loudNet(),
    budget: new Budget(),
    logger: createLogger({ level: 'fatal', format: 'json', clock, destination: { write: () => {} } }),
    metrics: createKonnectivityMetrics(registry),
    random: () => 0,
    dial: (address) => Promise.reject(new OpenError('denied', `${address} is not a destination of this edge`)),
  })
  const running = await agent.start(new AbortController().signal)
  onTestFinished(async () => {
    for (const session of sessions) session.destroy()
    server.close()
    await running.stop(AbortSignal.abort())
  })
  const attempts = async (): Promise<number> => {
    const { values } = (await registry.getSingleMetric('causeway_edge_konnectivity_connects_total')?.get()) ?? {
      values: [],
    }
    return values.reduce((sum, { value }) => sum + value, 0)
  }
  /** Lets the next attempt begin, once the one before has come to its end. */
  const next = async (): Promise<void> => {
    const before = await attempts()
    await eventually(() => expect(clock.nextDueMs).toBeLessThanOrEqual(10_000))
    await clock.advance(1_000)
    await eventually(async () => expect(await attempts()).toBe(before + 1))
  }
  return { clock, agent, running, servers, sessions, next, attempts }
}

describe('the edge as an agent', () => {
  it('says who it is, and answers what is dialled by its own policy', async () => {
    const { agent, servers } = await world(['a'])
    await eventually(() => expect(agent.connectedServers).toBe(1))
    const [call] = servers.calls
    expect(call?.headers).toMatchObject({ agentid: 'edge-1', agentidentifiers: 'host=edge-1', te: 'trailers' })
    call?.port.send({ type: 'dial-request', protocol: 'tcp', address: '10.0.0.1:22', random: 5n })
    const error = 'dial tcp 10.0.0.1:22: denied: 10.0.0.1:22 is not a destination of this edge'
    await eventually(() => expect(call?.received).toEqual([{ type: 'dial-response', random: 5n, connectId: 0, error }]))
  })

  it('connects until it has met every server, and lets go of those it knows', async () => {
    const { agent, servers, next, attempts, clock } = await world(['a', 'a', 'b', 'a', 'c'], '3')
    await eventually(() => expect(agent.connectedServers).toBe(1))
    await next()
    expect(agent.connectedServers).toBe(1)
    await next()
    expect(agent.connectedServers).toBe(2)
    await next()
    await next()
    expect([agent.connectedServers, servers.calls.length]).toEqual([3, 5])
    await clock.advance(5_000)
    expect(await attempts()).toBe(5)
  })

  it('has no more links than a control plane has servers, whatever these say', async () => {
    const names = Array.from({ length: MAX_KONNECTIVITY_SERVERS + 1 }, (_, index) => `made-up-${index}`)
    const { agent, servers, next, clock } = await world(names, '999999')
    await eventually(() => expect(agent.connectedServers).toBe(1))
    for (let count = 1; count < MAX_KONNECTIVITY_SERVERS; count++) await next()
    expect(agent.connectedServers).toBe(MAX_KONNECTIVITY_SERVERS)
    await clock.advance(60_000)
    expect(servers.calls).toHaveLength(MAX_KONNECTIVITY_SERVERS)
  })

  it('comes back to a server that it lost', async () => {
    const { agent, sessions, next } = await world(['a'])
    await eventually(() => expect(agent.connectedServers).toBe(1))
    for (const session of sessions) session.destroy()
    await eventually(() => expect(agent.connectedServers).toBe(0))
    await next()
    expect(agent.connectedServers).toBe(1)
  })

  it.each([
    ['no name', [''], '1'],
    ['two names', ['a, b'], '1'],
    ['no number', ['a'], 'many'],
  ])('keeps away from a server with %s', async (_what, names, count) => {
    const { agent, attempts } = await world(names, count)
    await eventually(async () => expect(await attempts()).toBe(1))
    expect(agent.connectedServers).toBe(0)
  })

  it('tells the servers that it goes, and leaves when nothing is under way', async () => {
    const { agent, running, servers } = await world(['a'])
    await eventually(() => expect(agent.connectedServers).toBe(1))
    agent.drain()
    await eventually(() => expect(servers.calls[0]?.received).toEqual([{ type: 'drain' }]))
    await running.stop(new AbortController().signal)
    await eventually(() => expect(agent.connectedServers).toBe(0))
  })
})
