/** What strangers, and nodes that have been taken over, do to the hub's sessions. Every one of them must fail. */

import { once } from 'node:events'
import type { Socket } from 'node:net'
import { beforeEach, describe, expect, it } from 'vitest'
import { SESSION_RECHECK_MS } from '../../src/hub/sessions/session-limits.ts'
import { API_SERVER_DIALS_BURST_PER_NODE } from '../../src/hub/targets/api-server-shares.ts'
import { encodeOpenHeader } from '../../src/tunnel/prelude/open-header.ts'
import { MAX_FRUITLESS_OPENS_AT_ONCE, MAX_OPENS_PER_SECOND } from '../../src/tunnel/yamux/limits.ts'
import { makeCa } from '../worlds/fake-cluster.ts'
import { type Credential, credentialFor, eventually, join, joined, signingRequest } from '../worlds/hub-world.ts'
import {
  closed,
  type Edge,
  letIn,
  metric,
  SECOND_NAME,
  type SessionWorld,
  startEdge,
  startSessionHub,
  startTarget,
  tunnelSocket,
} from '../worlds/session-world.ts'
import { collectText } from '../worlds/yamux-drivers.ts'
import { dataFrame, naiveFrame, SYN, WINDOW_UPDATE } from '../worlds/yamux-naive.ts'

const hourMs = 60 * 60 * 1000
let world: SessionWorld
let apiServer: string

beforeEach(async () => {
  ;({ address: apiServer } = await startTarget((socket) => void socket.pipe(socket)))
  world = await startSessionHub({ apiServer })
})

async function turnedAway(credential: Credential | undefined, code: string): Promise<void> {
  const edge = await startEdge(world, credential)
  const { answered } = edge.open('kube-apiserver')
  await expect(answered).rejects.toMatchObject({ code: 'no-route' })
  await edge.ended
  expect(edge.driver.rttMs).toBeUndefined()
  expect(world.registry.all).toEqual([])
  expect(await metric(world.hub, 'causeway_hub_sessions_refused_total', { code })).toBe(1)
  expect(await metric(world.hub, 'causeway_hub_target_opens_total')).toBe(0)
}

async function honestEdge(node = 'edge-1'): Promise<Edge> {
  return await letIn(await startEdge(world, await joined(world.hub, node)))
}

/** Whether streams of that edge still get through. */
async function works(edge: Edge): Promise<boolean> {
  const { stream, answered } = edge.open('kube-apiserver')
  await answered
  stream.end('ping')
  return (await collectText(stream)) === 'ping'
}

describe('a session', () => {
  it('without a certificate is turned away before a byte is read', async () => {
    await turnedAway(undefined, 'certificate-missing')
  })

  it('with a certificate of a foreign CA is turned away', async () => {
    const { clock } = world.hub
    const foreign = await makeCa(clock)
    await turnedAway(await credentialFor(foreign, { clock }), 'certificate-invalid')
  })

  it("with another node's name under a key of its own is turned away", async () => {
    const { clock, cluster } = world.hub
    await joined(world.hub, 'edge-1')
    await turnedAway(await credentialFor(cluster.ca, { clock, node: 'edge-1' }), 'certificate-revoked')
  })

  it('with an expired certificate is turned away: renewing is all that is good for', async () => {
    const { clock, cluster } = world.hub
    const nowMs = clock.nowMs()
    const expired = { clock, notBeforeMs: nowMs - 2 * hourMs, notAfterMs: nowMs - 2_000 }
    await turnedAway(await credentialFor(cluster.ca, expired), 'certificate-expired')
  })

  it('with a server certificate of the right CA is turned away', async () => {
    const { clock, cluster } = world.hub
    await turnedAway(
      await credentialFor(cluster.ca, { clock, extendedKeyUsages: ['serverAuth'] }),
      'certificate-invalid',
    )
  })

  it('of a node that was forgotten is turned away', async () => {
    const credential = await joined(world.hub, 'edge-1')
    await world.hub.cluster.claims.forget('edge-1')
    await turnedAway(credential, 'certificate-revoked')
  })

  it('resumed with the ticket of an earlier connection is a full handshake with a full check', async () => {
    const credential = await joined(world.hub, 'edge-1')
    const tickets: Buffer[] = []
    const socket = await tunnelSocket(world.hub, credential)
    socket.on('session', (ticket: Buffer) => tickets.push(ticket))
    await once(socket, 'data')
    const session = tickets.at(-1) ?? socket.getSession()
    const again = await tunnelSocket(world.hub, undefined, { session })
    expect(again.isSessionReused()).toBe(false)
    await closed(again)
    await eventually(async () =>
      expect(await metric(world.hub, 'causeway_hub_sessions_refused_total', { code: 'certificate-missing' })).toBe(1),
    )
  })
})

describe('a hub of two clusters', () => {
  const second = { servername: SECOND_NAME, rejectUnauthorized: false }

  beforeEach(async () => {
    world = await startSessionHub({ apiServer, second: true })
  })

  it('checks a certificate against the CA of the cluster that the name chose, and no other', async () => {
    const ofFirst = await joined(world.hub, 'edge-1')
    const { clock } = world.hub
    const ofSecond = await credentialFor(world.second!.cluster.authority().signing, { clock })
    const edge = await letIn(await startEdge(world, ofSecond, second))
    expect([world.registry.all, world.second!.all.map(({ node }) => node)]).toEqual([[], ['edge-1']])
    const strangers = [await startEdge(world, ofFirst, second), await startEdge(world, ofSecond)]
    await Promise.all(strangers.map(({ ended }) => ended))
    expect([world.registry.all, world.second!.all.length]).toEqual([[], 1])
    const refused = await metric(world.hub, 'causeway_hub_sessions_refused_total', { code: 'certificate-invalid' })
    expect(refused).toBe(2)
    expect(await works(edge)).toBe(true)
  })

  it('does not take the TLS session of one cluster for the other', async () => {
    const socket = await tunnelSocket(world.hub, await joined(world.hub, 'edge-1'))
    await once(socket, 'data')
    const again = await tunnelSocket(world.hub, undefined, { ...second, session: socket.getSession() })
    expect(again.isSessionReused()).toBe(false)
    await closed(again)
    expect(world.second!.all).toEqual([])
  })
})

describe('a live session', () => {
  it('ends with all its streams the moment its node is forgotten', async () => {
    const edge = await honestEdge()
    const { stream, answered } = edge.open('kube-apiserver')
    await answered
    await world.hub.cluster.claims.forget('edge-1')
    world.tellClaim('edge-1')
    await edge.ended
    expect(stream.destroyed).toBe(true)
    expect(world.registry.all).toEqual([])
    expect(await metric(world.hub, 'causeway_hub_sessions_ended_total', { code: 'certificate-revoked' })).toBe(1)
  })

  it('ends soon after that even where the news got lost', async () => {
    const edge = await honestEdge()
    await world.hub.cluster.claims.forget('edge-1')
    await world.hub.clock.advance(SESSION_RECHECK_MS)
    await edge.ended
    expect(world.registry.all).toEqual([])
  })

  it('ends when its key is replaced by a token that names the node', async () => {
    const edge = await honestEdge()
    await world.hub.clock.advance(1)
    const { pem } = await signingRequest('edge-1')
    expect((await join(world.hub, await world.hub.cluster.mint({ node: 'edge-1' }), pem)).status).toBe(200)
    world.tellClaim('edge-1')
    await edge.ended
    expect(await metric(world.hub, 'causeway_hub_sessions_ended_total', { code: 'certificate-revoked' })).toBe(1)
  })

  it('ends when its certificate does', async () => {
    const { clock, cluster } = world.hub
    const notAfterMs = clock.nowMs() + SESSION_RECHECK_MS - 2_000
    const edge = await letIn(await startEdge(world, await credentialFor(cluster.ca, { clock, notAfterMs })))
    await clock.advance(SESSION_RECHECK_MS)
    await edge.ended
    expect(await metric(world.hub, 'causeway_hub_sessions_ended_total', { code: 'certificate-expired' })).toBe(1)
  })

  it('ends when its CA is not trusted any more', async () => {
    const edge = await honestEdge()
    world.hub.cluster.ca = await makeCa(world.hub.clock, 'another')
    await world.hub.clock.advance(SESSION_RECHECK_MS)
    await edge.ended
    expect(await metric(world.hub, 'causeway_hub_sessions_ended_total', { code: 'certificate-invalid' })).toBe(1)
  })
})

describe('a link', () => {
  it('that is half open, so that nothing comes any more, is noticed within 30 s', async () => {
    const socket = await tunnelSocket(world.hub, await joined(world.hub, 'edge-1'))
    await eventually(() => expect(world.registry.all).toHaveLength(1))
    socket.pause()
    await world.hub.clock.advance(30_000)
    await closed(socket)
    expect(world.registry.all).toEqual([])
    expect(await metric(world.hub, 'causeway_hub_sessions_ended_total', { code: 'keepalive-timeout' })).toBe(1)
  })

  it('outlives a clock that jumps by a day, either way', async () => {
    const edge = await honestEdge()
    const { clock } = world.hub
    for (const jumpMs of [24 * hourMs, -48 * hourMs]) {
      clock.jumpTo(clock.nowMs() + jumpMs)
      await clock.advance(SESSION_RECHECK_MS)
      expect(await works(edge)).toBe(true)
    }
  })
})

describe('a stream', () => {
  it('to a target that is not listed is denied, and nothing is connected to', async () => {
    let connections = 0
    const { address } = await startTarget(() => connections++)
    const edge = await honestEdge()
    for (const target of [address, '169.254.169.254:80', 'localhost:22', '[::1]:22', 'hub', 'kube-apiserver@evil:80'])
      await expect(edge.open(target).answered).rejects.toMatchObject({ code: 'denied' })
    expect(connections).toBe(0)
    expect(await works(edge)).toBe(true)
  })

  it('gains nothing by the source it claims', async () => {
    const { address } = await startTarget((socket) => void socket.end('secret'))
    world = await startSessionHub({ apiServer, allow: [`edge-2=${address}`] })
    const edge = await honestEdge('edge-1')
    for (const source of ['system:node:edge-2', 'edge-2', 'system:masters'])
      await expect(edge.open(address, source).answered).rejects.toMatchObject({ code: 'denied' })
    const allowed = await honestEdge('edge-2')
    const { stream } = allowed.open(address)
    expect(await collectText(stream)).toBe('secret')
  })

  it('that is never read costs its own target and nobody else', async () => {
    const chunk = Buffer.alloc(64 * 1024)
    const flood = (socket: Socket): void => {
      while (socket.writable && socket.write(chunk)) {}
      socket.on('drain', () => {
        while (socket.writable && socket.write(chunk)) {}
      })
    }
    const { address } = await startTarget(flood)
    world = await startSessionHub({ apiServer, allow: [address] })
    const edge = await honestEdge()
    const stalled = edge.open(address)
    await stalled.answered
    for (let round = 0; round < 20; round++) expect(await works(edge)).toBe(true)
    expect(edge.driver.bufferedBytes).toBeLessThan(2 * 1024 * 1024)
    expect(await metric(world.hub, 'causeway_hub_session_buffered_bytes')).toBeLessThan(2 * 1024 * 1024)
    stalled.stream.destroy()
    expect(await works(edge)).toBe(true)
  })
})

describe('a flood', () => {
  it('of 100,000 opens ends the session that sends it, and no other', async () => {
    const healthy = await honestEdge('edge-1')
    const socket = await tunnelSocket(world.hub, await joined(world.hub, 'edge-2'))
    await once(socket, 'data')
    const opens = Buffer.alloc(12 * 100_000)
    for (let index = 0; index < 100_000; index++) {
      opens[index * 12 + 1] = 1
      opens[index * 12 + 3] = 1
      opens.writeUInt32BE(index * 2 + 1, index * 12 + 4)
    }
    const cut = closed(socket)
    socket.write(opens)
    await eventually(() => expect(world.registry.of('edge-2')).toBeUndefined())
    await world.hub.clock.advance(2_000)
    await cut
    expect(await metric(world.hub, 'causeway_hub_sessions_ended_total', { code: 'open-flood' })).toBe(1)
    expect(await metric(world.hub, 'causeway_hub_streams_refused_total')).toBeLessThanOrEqual(MAX_OPENS_PER_SECOND)
    expect(await metric(world.hub, 'causeway_hub_target_opens_total')).toBe(0)
    expect(await works(healthy)).toBe(true)
  })

  it.each([
    ['to where the node may not go', () => encodeOpenHeader({ target: '192.0.2.1:22' }), 'lead where it may not go'],
    ['without a readable header', () => Buffer.alloc(40, 0xff), 'do not say in a readable way where they lead'],
  ])('of opens %s ends the session that sends it, and no other', async (_name, header, reason) => {
    const healthy = await honestEdge('edge-1')
    const socket = await tunnelSocket(world.hub, await joined(world.hub, 'edge-2'))
    await once(socket.resume(), 'data')
    const cut = closed(socket)
    for (let id = 1; id < 2 * (MAX_FRUITLESS_OPENS_AT_ONCE + 1_000); id += 2) {
      const frames = [naiveFrame(WINDOW_UPDATE, SYN, id, 0), dataFrame(id, Buffer.from(header()))]
      if (!socket.write(Buffer.concat(frames))) await new Promise((resolve) => setImmediate(resolve))
    }
    await eventually(() => expect(world.registry.of('edge-2')).toBeUndefined())
    await world.hub.clock.advance(2_000)
    await cut
    expect(await metric(world.hub, 'causeway_hub_sessions_ended_total', { code: 'open-flood' })).toBe(1)
    expect(world.hub.log).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        msg: 'session ended',
        reason: expect.stringContaining(reason) as string,
      }),
    )
    expect(await works(healthy)).toBe(true)
  })

  it('of opens over many sessions of a node is refused, not served', async () => {
    world = await startSessionHub({ apiServer, limits: { maxOpensPerSecondPerNode: 5 } })
    const credential = await joined(world.hub, 'edge-1')
    const edges = [await letIn(await startEdge(world, credential)), await letIn(await startEdge(world, credential))]
    const opens = edges.flatMap((edge) => Array.from({ length: 5 }, () => edge.open('kube-apiserver').answered))
    const results = await Promise.allSettled(opens)
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
    expect(await metric(world.hub, 'causeway_hub_session_limits_total', { limit: 'opens-per-node' })).toBe(5)
  })

  it('of connections to the API server over many sessions of a node is refused, and other nodes have theirs', async () => {
    const healthy = await honestEdge('edge-1')
    const credential = await joined(world.hub, 'edge-2')
    const edges = [await letIn(await startEdge(world, credential)), await letIn(await startEdge(world, credential))]
    const refused = new Set<string>()
    const flood = async (edge: Edge): Promise<void> => {
      const { stream, answered } = edge.open('kube-apiserver')
      await answered.catch((error: Error & { code: string }) => refused.add(error.code))
      stream.destroy()
    }
    // Fewer at a time than are refused for that alone.
    for (let left = API_SERVER_DIALS_BURST_PER_NODE + 50; left > 0; left -= 50)
      await Promise.all(Array.from({ length: 25 }, () => edges.map(flood)).flat())
    expect(refused).toEqual(new Set(['overloaded']))
    expect(await metric(world.hub, 'causeway_hub_target_limits_total', { limit: 'apiserver-dials-per-node' })).toBe(50)
    expect(await works(healthy)).toBe(true)
  })

  it('of sessions of one node keeps the newest, drains some, cuts the rest, and leaves others alone', async () => {
    const healthy = await honestEdge('edge-1')
    const credential = await joined(world.hub, 'edge-2')
    const edges: Edge[] = []
    for (let count = 0; count < 12; count++) {
      const edge = await letIn(await startEdge(world, credential))
      // A stream keeps a drained session alive.
      await edge.open('kube-apiserver').answered
      edges.push(edge)
    }
    await Promise.all(edges.slice(0, 4).map(({ ended }) => ended))
    const sessions = world.registry.all.filter(({ node }) => node === 'edge-2')
    expect(sessions.map(({ isGoingAway }) => isGoingAway)).toEqual([true, true, true, true, false, false, false, false])
    expect(await metric(world.hub, 'causeway_hub_session_limits_total', { limit: 'sessions-per-node' })).toBe(8)
    expect(await metric(world.hub, 'causeway_hub_sessions_ended_total', { code: 'draining-per-node' })).toBe(4)
    await eventually(() => expect(edges[7]?.hasGoneAway()).toBe(true))
    expect(await works(healthy)).toBe(true)
  })

  it('of garbage ends the session', async () => {
    const socket = await tunnelSocket(world.hub, await joined(world.hub, 'edge-2'))
    await once(socket, 'data')
    const cut = closed(socket)
    socket.write('GET / HTTP/1.1\r\nHost: hub\r\n\r\n')
    await cut
    expect(await metric(world.hub, 'causeway_hub_sessions_ended_total', { code: 'bad-frame' })).toBe(1)
  })
})
