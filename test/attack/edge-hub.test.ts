/** What a hub that has been taken over, or a network that plays dead, does to an edge. None of it must get anywhere. */
import { Registry } from 'prom-client'
import { beforeEach, describe, expect, it } from 'vitest'
import { DestinationDialer } from '../../src/edge/destinations/destination-dialer.ts'
import { createDestinationMetrics } from '../../src/edge/destinations/destination-metrics.ts'
import { DestinationPolicy } from '../../src/edge/destinations/destination-policy.ts'
import { parseDestinationRules } from '../../src/edge/destinations/destination-rule.ts'
import {
  MAX_DESTINATION_DIALS,
  RESERVED_KUBELET_DIALS,
  StreamServer,
} from '../../src/edge/destinations/stream-server.ts'
import { OPEN_WAIT_MS } from '../../src/edge/link/edge-links.ts'
import { OPEN_HEADER_TIMEOUT_MS, REFUSAL_LINGER_MS } from '../../src/tunnel/incoming.ts'
import { openTarget } from '../../src/tunnel/outgoing.ts'
import { MAX_OPENS_PER_SECOND } from '../../src/tunnel/yamux/limits.ts'
import { LinkWorld } from '../worlds/edge-link-world.ts'
import { settled } from '../worlds/yamux-drivers.ts'

const noTime = AbortSignal.abort()
let world: LinkWorld
/** Every address somebody tried to connect to, and every name that was asked for. */
let touched: string[]
let streams: StreamServer

beforeEach(() => {
  world = new LinkWorld()
  touched = []
})

/** An edge whose network answers nobody, and tells on whoever uses it. */
async function start(...rules: string[]) {
  const { clock, logger } = world
  const network = {
    resolve: async (name: string) => {
      touched.push(name)
      return ['169.254.169.254', '127.0.0.1']
    },
    connect: async (ip: string, port: number, signal: AbortSignal) => {
      touched.push(`${ip}:${port}`)
      return await new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error))
      })
    },
  }
  streams = new StreamServer({
    policy: new DestinationPolicy({
      node: 'edge-1',
      rules: parseDestinationRules(rules),
      ownAddresses: () => ['127.0.0.1', '10.0.0.1'],
    }),
    dialer: new DestinationDialer(network, clock),
    clock,
    logger,
    metrics: createDestinationMetrics(new Registry()),
  })
  const links = world.links(['hub-a'], { serve: (stream) => streams.serve(stream) })
  const running = await world.started(links)
  const hub = world.sessions[0]!.driver
  return { links, running, hub, ask: async (target: string) => await openTarget(hub, { target }, clock).answered }
}

describe('a hub asks for a destination that nobody allowed:', () => {
  it.each([
    ['the ssh server of the node', '127.0.0.1:22'],
    ['the ssh server by name', 'edge-1:22'],
    ['the metadata service of the cloud', '169.254.169.254:80'],
    ['the metadata service as IPv4 in IPv6', '[::ffff:169.254.169.254]:80'],
    ['a unix socket', 'unix:/run/containerd/containerd.sock'],
    ['a unix socket as a path', '/run/containerd/containerd.sock'],
    ['the kubelet of another node', '10.0.0.2:10250'],
    ['the read-only port of the kubelet', '127.0.0.1:10255'],
    ['loopback in octal', '0177.0.0.1:22'],
    ['loopback as one number', '2130706433:22'],
    ['loopback, shortened', '127.1:22'],
    ['any address', '0.0.0.0:10250'],
    ['a link-local address with a zone', '[fe80::1%eth0]:10250'],
    ['a target of the hub', 'kube-apiserver'],
    ['two ports', 'edge-1:10250:10250'],
    ['an empty host', ':10250'],
  ])('%s', async (_, target) => {
    const { running, ask } = await start()
    await expect(ask(target)).rejects.toMatchObject({ code: 'denied' })
    expect(touched).toEqual([])
    await running.stop(noTime)
  })

  it('a name that is allowed and leads to the metadata service', async () => {
    const { running, ask } = await start('db.example:80', '0.0.0.0/0:*')
    await expect(ask('db.example:80')).rejects.toMatchObject({ code: 'denied' })
    await expect(ask('169.254.169.254:80')).rejects.toMatchObject({ code: 'denied' })
    expect(touched).toEqual(['db.example'])
    await running.stop(noTime)
  })
})

describe('a hub floods the edge', () => {
  it('with opens: a few connections are made, and the rest is refused', async () => {
    const { running, hub, ask } = await start('10.9.9.9:*')
    const answers: string[] = []
    const shared = MAX_DESTINATION_DIALS - RESERVED_KUBELET_DIALS
    for (let count = 0; count < shared + 50; count++) {
      ask('10.9.9.9:80').catch((error: { code: string }) => answers.push(error.code))
    }
    await settled()
    expect(touched).toHaveLength(shared)
    expect(answers).toEqual(Array.from({ length: 50 }, () => 'overloaded'))
    expect(hub.error).toBeUndefined()
    await running.stop(noTime)
  })

  it('with opens that never say where to', async () => {
    const { links, running, hub } = await start()
    for (let count = 0; count < 100; count++) {
      const stream = hub.open().on('error', () => {})
      stream.write(Buffer.from([1]))
    }
    await settled()
    await world.clock.advance(OPEN_HEADER_TIMEOUT_MS)
    await world.clock.advance(REFUSAL_LINGER_MS)
    await settled()
    expect(links.status[0]).toMatchObject({ state: 'up', streams: 0 })
    expect(touched).toEqual([])
    await running.stop(noTime)
  })

  it('faster than any hub may: only that session ends, and the edge comes back', async () => {
    const { links, running } = await start()
    world.sessions[0]!.far.send(Array.from({ length: 3 * MAX_OPENS_PER_SECOND }, (_, n) => openFrame(2 * n + 2)))
    await settled()
    expect(await endCode()).toMatch(/^(open|control)-flood$/)
    await world.clock.advance(1_000)
    await settled()
    expect(links.status[0]?.state).toBe('up')
    await running.stop(noTime)
  })
})

async function endCode(): Promise<string | undefined> {
  return Object.keys(await world.metric('causeway_edge_session_ends_total'))[0]
}

/** A first frame of a stream, by hand: the library would not send so many. */
function openFrame(id: number): Buffer {
  const frame = Buffer.alloc(12)
  frame[1] = 1
  frame.writeUInt16BE(1, 2)
  frame.writeUInt32BE(id, 4)
  return frame
}

describe('a link that is half open', () => {
  it('is noticed within 30 s, and streams are refused at once from then on', async () => {
    const { links, running } = await start()
    await world.clock.advance(60_000)
    const [session] = world.sessions
    session!.near.isHeld = true
    session!.far.isHeld = true
    world.outcome = new Error('no way to the hub')
    world.roll = 0.999
    const { answered } = await links.open({ target: 'kube-apiserver', deadlineMs: 600_000 })
    const ended = expect(answered).rejects.toMatchObject({ code: 'no-route' })
    await world.clock.advance(30_000)
    await ended
    expect(await endCode()).toBe('keepalive-timeout')
    await world.clock.advance(OPEN_WAIT_MS)
    await expect(links.open({ target: 'kube-apiserver' })).rejects.toMatchObject({ code: 'no-route' })
    await running.stop(noTime)
  })
})

describe('a clock that jumps', () => {
  it.each([
    ['a year ahead', 365 * 86_400_000],
    ['a year back', -365 * 86_400_000],
  ])('%s ends no session and starts no storm of attempts', async (_, byMs) => {
    const { links, running } = await start()
    for (let jump = 0; jump < 20; jump++) {
      world.clock.jumpTo(world.clock.nowMs() + byMs)
      await world.clock.advance(10_000)
    }
    expect(world.dials).toHaveLength(1)
    expect(links.status[0]?.state).toBe('up')
    await running.stop(noTime)
  })
})
