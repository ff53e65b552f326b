import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../runtime/clock.ts'
import { Periodic } from './periodic.ts'

const random = { bytes: (count: number) => Buffer.alloc(count), fraction: () => 0.5 }
const silent = pino({ level: 'silent' })

async function start(work: () => Promise<void>, logger = silent) {
  const clock = new ManualClock()
  const part = new Periodic({ name: 'p', everyMs: 60_000, clock, random, logger, work })
  const running = await part.start(new AbortController().signal)
  await clock.advance(0)
  return { clock, running }
}

describe('periodic work', () => {
  it('is done at once and again and again, a little spread', async () => {
    let times = 0
    const { clock, running } = await start(async () => void times++)
    expect(times).toBe(1)
    expect(clock.nextDueMs).toBe(57_000)
    await clock.advance(57_000 * 3)
    expect(times).toBe(4)
    await running.stop(AbortSignal.abort())
    expect(clock.pending).toBe(0)
    await clock.advance(600_000)
    expect(times).toBe(4)
  })

  it('survives any number of failures, and returns to its rhythm', async () => {
    let times = 0
    let isBroken = true
    const { clock, running } = await start(async () => {
      times++
      if (isBroken) throw new Error('no')
    })
    await clock.advance(24 * 3_600_000)
    expect(times).toBeGreaterThan(1_000)
    isBroken = false
    await clock.advance(60_000)
    const before = times
    await clock.advance(57_000 * 10)
    expect(times).toBe(before + 10)
    await running.stop(AbortSignal.abort())
  })

  it('tells of a failure once, of another one too, and of its end', async () => {
    const lines: string[] = []
    const write = (line: string): void => void lines.push((JSON.parse(line) as { err?: Error }).err?.message ?? 'well')
    let problem: string | undefined = 'first'
    const { clock, running } = await start(
      async () => {
        if (problem !== undefined) throw new Error(problem)
      },
      pino({ level: 'info' }, { write }),
    )
    await clock.advance(3_600_000)
    problem = 'second'
    await clock.advance(3_600_000)
    problem = undefined
    await clock.advance(3_600_000)
    expect(lines).toEqual(['first', 'second', 'well'])
    await running.stop(AbortSignal.abort())
  })

  it('is not begun when the start is given up', async () => {
    let times = 0
    const options = { name: 'p', everyMs: 1, clock: new ManualClock(), random, logger: silent }
    const part = new Periodic({ ...options, work: async () => void times++ })
    await expect((async () => await part.start(AbortSignal.abort(new Error('stop'))))()).rejects.toThrow('stop')
    expect(times).toBe(0)
  })
})
