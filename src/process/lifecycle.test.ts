import { describe, expect, it } from 'vitest'
import { ManualClock } from '../runtime/clock.ts'
import { createLogger } from '../telemetry/logger.ts'
import { DROP_LIMIT_MS, Lifecycle, type Part } from './lifecycle.ts'

/** Parts that write down what happens to them. */
function recorded() {
  const events: string[] = []
  const part = (
    name: string,
    over: Partial<Part> & { stop?: (deadline: AbortSignal) => Promise<void> } = {},
  ): Part => ({
    name,
    async start() {
      events.push(`start ${name}`)
      return {
        stop: async (deadline) => {
          events.push(`stop ${name}`)
          await over.stop?.(deadline)
        },
      }
    },
    ...over,
  })
  return { events, part }
}

function lifecycle(parts: Part[], clock = new ManualClock()) {
  const logged: string[] = []
  const logger = createLogger({
    level: 'debug',
    format: 'json',
    destination: { write: (line) => logged.push(line) },
    clock,
  })
  return { lifecycle: new Lifecycle({ parts, clock, logger, drainLimitMs: 1_000 }), clock, logged }
}

describe('Lifecycle', () => {
  it('starts in order, says ready once, stops in reverse order', async () => {
    const { events, part } = recorded()
    const stop = new AbortController()
    const { lifecycle: life, clock } = lifecycle([part('a'), part('b'), part('c')])
    await life.run(stop.signal, () => {
      events.push('ready')
      stop.abort()
    })
    expect(events).toEqual(['start a', 'start b', 'start c', 'ready', 'stop c', 'stop b', 'stop a'])
    expect(clock.pending).toBe(0)
  })

  it('is ready only while running, and says why not', async () => {
    const seen: unknown[] = []
    const stop = new AbortController()
    const look = (): unknown => seen.push(life.health())
    const part: Part = {
      name: 'a',
      async start() {
        look()
        return {
          async stop() {
            look()
          },
        }
      },
    }
    const { lifecycle: life } = lifecycle([part])
    look()
    await life.run(stop.signal, () => {
      look()
      stop.abort()
    })
    look()
    expect(seen).toEqual([
      { ok: false, reason: 'idle' },
      { ok: false, reason: 'starting a' },
      { ok: true },
      { ok: false, reason: 'stopping' },
      { ok: false, reason: 'stopped' },
    ])
  })

  it('stops what was started when a later part cannot start, and rejects with its error', async () => {
    const { events, part } = recorded()
    const broken = new Error('port taken')
    const parts = [part('a'), part('b', { start: () => Promise.reject(broken) }), part('c')]
    const run = lifecycle(parts).lifecycle.run(new AbortController().signal, () => events.push('ready'))
    await expect(run).rejects.toBe(broken)
    expect(events).toEqual(['start a', 'stop a'])
  })

  it('gives up starting when told to stop, which is a clean end', async () => {
    const { events, part } = recorded()
    const stop = new AbortController()
    const slow = part('slow', {
      start: (signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error))
          stop.abort()
        }),
    })
    await lifecycle([part('a'), slow, part('c')]).lifecycle.run(stop.signal, () => events.push('ready'))
    expect(events).toEqual(['start a', 'stop a'])
  })

  it('starts nothing when told to stop before', async () => {
    const { events, part } = recorded()
    await lifecycle([part('a')]).lifecycle.run(AbortSignal.abort(), () => events.push('ready'))
    expect(events).toEqual([])
  })

  it('stops everything when a part breaks by itself, and rejects with the cause', async () => {
    const { events, part } = recorded()
    const cause = new Error('lost the disk')
    let breakIt = (): void => {}
    const fragile = part('b', {
      start: async (_signal, fail) => {
        breakIt = () => fail(cause)
        return { stop: async () => void events.push('stop b') }
      },
    })
    const run = lifecycle([part('a'), fragile]).lifecycle.run(new AbortController().signal, () => breakIt())
    await expect(run).rejects.toBe(cause)
    expect(events).toEqual(['start a', 'stop b', 'stop a'])
  })

  it('tells a slow part at the drain limit to drop what it holds', async () => {
    const { events, part } = recorded()
    const stop = new AbortController()
    const slow = part('slow', {
      stop: (deadline) =>
        new Promise((resolve) => {
          deadline.addEventListener('abort', () => {
            events.push('dropped')
            resolve()
          })
        }),
    })
    const { lifecycle: life, clock, logged } = lifecycle([part('a'), slow])
    const run = life.run(stop.signal, () => stop.abort())
    await clock.advance(999)
    expect(events).not.toContain('dropped')
    await clock.advance(1)
    await run
    expect(events.slice(-3)).toEqual(['stop slow', 'dropped', 'stop a'])
    expect(logged.join('')).toContain('drain limit reached')
    expect(clock.pending).toBe(0)
  })

  it('leaves a part behind that ignores even that, names it, and stops the rest', async () => {
    const { events, part } = recorded()
    const stop = new AbortController()
    const stuck = part('stuck', { stop: () => new Promise(() => {}) })
    const { lifecycle: life, clock } = lifecycle([part('a'), stuck])
    const run = life.run(stop.signal, () => stop.abort())
    const rejected = expect(run).rejects.toThrow('stuck did not stop within 2000 ms after the drain limit')
    await clock.advance(1_000 + DROP_LIMIT_MS)
    await rejected
    expect(events.at(-1)).toBe('stop a')
  })

  it('stops the rest when one stop fails, and rejects with that error', async () => {
    const { events, part } = recorded()
    const stop = new AbortController()
    const bad = part('bad', { stop: () => Promise.reject(new Error('disk full')) })
    const { lifecycle: life, clock } = lifecycle([part('a'), bad])
    await expect(life.run(stop.signal, () => stop.abort())).rejects.toThrow('disk full')
    expect(events.at(-1)).toBe('stop a')
    expect(clock.pending).toBe(0)
  })

  it('runs once', async () => {
    const { lifecycle: life } = lifecycle([])
    await life.run(AbortSignal.abort(), () => {})
    await expect(life.run(AbortSignal.abort(), () => {})).rejects.toThrow('runs once')
  })
})
