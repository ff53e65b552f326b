import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { AskingLine, LATE_HANDSHAKE_ROUND_MS } from './asking-line.ts'

const [near, crowd] = ['192.0.2.1', '198.51.100.1']
const asksPerRound = 5
const perSecond = (asksPerRound * 1000) / LATE_HANDSHAKE_ROUND_MS

function crowded(clock: ManualClock, size: number): { line: AskingLine; asked: string[]; leave: (() => void)[] } {
  const line = new AskingLine(clock, perSecond)
  const asked: string[] = []
  const leave = Array.from({ length: size }, (_, index) => line.enter(crowd, () => asked.push(`crowd ${index}`)))
  return { line, asked, leave }
}

describe('the line of those who ask after late handshakes', () => {
  it('lets them ask at once where they are few', () => {
    const { line, asked } = crowded(new ManualClock(), asksPerRound)
    expect(asked).toHaveLength(asksPerRound)
    expect(line.length).toBe(0)
  })

  it('asks no more often for thousands', async () => {
    const clock = new ManualClock()
    const { asked } = crowded(clock, 4_000)
    expect(asked).toHaveLength(asksPerRound)
    await clock.advance(1_000)
    expect(asked).toHaveLength(asksPerRound + perSecond)
    expect(new Set(asked).size).toBe(asked.length)
  })

  it('makes nobody wait for the many of another address', async () => {
    const clock = new ManualClock()
    const { line, asked } = crowded(clock, 4_000)
    line.enter(near, () => asked.push('near'))
    await clock.advance(LATE_HANDSHAKE_ROUND_MS)
    expect(asked.slice(asksPerRound)).toContain('near')
  })

  it('forgets who left, and rests when all have', async () => {
    const clock = new ManualClock()
    const { line, asked, leave } = crowded(clock, 4_000)
    for (const each of leave) each()
    expect(line.length).toBe(0)
    await clock.advance(1_000)
    expect(asked).toHaveLength(asksPerRound)
    expect(clock.pending).toBe(0)
  })
})
