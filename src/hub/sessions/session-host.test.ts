import { describe, expect, it } from 'vitest'
import { eventually, joined } from '../../../test/worlds/hub-world.ts'
import {
  closed,
  letIn,
  metric,
  type SessionWorld,
  startEdge,
  startSessionHub,
  startTarget,
  tunnelSocket,
} from '../../../test/worlds/session-world.ts'
import { collectText } from '../../../test/worlds/yamux-drivers.ts'
import { receiveOpen } from '../../tunnel/incoming.ts'
import { Refusal } from '../refusal.ts'
import { CHECK_IN_TIMEOUT_MS } from './session-limits.ts'

async function edgeOf(world: SessionWorld, node = 'edge-1') {
  return await letIn(await startEdge(world, await joined(world.hub, node)))
}

describe('a session over TLS', () => {
  it('leads from the edge to the API server, each direction ending by itself', async () => {
    const { address } = await startTarget((socket) => {
      void collectText(socket).then((text) => socket.end(`heard ${text}`))
    })
    const world = await startSessionHub({ apiServer: address })
    const edge = await edgeOf(world)
    const { stream, answered } = edge.open('kube-apiserver')
    stream.end('hello')
    expect(await answered).toMatchObject({ code: 'ok' })
    expect(await collectText(stream)).toBe('heard hello')
    await eventually(() => expect(world.registry.all[0]?.streamCount).toBe(0))
    expect(await metric(world.hub, 'causeway_hub_target_opens_total', { target: 'api-server', code: 'ok' })).toBe(1)
  })

  it('shows no byte of a target that speaks first before the answer', async () => {
    const { address } = await startTarget((socket) => void socket.write('first'))
    const world = await startSessionHub({ apiServer: address })
    const edge = await edgeOf(world)
    const events: string[] = []
    const { stream, answered } = edge.open('kube-apiserver')
    stream.on('data', (data: Buffer) => events.push(data.toString()))
    await answered.then(() => events.push('answer'))
    await eventually(() => expect(events).toEqual(['answer', 'first']))
    stream.destroy()
  })

  it('says why a target was not reached', async () => {
    const world = await startSessionHub({ apiServer: '127.0.0.1:1' })
    const edge = await edgeOf(world)
    await expect(edge.open('kube-apiserver').answered).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining('127.0.0.1: connection refused'),
    })
    await expect(edge.open('other.invalid:80').answered).rejects.toMatchObject({
      code: 'denied',
      message: expect.stringContaining('node edge-1 may not open other.invalid:80'),
    })
    expect(world.hub.log.filter(({ msg }) => msg === 'target denied')).toHaveLength(1)
  })

  it('is a route into the node', async () => {
    const world = await startSessionHub()
    const edge = await edgeOf(world)
    const route = world.registry.of('edge-1')
    expect(route).toMatchObject({ node: 'edge-1', kind: 'session', isGoingAway: false, streamCount: 0 })
    expect(route?.description).toMatch(/^tls 127\.0\.0\.1:\d+$/)
    expect(world.registry.of('edge-2')).toBeUndefined()
    const dialled = route?.dial({ address: '127.0.0.1:10250', deadlineMs: 5_000, source: 'kube-apiserver' })
    await eventually(() => expect(edge.incoming).toHaveLength(1))
    receiveOpen(edge.incoming[0]!, world.hub.clock, (open) => {
      expect(open.header).toMatchObject({ target: '127.0.0.1:10250', source: 'kube-apiserver', deadlineMs: 5_000 })
      open.accept().end('kubelet')
    })
    const stream = await dialled!
    expect(await collectText(stream)).toBe('kubelet')
    stream.end()
  })

  it('ends in good order when the edge leaves', async () => {
    const world = await startSessionHub()
    const edge = await edgeOf(world)
    edge.driver.goAway(0)
    await eventually(() => expect(world.registry.all).toEqual([]))
    expect(await metric(world.hub, 'causeway_hub_sessions')).toBe(0)
    expect(await metric(world.hub, 'causeway_hub_sessions_ended_total')).toBe(1)
  })
})

describe('a hub', () => {
  it('that has as many sessions as it may turns further ones away', async () => {
    const world = await startSessionHub({ maxSessions: 1 })
    await edgeOf(world, 'edge-1')
    const refused = await startEdge(world, await joined(world.hub, 'edge-2'))
    await refused.ended
    expect(world.registry.all.map(({ node }) => node)).toEqual(['edge-1'])
    expect(await metric(world.hub, 'causeway_hub_session_limits_total', { limit: 'sessions' })).toBe(1)
    expect(await metric(world.hub, 'causeway_hub_sessions_refused_total', { code: 'overloaded' })).toBe(1)
  })

  it('that stops says so, finishes the streams it has, and takes no new ones', async () => {
    const { address } = await startTarget((socket) => void socket.pipe(socket))
    const world = await startSessionHub({ apiServer: address })
    const edge = await edgeOf(world)
    const { stream, answered } = edge.open('kube-apiserver')
    await answered
    const stopped = world.hub.running.stop(new AbortController().signal)
    await eventually(() => expect(edge.hasGoneAway()).toBe(true))
    expect(world.registry.of('edge-1')).toBeUndefined()
    expect(() => edge.open('kube-apiserver')).toThrow(expect.objectContaining({ code: 'no-route' }))
    stream.end('still here')
    expect(await collectText(stream)).toBe('still here')
    await stopped
    expect(await metric(world.hub, 'causeway_hub_sessions_ended_total', { code: 'hub-stopping' })).toBe(1)
  })

  it('that stops at once cuts what is left', async () => {
    const { address } = await startTarget(() => {})
    const world = await startSessionHub({ apiServer: address })
    const edge = await edgeOf(world)
    await edge.open('kube-apiserver').answered
    await world.hub.running.stop(AbortSignal.abort())
    await edge.ended
    await eventually(() => expect(world.registry.all).toEqual([]))
  })

  it('does not wait for ever for the cluster to say who comes', async () => {
    const world = await startSessionHub()
    const credential = await joined(world.hub, 'edge-1')
    world.hub.cluster.claims.byCertificate = () => new Promise(() => {})
    const socket = await tunnelSocket(world.hub, credential)
    const cut = closed(socket)
    await eventually(() => expect(world.hub.clock.nextDueMs).toBeLessThanOrEqual(CHECK_IN_TIMEOUT_MS))
    await eventually(() => expect(world.hub.clock.pending).toBe(2))
    await world.hub.clock.advance(CHECK_IN_TIMEOUT_MS)
    await cut
  })

  it('keeps a session whose certificate it cannot ask about, unless it has reason to doubt it', async () => {
    const world = await startSessionHub()
    await edgeOf(world)
    world.hub.cluster.claims.byCertificate = () => Promise.reject(new Refusal('cluster-unavailable', 'away'))
    world.tellClaim('edge-1')
    await world.hub.clock.advance(5_000)
    expect(world.registry.of('edge-1')).toBeDefined()
  })
})
