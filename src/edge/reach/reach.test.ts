import { Registry } from 'prom-client'
import { beforeEach, describe, expect, it } from 'vitest'
import { loudNet } from '../../../test/worlds/loud-net.ts'
import { settled } from '../../../test/worlds/yamux-drivers.ts'
import { BytesSource } from '../../http/body/bytes-source.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { type PoolName, type Upstream, UpstreamError, type UpstreamRequest } from '../upstream/upstream.ts'
import { createProbe, PROBE_TIMEOUT_MS } from './probe.ts'
import { CONFIRM_MS, CONFIRM_TOGETHER_MS, Reach } from './reach.ts'
import { PROBE_GAP_MS, PROBE_IDLE_MS, type Refused } from './reach-core.ts'

/** Rings up to a millisecond early, as timers do that take whole milliseconds of a finer clock. */
class HastyClock extends ManualClock {
  override schedule(delayMs: number, action: () => void): () => void {
    return super.schedule(Math.max(1, delayMs - 1), action)
  }
}

/** A link that the test pulls, and an API server that answers as the test says. */
class World {
  readonly clock: ManualClock
  readonly registry = new Registry()
  readonly requests: UpstreamRequest[] = []
  readonly changes: string[] = []
  readonly #listeners = new Set<() => void>()
  readonly reach: Reach
  isUp = true
  refusal: string | undefined
  whyDown = 'no hub answers'
  pool: PoolName = 'node'
  /** What the next probes meet: a status, an error, or silence. */
  answer: number | Error | 'silence' = 200

  constructor(refusedBefore?: Refused, clock = new ManualClock()) {
    this.clock = clock
    const { registry } = this
    const upstream: Pick<Upstream, 'request'> = { request: (request) => this.#answer(request) }
    this.reach = new Reach({
      link: this,
      probe: createProbe({ upstream, pool: () => this.pool, clock }),
      refusedBefore: () => refusedBefore,
      clock,
      random: () => 0,
      logger: createLogger({ level: 'fatal', format: 'json', clock, destination: { write: () => {} } }),
      net: loudNet(),
      registry,
    })
    this.reach.onChange(({ state }) => this.changes.push(state))
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async link(isUp: boolean, refusal?: string): Promise<void> {
    this.isUp = isUp
    this.refusal = refusal
    for (const listener of this.#listeners) listener()
    await settled()
  }

  async #answer(request: UpstreamRequest) {
    this.requests.push(request)
    const { answer } = this
    if (answer instanceof Error) throw answer
    if (answer === 'silence')
      return await new Promise<never>((_, reject) =>
        request.signal.addEventListener('abort', () => reject(request.signal.reason), { once: true }),
      )
    return { status: answer, headers: [], body: new BytesSource(Buffer.alloc(0)), trailers: () => [] }
  }

  async metric(name: string): Promise<Record<string, number>> {
    const { values } = (await this.registry.getSingleMetric(name)?.get()) ?? { values: [] }
    return Object.fromEntries(values.map(({ labels, value }) => [Object.values(labels).join(), value]))
  }
}

const broken = new UpstreamError('broken', 'the connection broke')
const noTime = AbortSignal.abort()
let world: World

beforeEach(() => {
  world = new World()
})

async function started(): Promise<{ stop: () => Promise<void> }> {
  const running = await world.reach.start()
  await settled()
  return { stop: async () => await running.stop(noTime) }
}

describe('reach as a part', () => {
  it('asks /readyz under the node, says since when, and leaves nothing behind', async () => {
    const { stop } = await started()
    expect(world.requests.map(({ pool, target }) => [pool, target])).toEqual([['node', '/readyz']])
    expect(world.reach.now).toMatchObject({ state: 'online', why: 'the API server answers', refusedBy: undefined })
    expect(world.changes).toEqual(['online'])
    await world.clock.advance(2_000)
    expect(await world.metric('causeway_edge_reach_state')).toEqual({ online: 1, offline: 0, refused: 0 })
    expect(await world.metric('causeway_edge_reach_state_seconds')).toEqual({ '': 2 })
    expect(await world.metric('causeway_edge_reach_changes_total')).toEqual({ online: 1, offline: 0, refused: 0 })
    expect(await world.metric('causeway_edge_reach_probes_total')).toMatchObject({ ready: 1, failed: 0 })
    await world.link(false)
    expect(world.reach.now).toMatchObject({ state: 'offline', why: 'no hub answers', changedMs: 2_000 })
    await stop()
    expect(world.clock.pending).toBe(0)
  })

  it('takes any answer for a sign of life while online, and gives up on one that does not come', async () => {
    const { stop } = await started()
    for (const status of [500, 503, 429, 404, 403]) {
      world.answer = status
      await world.clock.advance(PROBE_IDLE_MS)
    }
    expect(world.reach.now.state).toBe('online')
    world.answer = 'silence'
    await world.clock.advance((world.clock.nextDueMs ?? 0) + PROBE_TIMEOUT_MS)
    expect(world.reach.now.state).toBe('online')
    await world.clock.advance(PROBE_GAP_MS + PROBE_TIMEOUT_MS)
    expect(world.reach.now).toMatchObject({ state: 'offline', why: 'the API server has not answered within 5 s' })
    await stop()
  })

  it('is refused by 401 under the certificate of the node, but not without one', async () => {
    world.pool = 'open'
    world.answer = 401
    const { stop } = await started()
    expect(world.reach.now.state).toBe('online')
    world.pool = 'node'
    await world.clock.advance(PROBE_GAP_MS)
    world.reach.nodeRejected()
    await world.clock.advance(PROBE_GAP_MS)
    expect(world.reach.now).toMatchObject({ state: 'refused', refusedBy: 'api-server' })
    expect(await world.reach.confirm()).toBe('refused')
    // Whoever erases what is kept has to hear of it.
    const before = world.changes.length
    await world.link(false, 'node a was forgotten')
    expect(world.reach.now).toMatchObject({ state: 'refused', refusedBy: 'hub' })
    expect(world.changes.slice(before)).toEqual(['refused'])
    await stop()
  })

  it('starts refused where the process before was', async () => {
    world = new World({ by: 'hub', why: 'node a was forgotten' })
    world.isUp = false
    const { stop } = await started()
    expect(world.reach.now).toMatchObject({ state: 'refused', why: 'node a was forgotten' })
    await world.link(true)
    expect(world.changes).toEqual(['offline', 'online'])
    await stop()
  })

  it('hears of requests: limits of ours and clients that left are no evidence', async () => {
    const { stop } = await started()
    await world.clock.advance(PROBE_GAP_MS)
    world.reach.failed(new UpstreamError('overloaded', 'full'))
    world.reach.failed(new Error('the client has gone'))
    expect(world.requests).toHaveLength(1)
    world.reach.failed(broken)
    expect(world.requests).toHaveLength(2)
    await stop()
  })
})

describe('confirm', () => {
  it('is shared by all who ask, and says online where the API server answers', async () => {
    const { stop } = await started()
    await world.clock.advance(PROBE_GAP_MS)
    const asked = Array.from({ length: 100 }, () => world.reach.confirm())
    expect(await Promise.all(asked)).toEqual(asked.map(() => 'online'))
    expect(world.requests).toHaveLength(2)
    await stop()
  })

  it('waits for the second probe where the first fails', async () => {
    const { stop } = await started()
    await world.clock.advance(PROBE_GAP_MS)
    world.answer = new UpstreamError('unreachable', 'connection refused')
    const state = world.reach.confirm()
    await world.clock.advance(PROBE_GAP_MS)
    expect(await state).toBe('offline')
    expect(world.requests).toHaveLength(3)
    expect(await world.reach.confirm()).toBe('offline')
    expect(world.requests).toHaveLength(3)
    await stop()
  })

  it('finds out though timers ring early', async () => {
    world = new World(undefined, new HastyClock())
    const { stop } = await started()
    await world.clock.advance(PROBE_GAP_MS)
    world.answer = new UpstreamError('unreachable', 'connection refused')
    const state = world.reach.confirm()
    await world.clock.advance(PROBE_GAP_MS + 1)
    expect(await state).toBe('offline')
    await stop()
  })

  it('does not trust a probe that began before', async () => {
    const { stop } = await started()
    world.answer = 'silence'
    await world.clock.advance(PROBE_IDLE_MS)
    expect(world.requests).toHaveLength(2)
    world.answer = new UpstreamError('unreachable', 'connection refused')
    await world.clock.advance(CONFIRM_TOGETHER_MS)
    const state = world.reach.confirm()
    await world.clock.advance(CONFIRM_MS - 1)
    expect(world.requests).toHaveLength(2)
    await world.clock.advance(1)
    // Nothing is known yet, and nobody waits longer than that.
    expect(await state).toBe('online')
    await stop()
  })

  it('ends with the link, and with the process', async () => {
    const { stop } = await started()
    world.answer = 'silence'
    await world.clock.advance(PROBE_GAP_MS)
    const first = world.reach.confirm()
    await world.link(false)
    expect(await first).toBe('offline')
    world.answer = 200
    await world.link(true)
    world.answer = 'silence'
    await world.clock.advance(PROBE_GAP_MS)
    const second = world.reach.confirm()
    await stop()
    expect(await second).toBe('online')
    expect(world.clock.pending).toBe(0)
  })
})
