import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../telemetry/clock.ts'
import {
  CallerLimits,
  FAILED_REQUEST_COST,
  MAX_CALLERS,
  MAX_LONG_REQUESTS_PER_CALLER,
  MAX_REQUEST_DELAY_MS,
  MAX_REQUESTS_PER_CALLER,
  MAX_UNPROVEN_REQUESTS,
  REQUEST_BURST,
  REQUESTS_PER_SECOND,
  UNPROVEN_REQUESTS_PER_SECOND,
} from './caller-limits.ts'

const pod = { name: 'pod', isProven: true }
const other = { name: 'other', isProven: true }
const stranger = { name: 'address 10.0.0.1', isProven: false }

/** One request that is over at once: how long it had to wait, or why it was refused. */
function once(limits: CallerLimits, key = pod): number | string {
  const ticket = limits.admit(key, false)
  if (typeof ticket === 'string') return ticket
  ticket.release()
  return ticket.delayMs
}

describe('CallerLimits', () => {
  it('lets a burst through, then delays, then refuses, and only the one who asks', async () => {
    const clock = new ManualClock()
    const limits = new CallerLimits(clock)
    for (let count = 0; count < REQUEST_BURST; count += 1) expect(once(limits)).toBe(0)
    expect(once(limits)).toBeCloseTo(1000 / REQUESTS_PER_SECOND)
    let delayed = 1
    while (typeof once(limits) === 'number') delayed += 1
    expect(delayed).toBe((REQUESTS_PER_SECOND * MAX_REQUEST_DELAY_MS) / 1000)
    expect(once(limits)).toBe('rate')
    expect(once(limits, other)).toBe(0)
    await clock.advance(MAX_REQUEST_DELAY_MS + 1)
    expect(once(limits)).toBe(0)
  })

  it('makes a loop that fails slow, and never holds anybody longer than the longest wait', async () => {
    const clock = new ManualClock()
    const limits = new CallerLimits(clock)
    let waitedMs = 0
    for (let count = 0; count < 200; count += 1) {
      const delayMs = once(limits, stranger)
      if (typeof delayMs === 'string') throw new Error(delayMs)
      waitedMs += delayMs
      await clock.advance(delayMs)
      limits.chargeFailure(stranger)
    }
    expect(waitedMs).toBeGreaterThan((180 * 1000 * FAILED_REQUEST_COST) / UNPROVEN_REQUESTS_PER_SECOND)
    for (let count = 0; count < 1_000; count += 1) limits.chargeFailure(stranger)
    await clock.advance(MAX_REQUEST_DELAY_MS)
    expect(once(limits, stranger)).toBeLessThanOrEqual(MAX_REQUEST_DELAY_MS)
  })

  it.each([
    ['short requests', pod, false, MAX_REQUESTS_PER_CALLER, 'in-flight'],
    ['long requests', pod, true, MAX_LONG_REQUESTS_PER_CALLER, 'long-running'],
    ['short requests of strangers', stranger, false, MAX_UNPROVEN_REQUESTS, 'in-flight'],
    ['long requests of strangers', stranger, true, MAX_UNPROVEN_REQUESTS, 'long-running'],
  ])('limits %s under way', (_name, key, isLong, max, refusal) => {
    const limits = new CallerLimits(new ManualClock())
    const tickets = Array.from({ length: max }, () => limits.admit(key, isLong))
    expect(limits.admit(key, isLong)).toBe(refusal)
    expect(typeof limits.admit(key, !isLong)).toBe('object')
    const [first] = tickets
    if (typeof first === 'object') first.release()
    expect(typeof limits.admit(key, isLong)).toBe('object')
  })

  it('counts callers with something under way', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.boolean(), fc.boolean())), (steps) => {
        const limits = new CallerLimits(new ManualClock())
        const open: { name: string; release: () => void }[] = []
        for (const [name, isLong, leaves] of steps) {
          const ticket = limits.admit({ name, isProven: true }, isLong)
          if (typeof ticket === 'object') open.push({ name, release: () => ticket.release() })
          if (leaves) open.shift()?.release()
          expect(limits.active).toBe(new Set(open.map((each) => each.name)).size)
        }
      }),
    )
  })

  it('lets those who come when all places are taken share one allowance, and forgets only who is at rest', async () => {
    const clock = new ManualClock()
    const limits = new CallerLimits(clock)
    for (let count = 0; count < MAX_CALLERS; count += 1) once(limits, { name: `busy-${count}`, isProven: false })
    const late = Array.from({ length: MAX_UNPROVEN_REQUESTS }, (_, count) =>
      limits.admit({ name: `late-${count}`, isProven: true }, false),
    )
    expect(late.every((ticket) => typeof ticket === 'object')).toBe(true)
    expect(limits.admit({ name: 'latest', isProven: true }, false)).toBe('in-flight')
    await clock.advance(60_000)
    expect(typeof limits.admit({ name: 'latest', isProven: true }, false)).toBe('object')
  })
})
