import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { LinkWorld } from '../../../test/worlds/edge-link-world.ts'
import { loudNet } from '../../../test/worlds/loud-net.ts'
import { collectText, settled } from '../../../test/worlds/yamux-drivers.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import { OPEN_WAIT_MS } from '../link/edge-links.ts'
import type { OpenStream } from './forward.ts'
import { Forward, REFUSED_CONNECTIONS_LOG_BURST } from './forward.ts'
import { createForwardMetrics } from './forward-metrics.ts'
import { Forwards } from './forwards.ts'

let world: LinkWorld

beforeEach(() => {
  world = new LinkWorld()
})

const loopback = '127.0.0.1'

async function startForward(limits: { maxConnections?: number; maxOpens?: number; open?: OpenStream } = {}) {
  const links = world.links()
  const { logger, registry } = world
  const forward = new Forward({
    net: loudNet(),
    target: 'kube-apiserver',
    localPort: 0,
    bindAddress: loopback,
    open: async (header, signal) => await links.open(header, signal),
    clock: world.clock,
    logger,
    metrics: createForwardMetrics(registry),
    ...limits,
  })
  await forward.start()
  const running = await world.started(links)
  onTestFinished(async () => {
    await forward.stop(AbortSignal.abort())
    await running.stop(AbortSignal.abort())
  })
  return { forward, links }
}

function client(forward: Forward): Socket {
  const { host, port } = forward.status.listen
  return connect({ host, port, allowHalfOpen: true })
}

/** How a connection ended: with a reset, or in good order. */
async function endOf(socket: Socket): Promise<string> {
  return await new Promise((resolve) => {
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
    socket.on('end', () => resolve('end'))
    socket.resume()
  })
}

describe('a forward', () => {
  it('carries bytes both ways, each half by itself', async () => {
    const { forward } = await startForward()
    const targets: string[] = []
    world.onOpen = (open) => {
      targets.push(open.header.target)
      const stream = open.accept()
      void collectText(stream).then((question) => stream.end(`answer to ${question}`))
    }
    const socket = client(forward)
    socket.end('question')
    expect(await collectText(socket)).toBe('answer to question')
    expect(targets).toEqual(['kube-apiserver'])
    await expect.poll(() => forward.status).toMatchObject({ connections: 0, lastError: undefined })
    expect(await world.metric('causeway_edge_forward_bytes_total')).toEqual({ up: 8, down: 18 })
    expect(await world.metric('causeway_edge_forward_connections_total')).toEqual({ ok: 1 })
  })

  it('hears a server that speaks first', async () => {
    const { forward } = await startForward()
    world.onOpen = (open) => void open.accept().end('220 ready')
    const socket = client(forward)
    expect(await collectText(socket)).toBe('220 ready')
    socket.end()
  })

  it('resets a client at once while there is no link, tells so once, and works again afterwards', async () => {
    world.outcome = new Error('no way')
    world.roll = 0.999
    const { forward } = await startForward()
    await world.clock.advance(OPEN_WAIT_MS)
    for (let attempt = 0; attempt < 3; attempt++) expect(await endOf(client(forward))).toBe('ECONNRESET')
    const complaints = world.lines.filter(({ msg }) => msg === 'connection refused')
    expect(complaints.map(({ level }) => level)).toEqual(['warn', 'debug', 'debug'])
    expect(complaints[0]).toMatchObject({ code: 'no-route', why: expect.stringContaining('no way') as unknown })
    expect(forward.status.lastError).toContain('https://hub-a has no session since 2026-01-01T00:00:00.000Z')
    world.outcome = undefined
    await world.clock.advance(60_000)
    const socket = client(forward)
    socket.end('hello')
    expect(await collectText(socket)).toBe('hello')
    expect(forward.status.lastError).toBeUndefined()
    expect(await world.metric('causeway_edge_forward_connections_total')).toEqual({ 'no-route': 3, ok: 1 })
  })

  it('resets a client whose target is denied', async () => {
    const { forward } = await startForward()
    world.onOpen = (open) => open.refuse('denied', 'not for you')
    expect(await endOf(client(forward))).toBe('ECONNRESET')
    await expect.poll(() => forward.status.lastError).toBe('not for you')
  })

  it('resets a client whose session dies', async () => {
    const { forward } = await startForward()
    const socket = client(forward)
    socket.write('x')
    await once(socket, 'data')
    const ended = endOf(socket)
    world.sessions[0]!.near.destroy()
    expect(await ended).toBe('ECONNRESET')
  })

  it('gives up the open of a client that goes', async () => {
    let signal: AbortSignal | undefined
    const { forward } = await startForward({
      open: async (_, given) => {
        signal = given
        return await new Promise((_resolve, reject) =>
          given.addEventListener('abort', () => reject(given.reason as Error)),
        )
      },
    })
    const socket = client(forward)
    await expect.poll(() => signal).toBeDefined()
    socket.resetAndDestroy()
    await expect.poll(() => signal?.aborted).toBe(true)
    await expect.poll(() => forward.status.connections).toBe(0)
  })

  it('fills no log with problems that take turns', async () => {
    let asked = 0
    const open = (): Promise<never> => Promise.reject(new OpenError('refused', `problem ${asked++}`))
    const { forward } = await startForward({ open })
    for (let count = 0; count < REFUSED_CONNECTIONS_LOG_BURST + 10; count++) await endOf(client(forward))
    const told = world.lines.filter(({ msg, level }) => msg === 'connection refused' && level === 'warn')
    expect(told).toHaveLength(REFUSED_CONNECTIONS_LOG_BURST)
  })

  it('takes no more connections than its limits', async () => {
    const { forward } = await startForward({ maxConnections: 2, maxOpens: 1 })
    const opens: (() => void)[] = []
    world.onOpen = (open) => opens.push(() => open.accept())
    const first = client(forward)
    await expect.poll(() => opens).toHaveLength(1)
    expect(await endOf(client(forward))).toBe('ECONNRESET')
    expect(forward.status.lastError).toBe('1 connections wait for an answer; more are not taken')
    opens[0]?.()
    await expect.poll(() => world.metric('causeway_edge_forward_connections_total')).toEqual({ limit: 1, ok: 1 })
    const second = client(forward)
    await expect.poll(() => opens).toHaveLength(2)
    opens[1]?.()
    await expect.poll(() => forward.status.connections).toBe(2)
    expect(await endOf(client(forward))).toBe('ECONNRESET')
    expect(forward.status.lastError).toBe('2 connections are open; more are not taken')
    for (const socket of [first, second]) socket.destroy()
  })
})

describe('forwards', () => {
  it('listen all or not at all, and stop when their connections have ended', async () => {
    const links = world.links()
    const { logger, registry } = world
    const taken = new Forwards({
      net: loudNet(),
      forwards: [{ target: 'a:1', localPort: 0 }],
      bindAddress: loopback,
      open: async (header, signal) => await links.open(header, signal),
      clock: world.clock,
      logger,
      registry,
    })
    const running = await taken.start()
    const { port } = taken.status[0]!.listen
    registry.clear()
    const forwards = [
      { target: 'a:1', localPort: 0 },
      { target: 'b:1', localPort: port },
    ]
    const both = new Forwards({
      net: loudNet(),
      forwards,
      bindAddress: loopback,
      open: async () => await Promise.reject(new Error('no')),
      clock: world.clock,
      logger,
      registry,
    })
    await expect(both.start()).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: another process already listens there`,
    )
    const linksRunning = await world.started(links)
    const socket = connect(port, loopback)
    socket.write('x')
    await once(socket, 'data')
    const stopped = running.stop(new AbortController().signal)
    socket.end('y')
    expect(await collectText(socket)).toBe('y')
    await stopped
    await linksRunning.stop(AbortSignal.abort())
    await settled()
  })
})
