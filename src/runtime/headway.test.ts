import { describe, expect, it } from 'vitest'
import { Headway } from './headway.ts'

describe('Headway', () => {
  it('says for how long nothing has moved', () => {
    const headway = new Headway(10, 1_000)
    expect(headway.stoodMs(10, 1_000)).toBe(0)
    expect(headway.stoodMs(10, 4_000)).toBe(3_000)
    expect(headway.stoodMs(11, 5_000)).toBe(0)
    expect(headway.stoodMs(11, 5_500)).toBe(500)
  })

  it('takes less than enough for nothing, until enough has come together', () => {
    const headway = new Headway(0, 0, 100)
    expect(headway.stoodMs(60, 1_000)).toBe(1_000)
    expect(headway.stoodMs(99, 2_000)).toBe(2_000)
    expect(headway.stoodMs(100, 3_000)).toBe(0)
    expect(headway.stoodMs(199, 4_000)).toBe(1_000)
  })

  it('forgets what was before a restart', () => {
    const headway = new Headway(0, 0, 100)
    headway.restart(50, 9_000)
    expect(headway.stoodMs(149, 9_500)).toBe(500)
    expect(headway.stoodMs(150, 9_600)).toBe(0)
  })
})
