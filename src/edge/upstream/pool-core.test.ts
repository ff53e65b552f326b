import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  IDLE_UPSTREAM_MS,
  MAX_POOL_CONNECTIONS,
  MAX_STREAMS_PER_UPSTREAM,
  PoolCore,
  SPARE_STREAMS,
} from './pool-core.ts'

function opened(core: PoolCore): number {
  const id = core.opening()
  core.opened(id, 0)
  return id
}

function placeMany(core: PoolCore, count: number): (number | undefined)[] {
  return Array.from({ length: count }, () => core.place())
}

describe('where a request goes', () => {
  it('is nowhere before a connection is open', () => {
    const core = new PoolCore()
    core.opening()
    expect(core.place()).toBeUndefined()
    expect(core.connections).toBe(0)
  })

  it('is the oldest connection with a free stream', () => {
    const core = new PoolCore({ maxStreams: 2 })
    const [first, second] = [opened(core), opened(core)]
    expect(placeMany(core, 5)).toEqual([first, first, second, second, undefined])
    core.finished(first, 1)
    expect(core.place()).toBe(first)
  })

  it('keeps to what the peer takes, and to our own limit where the peer takes more', () => {
    const core = new PoolCore()
    const id = opened(core)
    core.peerTakes(id, 3)
    expect(placeMany(core, 4).filter((placed) => placed === id)).toHaveLength(3)
    core.peerTakes(id, Number.POSITIVE_INFINITY)
    expect(placeMany(core, 200).filter((placed) => placed === id)).toHaveLength(MAX_STREAMS_PER_UPSTREAM - 3)
  })

  it('is never a connection that drains', () => {
    const core = new PoolCore()
    core.drain(opened(core))
    expect(core.place()).toBeUndefined()
    expect(core.hasHope).toBe(false)
  })
})

describe('when another connection is opened', () => {
  it('is for the first request', () => {
    const core = new PoolCore()
    expect(core.wanted(0)).toBe(0)
    expect(core.wanted(1)).toBe(1)
    core.opening()
    expect(core.wanted(1)).toBe(0)
  })

  it('is before 100 streams are in use', () => {
    const core = new PoolCore()
    opened(core)
    placeMany(core, MAX_STREAMS_PER_UPSTREAM - SPARE_STREAMS)
    expect(core.wanted(0)).toBe(0)
    core.place()
    expect(core.wanted(0)).toBe(1)
  })

  it('is enough at once for all that wait, up to the limit', () => {
    const core = new PoolCore()
    expect(core.wanted(300)).toBe(4)
    expect(core.wanted(1_000_000)).toBe(MAX_POOL_CONNECTIONS)
  })

  it('is always one ahead where the peer takes a single stream', () => {
    const core = new PoolCore()
    const id = opened(core)
    core.peerTakes(id, 1)
    core.place()
    expect(core.wanted(0)).toBe(1)
  })

  it('is also while as many still drain as may', () => {
    const core = new PoolCore({ maxDraining: 1 })
    const id = opened(core)
    core.place()
    core.drain(id)
    expect(core.expired(1)).toEqual([])
    expect(core.wanted(1)).toBe(1)
  })
})

describe('the end of a connection', () => {
  it('comes after a time without a stream', () => {
    const core = new PoolCore()
    const id = opened(core)
    core.place()
    core.finished(id, 1_000)
    expect(core.expired(1_000 + IDLE_UPSTREAM_MS - 1)).toEqual([])
    expect(core.expired(1_000 + IDLE_UPSTREAM_MS)).toEqual([id])
  })

  it('does not come while a stream runs', () => {
    const core = new PoolCore()
    opened(core)
    core.place()
    expect(core.expired(10 * IDLE_UPSTREAM_MS)).toEqual([])
  })

  it('comes with the last stream of one that drains', () => {
    const core = new PoolCore()
    const id = opened(core)
    placeMany(core, 2)
    core.drainAll()
    expect(core.finished(id, 1)).toBe(false)
    expect(core.expired(1)).toEqual([])
    expect(core.finished(id, 1)).toBe(true)
    expect(core.expired(1)).toEqual([id])
  })

  it('comes for the oldest with its streams where too many drain, and for no more of them than must go', () => {
    const core = new PoolCore({ maxStreams: 1, maxDraining: 2 })
    const [first, second, third, idle] = [opened(core), opened(core), opened(core), opened(core)]
    const taking = opened(core)
    placeMany(core, 4)
    core.finished(idle, 0)
    for (const id of [idle, third, second]) core.drain(id)
    expect(core.expired(1)).toEqual([idle])
    core.drain(first)
    expect(core.expired(1)).toEqual([first, idle])
    for (const id of core.expired(1)) core.closed(id)
    expect(core.expired(1)).toEqual([])
    expect([core.connections, core.place()]).toEqual([3, taking])
  })

  it('comes for one that is still being opened when all are to drain', () => {
    const core = new PoolCore()
    const id = core.opening()
    core.drainAll()
    core.opened(id, 1)
    expect(core.place()).toBeUndefined()
    expect(core.expired(1)).toEqual([id])
  })
})

type Step = {
  readonly step: 'place' | 'open' | 'opened' | 'finish' | 'drain' | 'close' | 'peer' | 'review'
  readonly pick: number
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    step: fc.constantFrom(
      'place' as const,
      'place',
      'open',
      'open',
      'opened',
      'opened',
      'finish',
      'drain',
      'close',
      'peer',
      'review',
    ),
    pick: fc.nat(50),
  }),
  { maxLength: 200, size: 'max' },
)

interface Twin {
  state: 'opening' | 'open' | 'draining'
  streams: number
  capacity: number
}

/** The rules in their plainest form, beside the core. */
class Model {
  readonly core = new PoolCore({ maxStreams: 4, spareStreams: 2, maxConnections: 3, maxDraining: 1 })
  readonly twins = new Map<number, Twin>()
  #peerTakes = 4

  run({ step, pick }: Step): void {
    const [id, twin] = [...this.twins][pick % Math.max(1, this.twins.size)] ?? []
    if (step === 'place') this.#place()
    else if (step === 'open') this.#open(pick % 4)
    else if (step === 'review') this.#review()
    else if (id !== undefined && twin !== undefined) this.#change(step, id, twin, pick)
  }

  #place(): void {
    const id = this.core.place()
    const free = [...this.twins].find(([, { state, streams, capacity }]) => state === 'open' && streams < capacity)
    expect(id).toBe(free?.[0])
    if (free !== undefined) free[1].streams += 1
  }

  #open(waiting: number): void {
    const wanted = this.core.wanted(waiting)
    const usable = [...this.twins.values()].filter(({ state }) => state !== 'draining')
    expect(wanted).toBeGreaterThanOrEqual(0)
    expect(usable.length + wanted).toBeLessThanOrEqual(3)
    if (usable.length === 0 && waiting > 0) expect(wanted).toBeGreaterThan(0)
    for (let count = wanted; count > 0; count--)
      this.twins.set(this.core.opening(), { state: 'opening', streams: 0, capacity: this.#peerTakes })
  }

  #review(): void {
    const draining = [...this.twins].filter(([, { state, streams }]) => state === 'draining' && streams > 0)
    const expired = this.core.expired(0)
    const cut = draining.filter(([id]) => expired.includes(id))
    expect(cut).toEqual(draining.slice(0, Math.max(0, draining.length - 1)))
    for (const id of expired) {
      this.core.closed(id)
      expect(this.twins.get(id)?.state).toBe('draining')
      this.twins.delete(id)
    }
  }

  #change(step: Step['step'], id: number, twin: Twin, pick: number): void {
    if (step === 'opened' && twin.state === 'opening') {
      this.core.opened(id, 0)
      twin.state = 'open'
    } else if (step === 'finish' && twin.streams > 0) {
      twin.streams -= 1
      expect(this.core.finished(id, 0)).toBe(twin.state === 'draining' && twin.streams === 0)
    } else if (step === 'drain') {
      this.core.drain(id)
      twin.state = 'draining'
    } else if (step === 'peer') {
      this.core.peerTakes(id, pick)
      this.#peerTakes = Math.min(4, pick)
      twin.capacity = this.#peerTakes
    } else if (step === 'close') {
      this.core.closed(id)
      this.twins.delete(id)
    }
  }
}

describe('any course of events', () => {
  it('never uses more than is allowed, and counts what is in use', () => {
    fc.assert(
      fc.property(steps, (course) => {
        const model = new Model()
        for (const step of course) {
          model.run(step)
          const total = [...model.twins.values()].reduce((sum, { streams }) => sum + streams, 0)
          expect(model.core.streams).toBe(total)
          expect(model.core.connections + model.core.openings).toBe(model.twins.size)
        }
      }),
    )
  })
})
