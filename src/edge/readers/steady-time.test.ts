import { describe, expect, it } from 'vitest'
import { KeptBytes } from '../../../test/worlds/kept-bytes.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { KEEP_RETRY_MS } from './kept-state.ts'
import { STEADY_KEEP_MS, SteadyTime } from './steady-time.ts'

const lines: string[] = []
const noTime = AbortSignal.abort()

function timeOf(clock: ManualClock, kept: KeptBytes): SteadyTime {
  const logger = createLogger({
    level: 'warn',
    format: 'json',
    clock,
    destination: { write: (line: string) => lines.push(line) },
  })
  return new SteadyTime({ kept, clock, logger })
}

describe('the part that keeps the time', () => {
  it('goes on after a reboot into 1970 where it was kept last', async () => {
    const kept = new KeptBytes()
    const clock = new ManualClock()
    const startMs = clock.nowMs()
    await timeOf(clock, kept).start()
    await clock.advance(10 * STEADY_KEEP_MS + 1)
    expect(kept.saves).toBe(11)
    const after = timeOf(new ManualClock(0), kept)
    const running = await after.start()
    expect(after.nowMs()).toBe(startMs + 10 * STEADY_KEEP_MS)
    await running.stop(noTime)
  })

  it('keeps a date that turns the time at once, but not every date', async () => {
    const kept = new KeptBytes()
    const clock = new ManualClock()
    const time = timeOf(clock, kept)
    const running = await time.start()
    await clock.advance(1)
    const { saves } = kept
    time.told(clock.nowMs() + 1_000)
    time.told(Number.NaN)
    await clock.advance(1)
    expect(kept.saves).toBe(saves)
    time.told(clock.nowMs() + 10 * STEADY_KEEP_MS)
    await clock.advance(1)
    expect(kept.saves).toBe(saves + 1)
    time.signedAt(clock.nowMs() + 20 * STEADY_KEEP_MS)
    await clock.advance(1)
    expect(kept.saves).toBe(saves + 2)
    expect(time.nowMs()).toBeGreaterThanOrEqual(clock.nowMs() + 20 * STEADY_KEEP_MS - 1)
    await running.stop(noTime)
    expect(clock.pending).toBe(0)
  })

  it('serves without a disk, says so once, and tries again', async () => {
    const kept = new KeptBytes()
    kept.problem = new Error('no space left on device')
    const clock = new ManualClock()
    lines.length = 0
    const time = timeOf(clock, kept)
    const running = await time.start()
    await clock.advance(5 * KEEP_RETRY_MS)
    expect(time.nowMs()).toBe(clock.nowMs())
    expect(lines).toHaveLength(1)
    kept.problem = undefined
    await clock.advance(KEEP_RETRY_MS)
    expect(kept.saves).toBeGreaterThan(0)
    await running.stop(noTime)
  })

  it.each(['', '{', '{"provenMs":"x"}', 'null'])('begins anew with %j on disk', async (text) => {
    const kept = new KeptBytes()
    kept.bytes = Buffer.from(text)
    const clock = new ManualClock()
    const time = timeOf(clock, kept)
    const running = await time.start()
    expect(time.nowMs()).toBe(clock.nowMs())
    await running.stop(noTime)
  })
})
