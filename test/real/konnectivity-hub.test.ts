/** The stock agent and the stock clients at our hub. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { READER_STALL_LIMIT_MS } from '../../src/tunnel/konnectivity/link-pressure.ts'
import { OpenError } from '../../src/tunnel/open-error.ts'
import { makeCa } from '../worlds/fake-cluster.ts'
import { credentialFor, eventually } from '../worlds/hub-world.ts'
import { startGrpcFront } from '../worlds/konnectivity-front.ts'
import { type AgentHub, dialAnything, factsOf, startAgentHub } from '../worlds/konnectivity-world.ts'
import { describeReal } from './harness.ts'
import {
  missingKonnectivity,
  runTestClient,
  startBulkServer,
  startStockAgent,
  startTestServer,
} from './konnectivity-peers.ts'

async function hubWithAgent(flags: readonly string[] = []): Promise<AgentHub> {
  const facts = factsOf('edge-1', { addresses: ['10.0.0.1'] })
  const hub = await startAgentHub({ nodeFacts: () => facts })
  await startStockAgent({ ...hub, pair: await hub.credential('edge-1'), flags })
  await eventually(() => expect(hub.agents.of('edge-1')).toBeDefined())
  return hub
}

function dial(hub: AgentHub, port: number): Promise<Duplex> {
  const route = hub.agents.of('edge-1')
  if (route === undefined) throw new Error('no agent')
  return route.dial({ address: `127.0.0.1:${port}`, deadlineMs })
}

/** Of a hub whose clock stands still. */
const deadlineMs = 60_000
const get = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

function suite(): void {
  it('takes the stock agent by the certificate of its node, and what it claims only as far as it is that Node', async () => {
    const claims = 'host=edge-1&host=edge-2&ipv4=10.0.0.1&ipv4=10.0.0.2&default-route=true'
    const hub = await hubWithAgent([`--agent-identifiers=${claims}`, '--agent-id=stock'])
    const route = hub.agents.of('edge-1')
    if (route === undefined) throw new Error('no agent')
    expect(route.agentId).toBe('stock')
    expect(hub.agents.ownIdentifiers(route).map(({ value }) => value)).toEqual(['edge-1', '10.0.0.1'])
  })

  it('refuses the stock agent with the certificate of a stranger', async () => {
    const hub = await startAgentHub()
    const pair = await credentialFor(await makeCa(hub.clock, 'another-ca'), { clock: hub.clock })
    await startStockAgent({ ...hub, pair })
    // Go does not even show a certificate of a CA that the hub does not ask for.
    await eventually(() => expect(hub.log).toContainEqual(expect.objectContaining({ code: 'certificate-missing' })))
    expect(hub.agents.all).toEqual([])
  })

  it('reaches through the stock agent what its node reaches, whole', async () => {
    const hub = await hubWithAgent()
    const body = Buffer.alloc(20 * 1024 * 1024, 'causeway')
    const connection = await dial(hub, await startBulkServer(body))
    connection.write(get)
    const answer = await buffer(connection)
    expect(answer.subarray(-body.length).equals(body)).toBe(true)
  })

  it('tells what the stock agent could not reach', async () => {
    const hub = await hubWithAgent()
    await expect(dial(hub, 1)).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining('connection refused'),
    })
    const route = hub.agents.of('edge-1')
    await expect(route?.dial({ address: 'no.such.host.invalid:1', deadlineMs })).rejects.toBeInstanceOf(OpenError)
  })

  it('uploads 8 MiB through the stock agent in order', async () => {
    const hub = await hubWithAgent()
    const received: Buffer[] = []
    const sink = createServer((socket) => socket.on('data', (chunk) => received.push(chunk))).listen(0, '127.0.0.1')
    onTestFinished(() => void sink.close())
    await once(sink, 'listening')
    const body = Buffer.alloc(8 * 1024 * 1024, 'upward')
    const connection = await dial(hub, (sink.address() as AddressInfo).port)
    connection.write(body)
    // Not ended before all has come: the stock agent throws away what it has not written when it is told to close.
    const bytes = (): number => received.reduce((sum, { length }) => sum + length, 0)
    await eventually(() => expect(bytes()).toBe(body.length))
    connection.end()
    expect(Buffer.concat(received).equals(body)).toBe(true)
  })

  it('serves the others while one reader stops', async () => {
    const hub = await hubWithAgent()
    const bulk = await startBulkServer(Buffer.alloc(64 * 1024 * 1024))
    const small = await startTestServer()
    const stalled = await dial(hub, bulk)
    stalled.write(get)
    await eventually(() => expect(stalled.readableLength).toBeGreaterThan(4 * 1024 * 1024))
    await hub.clock.advance(READER_STALL_LIMIT_MS)
    expect(stalled.destroyed).toBe(true)
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const connection = await dial(hub, small)
        connection.write(get.replace('/', '/success'))
        return await text(connection)
      }),
    )
    expect(answers.every((answer) => answer.includes('200 OK'))).toBe(true)
  })

  it('hears the drain of the stock agent, which goes on to serve', async () => {
    const facts = factsOf('edge-1')
    const hub = await startAgentHub({ nodeFacts: () => facts })
    const agent = await startStockAgent({ ...hub, pair: await hub.credential('edge-1') })
    await eventually(() => expect(hub.agents.of('edge-1')).toBeDefined())
    process.kill(agent.pid ?? 0, 'SIGTERM')
    const port = await startTestServer()
    await eventually(async () => {
      // The agent of v0.36 says so when a packet comes after the signal.
      ;(await dial(hub, port)).destroy()
      expect(hub.agents.of('edge-1')?.isGoingAway).toBe(true)
    })
    const connection = await dial(hub, port)
    connection.write(get.replace('/', '/success'))
    expect(await text(connection)).toContain('200 OK')
  })

  it('notices that the stock agent was killed, and takes its successor', async () => {
    const hub = await startAgentHub()
    const pair = await hub.credential('edge-1')
    const agent = await startStockAgent({ ...hub, pair, flags: ['--agent-id=first'] })
    await eventually(() => expect(hub.agents.of('edge-1')?.agentId).toBe('first'))
    await agent.kill()
    await eventually(() => expect(hub.agents.all).toEqual([]))
    await startStockAgent({ ...hub, pair, flags: ['--agent-id=second'] })
    await eventually(() => expect(hub.agents.of('edge-1')?.agentId).toBe('second'))
  })

  it('serves the stock client through front, hub and stock agent', async () => {
    const hub = await hubWithAgent()
    const socket = await startGrpcFront((_host, port) => dial(hub, port))
    const { ok, output } = await runTestClient(socket, await startTestServer(), 'grpc', ['--test-requests=25'])
    expect([ok, ok ? '' : output]).toEqual([true, ''])
  })

  it('tells the stock client why a destination cannot be had', async () => {
    const direct = await startGrpcFront((host, port) => dialAnything(`${host}:${port}`))
    const refused = await runTestClient(direct, 1, 'grpc')
    expect([refused.ok, refused.output]).toEqual([false, expect.stringContaining('connection refused')])
    const away = await startGrpcFront(() => Promise.reject(new OpenError('no-route', 'node edge-1 is not connected')))
    expect((await runTestClient(away, 1, 'grpc')).output).toContain('no-route: node edge-1 is not connected')
  })
}

describeReal('stock konnectivity at our hub', suite, [], missingKonnectivity())
