import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type Duplex, PassThrough } from 'node:stream'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { makeCa } from '../../../test/worlds/fake-cluster.ts'
import { credentialFor, eventually } from '../../../test/worlds/hub-world.ts'
import {
  type AgentHub,
  connectAgent,
  dialAnything,
  factsOf,
  type HandAgent,
  startAgentHub,
} from '../../../test/worlds/konnectivity-world.ts'
import { validityFromNow } from '../../identity/issue.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import { Refusal } from '../refusal.ts'
import { ROTATED_KEY_GRACE_MS } from '../sessions/session-limits.ts'
import { AGENT_RECHECK_MS } from './agent-rechecks.ts'
import { AGENT_DEAD_AFTER_MS, AGENT_PING_INTERVAL_MS, type AgentRoute } from './agent-route.ts'
import { MAX_AGENTS_PER_NODE } from './agents.ts'

const dialOptions = { address: '127.0.0.1:10250', deadlineMs: 1_000 }

async function oneAgent(hub: AgentHub, node = 'edge-1', agentid = 'agent-1'): Promise<HandAgent> {
  const known = hub.agents.all.length
  const agent = await connectAgent(hub, await hub.credential(node), { agentid, agentidentifiers: '' })
  await eventually(() => expect(hub.agents.all.length).toBe(known + 1))
  return agent
}

function routeOf(hub: AgentHub, node = 'edge-1'): AgentRoute {
  const route = hub.agents.of(node)
  if (route === undefined) throw new Error(`no agent of ${node}`)
  return route
}

/** The holder of the name uses another key from now on. */
async function rotate({ cluster }: AgentHub): Promise<void> {
  const claim = cluster.claims.known('edge-1')
  if (claim?.state !== 'held') throw new Error('nobody holds the name')
  await cluster.claims.byRotation('edge-1', claim.current, 'next-key', 0)
  await cluster.claims.byRotation('edge-1', 'next-key', 'next-key', 0)
}

/** A cable to the hub that can be pulled out: nothing gets through any more, and nobody is told. */
async function startWire(toPort: number): Promise<{ port: number; cut(): void }> {
  const sockets: Socket[] = []
  const server = createServer((near) => {
    const far = connect(toPort, '127.0.0.1')
    sockets.push(near, far)
    near.on('error', () => {})
    far.on('error', () => {})
    near.pipe(far).pipe(near)
  }).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  await once(server, 'listening')
  const cut = (): void => {
    for (const socket of sockets) socket.unpipe().pause()
  }
  return { port: (server.address() as AddressInfo).port, cut }
}

/** Answers the next dial. */
async function accept(agent: HandAgent, connectId: number): Promise<void> {
  await eventually(() => expect(agent.received.at(-1)?.type).toBe('dial-request'))
  const request = agent.received.at(-1)
  if (request?.type === 'dial-request')
    agent.send({ type: 'dial-response', random: request.random, connectId, error: '' })
}

/** Once there and back, behind any ping that is under way: the clock of a test is faster than a real connection. */
async function answersPings(agent: HandAgent, connection: Duplex): Promise<void> {
  const known = agent.received.length
  connection.write('there')
  await eventually(() => expect(agent.received.length).toBe(known + 1))
  const back = once(connection, 'data')
  agent.send({ type: 'data', connectId: 1, data: Buffer.from('back') })
  await back
}

describe('an agent with the certificate of its node', () => {
  it('is told which server this is, and how many there are', async () => {
    const hub = await startAgentHub({ serverCount: () => 3 })
    const { call } = await oneAgent(hub)
    expect(call.headers).toMatchObject({ serverid: 'hub-1', servercount: '3' })
  })

  it('carries connections into its node, both ways', async () => {
    const hub = await startAgentHub()
    const agent = await oneAgent(hub)
    const route = routeOf(hub)
    expect(route).toMatchObject({ node: 'edge-1', kind: 'konnectivity', isGoingAway: false })
    const dialled = route.dial(dialOptions)
    await accept(agent, 1)
    const connection = await dialled
    connection.write('ping')
    await eventually(() =>
      expect(agent.received.at(-1)).toEqual({ type: 'data', connectId: 1, data: Buffer.from('ping') }),
    )
    agent.send({ type: 'data', connectId: 1, data: Buffer.from('pong') })
    expect(String((await once(connection, 'data'))[0])).toBe('pong')
    agent.send({ type: 'close-response', connectId: 1, error: '' })
    await once(connection, 'close')
    expect(route.streamCount).toBe(0)
  })

  it('fails what it carries, and what waits, as soon as it goes', async () => {
    const hub = await startAgentHub()
    const agent = await oneAgent(hub)
    const opened = routeOf(hub).dial(dialOptions)
    await accept(agent, 1)
    const connection = await opened
    const waiting = expect(routeOf(hub).dial(dialOptions)).rejects.toMatchObject({ code: 'no-route' })
    agent.socket.destroy()
    await waiting
    await eventually(() => expect(connection.destroyed).toBe(true))
    expect(hub.agents.all).toEqual([])
  })

  it('is not asked for new work after a drain, unless there is nobody else', async () => {
    const hub = await startAgentHub()
    const old = await oneAgent(hub, 'edge-1', 'old')
    const drained = routeOf(hub)
    old.send({ type: 'drain' })
    await eventually(() => expect(drained.isGoingAway).toBe(true))
    expect(hub.agents.of('edge-1')).toBe(drained)
    await oneAgent(hub, 'edge-1', 'new')
    expect(hub.agents.of('edge-1')?.agentId).toBe('new')
  })

  it('may connect twice under one name: the newer is used, the older keeps what it has', async () => {
    const hub = await startAgentHub()
    const first = await oneAgent(hub)
    const opened = routeOf(hub).dial(dialOptions)
    await accept(first, 1)
    const connection = await opened
    const second = await oneAgent(hub)
    const dialled = routeOf(hub).dial(dialOptions)
    await accept(second, 1)
    await dialled
    first.send({ type: 'data', connectId: 1, data: Buffer.from('still') })
    expect(String((await once(connection, 'data'))[0])).toBe('still')
  })

  it('has a bounded number of connections to the hub; the oldest goes', async () => {
    const hub = await startAgentHub()
    const first = await oneAgent(hub)
    for (let count = 1; count < MAX_AGENTS_PER_NODE; count++) await oneAgent(hub)
    await connectAgent(hub, await hub.credential('edge-1'))
    expect(await first.closed).toMatchObject({ code: 14, message: 'limit' })
    await eventually(() => expect(hub.agents.all.length).toBe(MAX_AGENTS_PER_NODE))
  })

  it('is given up when it answers no pings', async () => {
    const hub = await startAgentHub()
    const wire = await startWire(hub.port)
    await connectAgent({ ...hub, port: wire.port }, await hub.credential('edge-1'))
    await eventually(() => expect(hub.agents.all.length).toBe(1))
    wire.cut()
    await hub.clock.advance(AGENT_DEAD_AFTER_MS + AGENT_PING_INTERVAL_MS)
    await eventually(() => expect(hub.agents.all).toEqual([]))
  })

  it('is ended when its name is taken away', async () => {
    const hub = await startAgentHub()
    const agent = await oneAgent(hub)
    await hub.agents.recheck('edge-1')
    expect(hub.agents.all.length).toBe(1)
    await hub.cluster.claims.forget('edge-1')
    await hub.agents.recheck('edge-1')
    expect(await agent.closed).toMatchObject({ message: 'refused' })
  })

  it('is looked at again every few seconds, should a change have been missed', async () => {
    const hub = await startAgentHub()
    const agent = await oneAgent(hub)
    await hub.clock.advance(AGENT_RECHECK_MS)
    expect(hub.agents.all.length).toBe(1)
    await hub.cluster.claims.forget('edge-1')
    await hub.clock.advance(AGENT_RECHECK_MS)
    expect(await agent.closed).toMatchObject({ message: 'refused' })
  })

  it('goes on for a while after its key was rotated, then gets no more work and keeps what it has', async () => {
    const hub = await startAgentHub()
    const old = await oneAgent(hub, 'edge-1', 'old')
    const route = routeOf(hub)
    const opened = route.dial(dialOptions)
    await accept(old, 1)
    const connection = await opened
    await rotate(hub)
    await hub.agents.recheck('edge-1')
    for (let passedMs = AGENT_RECHECK_MS; passedMs < ROTATED_KEY_GRACE_MS; passedMs += AGENT_RECHECK_MS) {
      await hub.clock.advance(AGENT_RECHECK_MS)
      await answersPings(old, connection)
    }
    expect([hub.agents.of('edge-1'), route.isGoingAway]).toEqual([route, false])
    await hub.clock.advance(2 * AGENT_RECHECK_MS)
    expect(route.isGoingAway).toBe(true)
    await expect(route.dial(dialOptions)).rejects.toMatchObject({
      code: 'no-route',
      message: 'this agent is going away: rotated',
    })
    old.send({ type: 'data', connectId: 1, data: Buffer.from('still') })
    expect(String((await once(connection, 'data'))[0])).toBe('still')
    old.send({ type: 'close-response', connectId: 1, error: '' })
    expect(await old.closed).toMatchObject({ message: 'rotated' })
  })

  it('has nothing connected in the cloud any more once it is drained', async () => {
    const dialTarget = vi.fn(dialAnything)
    const hub = await startAgentHub({ dialTarget: (_node, target, { signal }) => dialTarget(target, signal) })
    const agent = await oneAgent(hub)
    const opened = routeOf(hub).dial(dialOptions)
    await accept(agent, 1)
    await opened
    routeOf(hub).drain('rotated')
    agent.send({ type: 'dial-request', protocol: 'tcp', address: 'kube-apiserver:443', random: 11n })
    await eventually(() => expect(agent.received.at(-1)).toMatchObject({ type: 'dial-response', random: 11n }))
    expect(agent.received.at(-1)).toMatchObject({ error: expect.stringContaining('going away: rotated') })
    expect(dialTarget).not.toHaveBeenCalled()
  })

  it('is ended when its CA is trusted no more', async () => {
    const hub = await startAgentHub()
    const agent = await oneAgent(hub)
    hub.cluster.ca = await makeCa(hub.clock, 'another-ca')
    await hub.clock.advance(AGENT_RECHECK_MS)
    expect(await agent.closed).toMatchObject({ message: 'refused' })
  })

  it('goes on while the cluster cannot be asked', async () => {
    const hub = await startAgentHub()
    await oneAgent(hub)
    const [route] = hub.agents.all
    if (route === undefined) throw new Error('no agent')
    const recheck = vi.spyOn(route.identity, 'recheck').mockRejectedValue(new Refusal('cluster-unavailable', 'later'))
    vi.spyOn(route.identity, 'isDoubtful').mockReturnValue(true)
    await hub.clock.advance(AGENT_RECHECK_MS)
    await hub.clock.advance(AGENT_RECHECK_MS)
    expect(recheck).toHaveBeenCalledTimes(2)
    expect(hub.agents.all).toEqual([route])
  })

  it('is ended when its certificate does', async () => {
    const hub = await startAgentHub()
    const { clock, cluster } = hub
    const lifeMs = AGENT_PING_INTERVAL_MS / 2
    const credential = await credentialFor(cluster.ca, { clock, node: 'edge-1', ...validityFromNow(clock, lifeMs) })
    const agent = await connectAgent(hub, credential)
    await eventually(() => expect(hub.agents.all.length).toBe(1))
    await clock.advance(lifeMs)
    expect(await agent.closed).toMatchObject({ message: 'expired' })
  })

  it('ends by itself when the hub stops and nothing is under way', async () => {
    const hub = await startAgentHub()
    const busy = await oneAgent(hub)
    const opened = routeOf(hub).dial(dialOptions)
    await accept(busy, 1)
    const connection = await opened
    const stopped = hub.running.stop(new AbortController().signal)
    expect(routeOf(hub).isGoingAway).toBe(true)
    connection.end()
    await eventually(() => expect(busy.received.at(-1)?.type).toBe('close-request'))
    busy.send({ type: 'close-response', connectId: 1, error: '' })
    expect(await busy.closed).toMatchObject({ message: 'stopping' })
    busy.socket.destroy()
    await stopped
  })
})

describe('what an agent says of itself', () => {
  it('counts as far as its Node says the same', async () => {
    const facts = factsOf('edge-1', { addresses: ['10.0.0.1'], hostNames: ['edge-1.site'], podCidrs: ['10.1.0.0/24'] })
    const hub = await startAgentHub({ nodeFacts: (node) => (node === 'edge-1' ? facts : undefined) })
    const own = 'host=edge-1&host=EDGE-1.site&ipv4=10.0.0.1&cidr=10.1.0.0/24'
    const foreign = 'host=edge-2&ipv4=10.0.0.2&ipv6=fd00::1&cidr=0.0.0.0/0&default-route=true&uid=x'
    await connectAgent(hub, await hub.credential('edge-1'), { agentid: 'a', agentidentifiers: `${own}&${foreign}` })
    await eventually(() => expect(hub.agents.all.length).toBe(1))
    const identifiers = hub.agents.ownIdentifiers(routeOf(hub)).map(({ kind, value }) => `${kind}=${value}`)
    expect(identifiers.join('&')).toBe(own)
    const { values } =
      (await hub.registry.getSingleMetric('causeway_hub_konnectivity_foreign_identifiers_total')?.get()) ?? {}
    expect(values?.length).toBe(5)
  })

  it.each([
    ['no id', { agentidentifiers: '' }],
    ['an empty id', { agentid: '', agentidentifiers: '' }],
    ['two ids', { agentid: 'a, b', agentidentifiers: '' }],
    ['identifiers without an end', { agentid: 'a', agentidentifiers: 'host=x&'.repeat(1_000) }],
  ])('is refused with %s', async (_what, metadata) => {
    const hub = await startAgentHub()
    await expect(connectAgent(hub, await hub.credential('edge-1'), metadata as never)).rejects.toMatchObject({
      code: 3,
    })
  })
})

describe('what an agent dials', () => {
  it('is reached where the policy of the hub allows it, and told in odd numbers', async () => {
    const echo = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1')
    onTestFinished(() => void echo.close())
    await once(echo, 'listening')
    const { port } = echo.address() as AddressInfo
    const asked: string[] = []
    const hub = await startAgentHub({
      dialTarget: async (node, target, { signal }) => {
        asked.push(`${node} ${target}`)
        if (target !== 'kube-apiserver:443') throw new OpenError('denied', `${target} is not a target of ${node}`)
        return await dialAnything(`127.0.0.1:${port}`, signal)
      },
    })
    const agent = await oneAgent(hub)
    agent.send({ type: 'dial-request', protocol: 'tcp', address: 'kube-apiserver:443', random: 11n })
    await eventually(() =>
      expect(agent.received).toEqual([{ type: 'dial-response', random: 11n, connectId: 3, error: '' }]),
    )
    agent.send({ type: 'data', connectId: 3, data: Buffer.from('hello') })
    await eventually(() =>
      expect(agent.received.at(-1)).toEqual({ type: 'data', connectId: 3, data: Buffer.from('hello') }),
    )
    agent.send({ type: 'close-request', connectId: 3 })
    await eventually(() => expect(agent.received.at(-1)).toEqual({ type: 'close-response', connectId: 3, error: '' }))
    agent.send({ type: 'dial-request', protocol: 'tcp', address: '169.254.169.254:80', random: 12n })
    await eventually(() =>
      expect(agent.received.at(-1)).toMatchObject({
        random: 12n,
        connectId: 0,
        error: expect.stringContaining('denied'),
      }),
    )
    expect(asked).toEqual(['edge-1 kube-apiserver:443', 'edge-1 169.254.169.254:80'])
  })

  it('is told to be closed by a request when the target ends', async () => {
    const target = new PassThrough()
    const hub = await startAgentHub({ dialTarget: async () => target })
    const agent = await oneAgent(hub)
    agent.send({ type: 'dial-request', protocol: 'tcp', address: 'a:1', random: 1n })
    await eventually(() => expect(agent.received.length).toBe(1))
    target.end()
    await eventually(() => expect(agent.received.at(-1)).toEqual({ type: 'close-request', connectId: 3 }))
  })
})
