/** The tunnel from outside: hubs and edges as processes, a client on a local port, and links that fail in every way. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { configMaps } from '../../src/kube/index.ts'
import { lastingPort } from '../lasting-port.ts'
import { clockShiftedBy, endAll, patience } from './harness.ts'
import type { RunningHub } from './hub-cluster.ts'
import { linesOf, TunnelWorld, Wire } from './tunnel-world.ts'

// Most of them wait for a link to be given up: together they take no longer than one.
vi.setConfig({ maxConcurrency: 10 })

/** A dead link is noticed after three silent intervals of ten seconds, and then a session is made anew. */
const deadLinkPatience = { timeout: 180_000, interval: 500 }

const hourMs = 3_600_000

let world: TunnelWorld
let hub: RunningHub
const wires: Wire[] = []

beforeAll(async () => {
  world = await TunnelWorld.start()
  hub = await world.cluster.hub('hub')
})
afterAll(async () => {
  for (const wire of wires) wire.stop()
  await world.cluster.close()
  await endAll()
})

async function works(port: number, limits = patience): Promise<void> {
  await world.works(port, limits)
}

/** Waits until the links of an edge are in these states. */
async function linked(dataDir: string, ...states: readonly string[]): Promise<void> {
  await vi.waitFor(async () => expect((await world.links(dataDir)).map(({ state }) => state)).toEqual(states), patience)
}

async function addConfigMap(name: string): Promise<void> {
  await world.cluster.client.resource(configMaps).in('default').create({ metadata: { name } })
}

/** Asks again and again, so many times side by side, each time over a connection of its own. */
class Asking {
  answers = 0
  readonly #failures: unknown[] = []
  readonly #askers: Promise<void>[]
  #isOver = false

  constructor(port: number, askers: number) {
    this.#askers = Array.from({ length: askers }, () => this.#ask(port))
  }

  async #ask(port: number): Promise<void> {
    while (!this.#isOver) {
      try {
        await world.ask(port)
        this.answers += 1
      } catch (error) {
        this.#failures.push(error)
      }
    }
  }

  /** What went wrong. */
  async stop(): Promise<readonly unknown[]> {
    this.#isOver = true
    await Promise.all(this.#askers)
    return this.#failures
  }
}

async function stopped({ process }: { process: RunningHub['process'] }): Promise<void> {
  process.kill('SIGTERM')
  expect(await process.exited).toEqual({ code: 0, signal: null })
}

describe.concurrent('a forward', () => {
  it('leads a client to the API server, and everybody can see the link', async () => {
    const edge = await world.edge('edge-1', { hubs: [hub.url], flags: ['--drain-timeout', '1s'] })
    await works(edge.port)
    expect(await world.get(edge.port)).toMatchObject({ status: 200 })
    expect(await world.links('edge-1')).toEqual([
      expect.objectContaining({ hub: hub.url, state: 'up', carrier: expect.stringMatching(/^tls /) as unknown }),
    ])
    const watching = await world.watch(edge.port)
    await vi.waitFor(
      async () =>
        expect(await world.nodeAt('hub', 'edge-1')).toMatchObject({
          state: 'held',
          link: 'up',
          rtt: expect.stringMatching(/^\d+\.\dms$/) as unknown,
          linkedSince: expect.stringMatching(/^\d{4}-/) as unknown,
          // The watch, and the connection that the edge itself keeps to the API server.
          streams: 2,
        }),
      patience,
    )
    await addConfigMap('seen-over-edge-1')
    await vi.waitFor(() => expect(watching.added).toContain('seen-over-edge-1'), patience)
    expect(watching.problem).toBeUndefined()
    // A stream that never ends holds no stop up for longer than --drain-timeout.
    edge.process.kill('SIGTERM')
    expect(await edge.process.exited).toEqual({ code: 0, signal: null })
    await vi.waitFor(async () => expect(await world.nodeAt('hub', 'edge-1')).toMatchObject({ link: 'none' }), patience)
  })

  it('to a target that the hub does not list is reset, and both logs say why', async () => {
    const port = await lastingPort()
    const flags = ['--target', `db.example:5432:${port}`]
    const edge = await world.edge('edge-2', { hubs: [hub.url], flags })
    await works(edge.port)
    await expect(world.get(port)).rejects.toMatchObject({ code: 'ECONNRESET' })
    const ofTarget = await vi.waitFor(() => {
      const lines = linesOf(edge.process, 'connection refused').filter(({ localPort }) => localPort === port)
      expect(lines).not.toEqual([])
      return lines
    }, patience)
    expect(ofTarget).toEqual([
      expect.objectContaining({
        level: 'warn',
        target: 'db.example:5432',
        localPort: port,
        code: 'denied',
        why: 'node edge-2 may not open db.example:5432; the hub allows targets by --allow-target HOST:PORT',
      }),
    ])
    await vi.waitFor(
      () =>
        expect(linesOf(hub.process, 'target denied')).toContainEqual(
          expect.objectContaining({ level: 'warn', node: 'edge-2', target: 'db.example:5432' }),
        ),
      patience,
    )
    await works(edge.port)
    await stopped(edge)
  })

  it('ends with the name of its node: "nodes forget" cuts what runs over it', async () => {
    const edge = await world.edge('edge-3', { hubs: [hub.url] })
    await works(edge.port)
    const watching = await world.watch(edge.port)
    expect(await world.cluster.admin('nodes', 'forget', 'edge-3')).toMatchObject({ code: 0 })
    await vi.waitFor(() => expect(watching.problem).toBeDefined(), patience)
    await vi.waitFor(
      () =>
        expect(linesOf(hub.process, 'session ended')).toContainEqual(
          expect.objectContaining({ node: 'edge-3', code: 'certificate-revoked' }),
        ),
      patience,
    )
    const refused = { streams: 0, lastError: expect.stringContaining('edge-3') as unknown }
    await vi.waitFor(
      async () => expect(await world.links('edge-3')).toEqual([expect.objectContaining(refused)]),
      patience,
    )
    await edge.process.logged('no session with the hub')
    await expect(world.get(edge.port)).rejects.toMatchObject({ code: 'ECONNRESET' })
    await stopped(edge)
  })
})

describe.concurrent('a link', () => {
  it('to each of several hubs: one that dies costs nothing but its own streams, and is taken up again', async () => {
    const address = await world.cluster.lastingAddress()
    const [a, b] = await Promise.all([world.cluster.hub('several-a', ...address), world.cluster.hub('several-b')])
    const edge = await world.edge('edge-4', { hubs: [a.url, b.url] })
    await linked('edge-4', 'up', 'up')
    for (const name of ['several-a', 'several-b'])
      await vi.waitFor(async () => expect(await world.nodeAt(name, 'edge-4')).toMatchObject({ link: 'up' }), patience)
    a.process.kill('SIGKILL')
    await a.process.exited
    await edge.process.logged('session lost')
    for (let turn = 0; turn < 5; turn++) expect(await world.ask(edge.port)).toBe('default')
    expect((await world.links('edge-4')).map(({ state }) => state)).toEqual([expect.not.stringMatching('^up$'), 'up'])
    await world.cluster.hub('several-a', ...address)
    await linked('edge-4', 'up', 'up')
    await stopped(edge)
  })

  it('to a hub that drains goes on with the streams it has, while new ones take the other hub', async () => {
    const names = ['draining-a', 'draining-b'] as const
    const hubs = await Promise.all(names.map(async (name) => await world.cluster.hub(name, '--drain-timeout', '1h')))
    const edge = await world.edge('edge-10', { hubs: hubs.map(({ url }) => url) })
    await linked('edge-10', 'up', 'up')
    // The edge asks for its own certificates over the same links at first; its connection to the API server alone lasts.
    const streams = async (wanted: number): Promise<number[]> =>
      await vi.waitFor(async () => {
        const counts = (await world.links('edge-10')).map((link) => link.streams)
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(wanted)
        return counts
      }, patience)
    const before = await streams(1)
    const watching = await world.watch(edge.port)
    const after = await streams(2)
    const first = after.findIndex((count, index) => count > (before[index] ?? 0))
    const drained = hubs[first]?.process
    // Some of these are opened in the very instant: neither is a stream lost that the edge sent into the hub's farewell.
    const asking = new Asking(edge.port, 4)
    await vi.waitFor(() => expect(asking.answers).toBeGreaterThan(10), patience)
    drained?.kill('SIGTERM')
    await vi.waitFor(async () => expect((await world.links('edge-10'))[first]?.state).not.toBe('up'), patience)
    const answers = asking.answers
    await vi.waitFor(() => expect(asking.answers).toBeGreaterThan(answers + 10), patience)
    expect(await asking.stop()).toEqual([])
    await addConfigMap('while-draining')
    await vi.waitFor(() => expect(watching.added).toContain('while-draining'), patience)
    expect(watching.problem).toBeUndefined()
    watching.end()
    expect(await drained?.exited).toEqual({ code: 0, signal: null })
    await stopped(edge)
  })

  it('comes back by itself after its only hub was stopped and started, and until then clients are told at once', async () => {
    const address = await world.cluster.lastingAddress()
    const first = await world.cluster.hub('restarting', ...address)
    const edge = await world.edge('edge-5', { hubs: [first.url] })
    await works(edge.port)
    await stopped(first)
    await vi.waitFor(async () => {
      await expect(world.get(edge.port)).rejects.toMatchObject({ code: 'ECONNRESET' })
      expect((await world.links('edge-5'))[0]).toMatchObject({ lastError: expect.any(String) as unknown })
    }, patience)
    const second = await world.cluster.hub('restarting', ...address)
    await works(edge.port)
    await stopped(edge)
    await stopped(second)
  })

  it('outlives a short stop of either end: the same stream goes on', async () => {
    const own = await world.cluster.hub('pausing')
    const edge = await world.edge('edge-6', { hubs: [own.url] })
    await works(edge.port)
    const watching = await world.watch(edge.port)
    for (const [turn, process] of [own.process, edge.process].entries()) {
      process.kill('SIGSTOP')
      const pending = world.open(edge.port, '/version')
      await addConfigMap(`while-stopped-${turn}`)
      process.kill('SIGCONT')
      expect((await pending).statusCode).toBe(200)
      await vi.waitFor(() => expect(watching.added).toContain(`while-stopped-${turn}`), patience)
    }
    expect(watching.problem).toBeUndefined()
    expect(linesOf(edge.process, 'session lost')).toEqual([])
    await Promise.all([stopped(edge), stopped(own)])
  })

  it('to a hub that stands still for long is given up, and made anew when it goes on', async () => {
    const own = await world.cluster.hub('frozen')
    const edge = await world.edge('edge-7', { hubs: [own.url] })
    await works(edge.port)
    own.process.kill('SIGSTOP')
    await edge.process.logged('session lost')
    own.process.kill('SIGCONT')
    await works(edge.port, deadLinkPatience)
    await stopped(edge)
  })

  it('whose bytes vanish without a word is noticed on both sides, and replaced', async () => {
    const wire = await Wire.to(hub.url)
    wires.push(wire)
    const edge = await world.edge('edge-8', { hubs: [wire.url] })
    await works(edge.port)
    const watching = await world.watch(edge.port)
    expect(wire.blackHole()).toBeGreaterThan(0)
    await works(edge.port, deadLinkPatience)
    await edge.process.logged('session lost')
    await vi.waitFor(
      () => expect(linesOf(hub.process, 'session ended').filter(({ node }) => node === 'edge-8')).not.toEqual([]),
      deadLinkPatience,
    )
    await vi.waitFor(() => expect(watching.problem).toBeDefined(), patience)
    await stopped(edge)
  })

  it('under a renewed certificate keeps the streams that began under the old one', async () => {
    const hasty = await world.cluster.hub('hasty', '--certificate-life', '1h')
    // By its own clock a certificate has forty seconds. By that of the hub the old one does not end before the stream does.
    const environment = clockShiftedBy(hourMs - 40_000)
    const edge = await world.edge('edge-9', { hubs: [hasty.url], environment })
    await works(edge.port)
    const watching = await world.watch(edge.port)
    const sessions = linesOf(edge.process, 'session up').length
    const renewed = expect.objectContaining({ certificate: 'edge' }) as unknown
    await vi.waitFor(() => expect(linesOf(edge.process, 'certificate renewed')).toContainEqual(renewed), patience)
    await vi.waitFor(() => expect(linesOf(edge.process, 'session up').length).toBeGreaterThan(sessions), patience)
    await addConfigMap('after-renewal')
    await vi.waitFor(() => expect(watching.added).toContain('after-renewal'), patience)
    expect(watching.problem).toBeUndefined()
    await works(edge.port)
    await Promise.all([stopped(edge), stopped(hasty)])
  })
})
