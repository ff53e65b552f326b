/** What hostile agents, and strangers who say they are agents, do to the hub and to each other. */
import { once } from 'node:events'
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2'
import { Duplex, PassThrough } from 'node:stream'
import * as fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { AgentTokens } from '../../src/hub/konnectivity/agent-tokens.ts'
import { MAX_TOKEN_REVIEWS_IN_FLIGHT } from '../../src/hub/konnectivity/agents.ts'
import { HTTP_TIMES } from '../../src/hub/port/http-settings.ts'
import { MAX_STREAMS_AT_ONCE, MAX_STREAMS_PER_CONNECTION } from '../../src/hub/port/http2.ts'
import { FAILURE_BURST, FAILURES_PER_SECOND } from '../../src/hub/port/overload.ts'
import { MAX_OPENS_PER_SECOND_PER_NODE } from '../../src/hub/sessions/session-limits.ts'
import { DENIAL_LOG_INTERVAL_MS } from '../../src/hub/targets/stream-server.ts'
import { MAX_GRPC_MESSAGE_BYTES, messagePrefix } from '../../src/tunnel/grpc/message-reader.ts'
import { MAX_QUEUED_BYTES_PER_CONNECTION, READER_STALL_LIMIT_MS } from '../../src/tunnel/konnectivity/link-pressure.ts'
import { encodePacket } from '../../src/tunnel/konnectivity/packet.ts'
import { MAX_CONNECTIONS_PER_LINK } from '../../src/tunnel/konnectivity/packet-session.ts'
import { AGENT_PATH } from '../../src/tunnel/konnectivity/service.ts'
import { OpenError } from '../../src/tunnel/open-error.ts'
import { MAX_FRUITLESS_OPENS_AT_ONCE } from '../../src/tunnel/yamux/limits.ts'
import { makeCa } from '../worlds/fake-cluster.ts'
import { credentialFor, eventually, tlsOptions } from '../worlds/hub-world.ts'
import { type AgentHub, connectAgent, factsOf, type HandAgent, startAgentHub } from '../worlds/konnectivity-world.ts'

const options = { address: 'a:1', deadlineMs: 1_000 }

async function agentOf(hub: AgentHub, node: string): Promise<HandAgent> {
  const agent = await connectAgent(hub, await hub.credential(node))
  await eventually(() => expect(hub.agents.of(node)).toBeDefined())
  return agent
}

async function opened(hub: AgentHub, node: string, agent: HandAgent, connectId: number): Promise<Duplex> {
  const before = agent.received.length
  const dialled = hub.agents.of(node)?.dial(options)
  await eventually(() => expect(agent.received.length).toBe(before + 1))
  const request = agent.received.at(-1)
  if (request?.type !== 'dial-request' || dialled === undefined) throw new Error('no dial')
  agent.send({ type: 'dial-response', random: request.random, connectId, error: '' })
  return await dialled
}

/** An agent's connection with small windows and without manners. */
async function rawSession(hub: AgentHub): Promise<ClientHttp2Session> {
  const credential = await hub.credential('edge-evil')
  const session = connectHttp2(`https://127.0.0.1:${hub.port}`, {
    ...tlsOptions(hub, credential),
    ALPNProtocols: ['h2'],
  })
  session.on('error', () => {})
  return session
}

/** Shows that the hub still serves somebody else. */
async function expectServed(hub: AgentHub, node = 'edge-healthy'): Promise<void> {
  const agent = hub.agents.of(node) === undefined ? await agentOf(hub, node) : undefined
  if (agent === undefined) throw new Error(`use a fresh node instead of ${node}`)
  const connection = await opened(hub, node, agent, 1)
  agent.send({ type: 'data', connectId: 1, data: Buffer.from('well') })
  expect(String((await once(connection, 'data'))[0])).toBe('well')
}

describe('who an agent is', () => {
  it('is not what a stranger says: no certificate, one of another CA, one for a server', async () => {
    const hub = await startAgentHub()
    const { clock, cluster } = hub
    await expect(connectAgent(hub, undefined)).rejects.toMatchObject({ code: 16 })
    const foreign = await credentialFor(await makeCa(clock, 'another-ca'), { clock })
    await expect(connectAgent(hub, foreign)).rejects.toMatchObject({ code: 16 })
    const server = await credentialFor(cluster.ca, { clock, extendedKeyUsages: ['serverAuth'] })
    await expect(connectAgent(hub, server)).rejects.toMatchObject({ code: 16 })
    expect(hub.agents.all).toEqual([])
  })

  it('is not what its metadata say: id, identifiers and headers of another node change nothing', async () => {
    const hub = await startAgentHub({ nodeFacts: (node) => factsOf(node, { addresses: [`${node}-address`] }) })
    await connectAgent(hub, await hub.credential('edge-evil'), {
      agentid: 'edge-victim',
      agentidentifiers: 'host=edge-victim&ipv4=10.0.0.1&default-route=true&cidr=0.0.0.0/0',
      'x-remote-user': 'system:node:edge-victim',
      authorization: 'Bearer stolen',
    })
    await eventually(() => expect(hub.agents.of('edge-evil')).toBeDefined())
    expect(hub.agents.of('edge-victim')).toBeUndefined()
    const [route] = hub.agents.all
    if (route === undefined) throw new Error('no agent')
    expect(hub.agents.ownIdentifiers(route)).toEqual([])
  })
})

describe('strangers who try over and over', () => {
  const metadata = { agentid: 'a', agentidentifiers: '' }
  const refusals = (hub: AgentHub): number => hub.log.filter(({ msg }) => msg === 'konnectivity agent refused').length

  /** Calls upon calls, each by itself, on as few connections as may carry them; the last gRPC status. */
  async function knock(hub: AgentHub, times: number, headers: Record<string, string>): Promise<unknown> {
    const { port, caPem: ca } = hub
    const open = (): ClientHttp2Session => {
      const session = connectHttp2(`https://127.0.0.1:${port}`, { ca, ALPNProtocols: ['h2'] })
      session.on('error', () => {})
      onTestFinished(() => session.destroy())
      return session
    }
    let session = open()
    let status: unknown
    for (let count = 1; count <= times; count++) {
      const call = session.request({ ':method': 'POST', ':path': AGENT_PATH, ...metadata, ...headers })
      const [answer] = (await once(call, 'response')) as [Record<string, unknown>]
      status = answer['grpc-status']
      call.close()
      if (count % MAX_STREAMS_AT_ONCE === 0) session = open()
    }
    return status
  }

  it('have no token reviewed once their address has failed too often, while certificates still count', async () => {
    let reviews = 0
    const review = async (): Promise<undefined> => {
      reviews++
      return undefined
    }
    const hub = await startAgentHub({ tokens: new AgentTokens({ allowed: ['a/b'], review }) })
    const status = await knock(hub, FAILURE_BURST + 100, { authorization: 'Bearer guessed' })
    expect(status).toBe('8')
    expect(reviews).toBe(FAILURE_BURST)
    await expectServed(hub)
    await hub.clock.advance(1_000 / FAILURES_PER_SECOND)
    await knock(hub, 5, { authorization: 'Bearer guessed' })
    expect(reviews).toBe(FAILURE_BURST + 1)
  })

  it('have few tokens reviewed at a time, however many calls they make at once', async () => {
    let reviews = 0
    const review = (): Promise<undefined> => {
      reviews++
      return new Promise(() => {})
    }
    const hub = await startAgentHub({ tokens: new AgentTokens({ allowed: ['a/b'], review }) })
    const connections = MAX_TOKEN_REVIEWS_IN_FLIGHT / MAX_STREAMS_PER_CONNECTION + 2
    const pings: Promise<void>[] = []
    for (let index = 0; index < connections; index++) {
      const session = connectHttp2(`https://127.0.0.1:${hub.port}`, { ca: hub.caPem, ALPNProtocols: ['h2'] })
      session.on('error', () => {})
      onTestFinished(() => session.destroy())
      await once(session, 'remoteSettings')
      for (let count = 0; count < MAX_STREAMS_PER_CONNECTION; count++)
        session
          .request({ ':method': 'POST', ':path': AGENT_PATH, ...metadata, authorization: 'Bearer guessed' })
          .on('error', () => {})
      // Answered after what was sent before it.
      pings.push(new Promise((resolve) => session.ping(() => resolve())))
    }
    await Promise.all(pings)
    await eventually(() => expect(reviews).toBe(MAX_TOKEN_REVIEWS_IN_FLIGHT))
    await expectServed(hub)
    expect(reviews).toBe(MAX_TOKEN_REVIEWS_IN_FLIGHT)
  })

  it('have one line of the log in a while, which says where they are', async () => {
    const hub = await startAgentHub()
    await knock(hub, 200, {})
    expect(refusals(hub)).toBe(1)
    expect(hub.log).toContainEqual(expect.objectContaining({ source: '127.0.0.1', code: 'certificate-missing' }))
    await hub.clock.advance(DENIAL_LOG_INTERVAL_MS / 2)
    await knock(hub, 1, {})
    expect(refusals(hub)).toBe(1)
    await hub.clock.advance(DENIAL_LOG_INTERVAL_MS / 2)
    await knock(hub, 1, {})
    expect(refusals(hub)).toBe(2)
    expect(hub.log).toContainEqual(expect.objectContaining({ andOthers: 200 }))
  })

  it('do not keep a connection by a refused call that they never end', async () => {
    const hub = await startAgentHub()
    const { port, caPem: ca } = hub
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca, ALPNProtocols: ['h2'] })
    session.on('error', () => {})
    onTestFinished(() => session.destroy())
    const call = session.request({ ':method': 'POST', ':path': AGENT_PATH, ...metadata }, { endStream: false })
    const closed = once(call, 'close')
    await once(call, 'response')
    call.resume()
    await hub.clock.advance(HTTP_TIMES.lingerMs)
    await closed
    expect(call.rstCode).toBe(constants.NGHTTP2_NO_ERROR)
    const gone = new Promise<void>((resolve) => session.once('close', () => resolve()))
    await eventually(() => expect(hub.clock.nextDueMs).toBeDefined())
    await hub.clock.advance(HTTP_TIMES.headMs)
    await gone
  })
})

describe('an agent that does not keep to the protocol', () => {
  it('ends its own call with whatever bytes it sends, and nobody else notices', async () => {
    const hub = await startAgentHub()
    const healthy = await agentOf(hub, 'edge-healthy')
    const connection = await opened(hub, 'edge-healthy', healthy, 1)
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async (bytes) => {
        const agent = await connectAgent(hub, await hub.credential('edge-evil'))
        agent.call.stream.write(bytes)
        agent.call.stream.end()
        await agent.closed
      }),
      { numRuns: 25 },
    )
    await eventually(() => expect(hub.agents.all.length).toBe(1))
    healthy.send({ type: 'data', connectId: 1, data: Buffer.from('well') })
    expect(String((await once(connection, 'data'))[0])).toBe('well')
  })

  it('is cut off when it announces a message larger than any may be', async () => {
    const hub = await startAgentHub()
    const agent = await agentOf(hub, 'edge-evil')
    const prefix = Buffer.alloc(5)
    prefix.writeUInt32BE(MAX_GRPC_MESSAGE_BYTES + 1, 1)
    agent.call.stream.write(prefix)
    await agent.closed
    await eventually(() => expect(hub.agents.all).toEqual([]))
  })

  it('cannot reach connections of another agent by their numbers', async () => {
    const hub = await startAgentHub()
    const victim = await agentOf(hub, 'edge-victim')
    const connection = await opened(hub, 'edge-victim', victim, 1)
    const evil = await agentOf(hub, 'edge-evil')
    evil.send({ type: 'data', connectId: 1, data: Buffer.from('evil') })
    evil.send({ type: 'close-response', connectId: 1, error: '' })
    await eventually(() => expect(evil.received).toContainEqual({ type: 'close-request', connectId: 1 }))
    victim.send({ type: 'data', connectId: 1, data: Buffer.from('good') })
    expect(String((await once(connection, 'data'))[0])).toBe('good')
  })

  it('cannot answer a dial that was not its own', async () => {
    const hub = await startAgentHub()
    const victim = await agentOf(hub, 'edge-victim')
    const dialled = hub.agents.of('edge-victim')?.dial(options)
    await eventually(() => expect(victim.received.length).toBe(1))
    const [request] = victim.received
    if (request?.type !== 'dial-request') throw new Error('no dial')
    const evil = await agentOf(hub, 'edge-evil')
    evil.send({ type: 'dial-response', random: request.random, connectId: 5, error: '' })
    await eventually(() => expect(evil.received).toEqual([{ type: 'close-request', connectId: 5 }]))
    victim.send({ type: 'dial-response', random: request.random, connectId: 1, error: '' })
    await dialled
  })

  it('has as many dials under way as connections it may have, and no more', async () => {
    let asked = 0
    const hub = await startAgentHub({
      dialTarget: () => {
        asked++
        return new Promise<Duplex>(() => {})
      },
    })
    const agent = await agentOf(hub, 'edge-evil')
    const flood = MAX_CONNECTIONS_PER_LINK + 500
    for (let index = 1; index <= flood; index++)
      agent.send({ type: 'dial-request', protocol: 'tcp', address: 'kube-apiserver:443', random: BigInt(index) })
    await eventually(() => expect(agent.received.length).toBe(500))
    expect(asked).toBe(MAX_CONNECTIONS_PER_LINK)
    expect(agent.received.at(-1)).toMatchObject({ error: expect.stringContaining('too many open files') })
    await expectServed(hub)
  })

  it('dials so many times in a second, and fills no log with what it is refused', async () => {
    let asked = 0
    const hub = await startAgentHub({
      dialTarget: async () => {
        asked++
        throw new OpenError('refused', 'nobody is there')
      },
    })
    const agent = await agentOf(hub, 'edge-evil')
    const flood = MAX_OPENS_PER_SECOND_PER_NODE + 500
    for (let index = 1; index <= flood; index++)
      agent.send({ type: 'dial-request', protocol: 'tcp', address: '10.0.0.1:80', random: BigInt(index) })
    await eventually(() => expect(agent.received.length).toBe(flood))
    expect(asked).toBe(MAX_OPENS_PER_SECOND_PER_NODE)
    expect(hub.log.filter(({ msg }) => msg === 'not connected for an agent').length).toBe(1)
    await expectServed(hub)
  })

  it('is thrown out when it dials without end where it may not go', async () => {
    const hub = await startAgentHub({ dialTarget: () => Promise.reject(new OpenError('denied', 'not a target')) })
    const agent = await agentOf(hub, 'edge-evil')
    for (let index = 1; index <= MAX_FRUITLESS_OPENS_AT_ONCE + 100; index++)
      agent.send({ type: 'dial-request', protocol: 'tcp', address: '169.254.169.254:80', random: BigInt(index) })
    await eventually(() => expect(hub.agents.of('edge-evil')).toBeUndefined())
    expect(hub.log.filter(({ msg }) => msg === 'not connected for an agent').length).toBe(1)
    expect(hub.log).toContainEqual(expect.objectContaining({ level: 'warn', node: 'edge-evil', reason: 'flood' }))
    await expectServed(hub)
  })

  it('is thrown out when it floods the link with data for nobody and never reads the answers', async () => {
    const hub = await startAgentHub()
    const session = await rawSession(hub)
    const call = session.request({ ':method': 'POST', ':path': AGENT_PATH, agentid: 'a' })
    call.on('error', () => {})
    await eventually(() => expect(hub.agents.of('edge-evil')).toBeDefined())
    const packet = Buffer.concat(encodePacket({ type: 'data', connectId: 4_000_000_000, data: Buffer.alloc(0) }))
    const flood = Buffer.concat(Array.from({ length: 2_000 }, () => [messagePrefix(packet.length), packet]).flat())
    const isGone = (): boolean => hub.agents.of('edge-evil') === undefined
    while (!isGone() && call.writable) {
      call.write(flood)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await eventually(() => expect(isGone()).toBe(true))
    await eventually(() => expect(hub.log).toContainEqual(expect.objectContaining({ reason: 'flood' })))
    session.destroy()
    await expectServed(hub)
  })

  it('is cut off when it sends a packet of more fields than any has, before they are read', async () => {
    const hub = await startAgentHub()
    const session = await rawSession(hub)
    const call = session.request({ ':method': 'POST', ':path': AGENT_PATH, agentid: 'a' })
    call.on('error', () => {})
    await eventually(() => expect(hub.agents.of('edge-evil')).toBeDefined())
    const packet = Buffer.alloc(MAX_GRPC_MESSAGE_BYTES - 1, Buffer.from([0x22, 1, 0]))
    call.write(Buffer.concat([messagePrefix(packet.length), packet]))
    await eventually(() => expect(hub.agents.of('edge-evil')).toBeUndefined())
    session.destroy()
    await expectServed(hub)
  })

  it('may not open call upon call on one connection', async () => {
    const hub = await startAgentHub()
    const session = await rawSession(hub)
    for (let count = 0; count < 100; count++)
      session.request({ ':method': 'POST', ':path': AGENT_PATH, agentid: 'a' }).on('error', () => {})
    await eventually(() => expect(hub.agents.all.length).toBeGreaterThan(0))
    expect(hub.agents.all.length).toBeLessThanOrEqual(4)
    session.destroy()
    await eventually(() => expect(hub.agents.all).toEqual([]))
  })
})

describe('a connection that is not read', () => {
  const block = Buffer.alloc(64 * 1024)

  it('is ended, while the others of its agent go on', async () => {
    const hub = await startAgentHub()
    const agent = await agentOf(hub, 'edge-1')
    const stalled = await opened(hub, 'edge-1', agent, 1)
    const healthy = await opened(hub, 'edge-1', agent, 2)
    for (let bytes = 0; bytes <= 2 * MAX_QUEUED_BYTES_PER_CONNECTION; bytes += block.length)
      agent.send({ type: 'data', connectId: 1, data: block })
    agent.send({ type: 'data', connectId: 2, data: Buffer.from('well') })
    await eventually(() => expect(stalled.readableLength).toBeGreaterThan(MAX_QUEUED_BYTES_PER_CONNECTION))
    await hub.clock.advance(READER_STALL_LIMIT_MS)
    expect(stalled.destroyed).toBe(true)
    expect(String((await once(healthy, 'data'))[0])).toBe('well')
    await eventually(() => expect(agent.received).toContainEqual({ type: 'close-request', connectId: 1 }))
  })

  it('is ended likewise if it is a target in the cloud that reads nothing', async () => {
    const target = new Duplex({ read() {}, write() {} })
    const well = new PassThrough()
    const hub = await startAgentHub({ dialTarget: async (_node, name) => (name === 'stuck:1' ? target : well) })
    const agent = await agentOf(hub, 'edge-1')
    agent.send({ type: 'dial-request', protocol: 'tcp', address: 'stuck:1', random: 1n })
    agent.send({ type: 'dial-request', protocol: 'tcp', address: 'well:1', random: 2n })
    await eventually(() => expect(agent.received.length).toBe(2))
    for (let bytes = 0; bytes <= 2 * MAX_QUEUED_BYTES_PER_CONNECTION; bytes += block.length)
      agent.send({ type: 'data', connectId: 3, data: block })
    agent.send({ type: 'data', connectId: 5, data: Buffer.from('well') })
    await eventually(() => expect(hub.clock.nextDueMs).toBeLessThanOrEqual(READER_STALL_LIMIT_MS))
    await hub.clock.advance(READER_STALL_LIMIT_MS)
    expect(target.destroyed).toBe(true)
    await eventually(() =>
      expect(agent.received.at(-1)).toEqual({ type: 'data', connectId: 5, data: Buffer.from('well') }),
    )
  })
})
