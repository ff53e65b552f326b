import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { MAX_POOL_CONNECTIONS, MAX_STREAMS_PER_UPSTREAM } from '../upstream/pool-core.ts'
import {
  type CallerKey,
  CallerLimits,
  FAILED_REQUEST_COST,
  MAX_CALLERS,
  MAX_LONG_REQUESTS_OF_NODE,
  MAX_LONG_REQUESTS_PER_CALLER,
  MAX_REQUEST_DELAY_MS,
  MAX_REQUESTS_PER_CALLER,
  MAX_UNPROVEN_REQUESTS,
  MAX_UNPROVEN_UPGRADES,
  MAX_UPGRADES_PER_CALLER,
  PLACES_FOR_NEW_TOKENS,
  REQUEST_BURST,
  REQUESTS_PER_SECOND,
  type RequestKind,
  UNPROVEN_REQUESTS_PER_SECOND,
  UPGRADE_COST,
} from './caller-limits.ts'

const pod: CallerKey = { name: 'pod', standing: 'proven' }
const other: CallerKey = { name: 'other', standing: 'proven' }
const node: CallerKey = { name: 'node', standing: 'node' }
const stranger: CallerKey = { name: 'address 10.0.0.1', standing: 'new' }
const nobody: CallerKey = { ...stranger, standing: 'anonymous' }

/** One request that is over at once: how long it had to wait, or why it was refused. */
function once(limits: CallerLimits, key = pod): number | string {
  const ticket = limits.admit(key, 'short')
  if (typeof ticket === 'string') return ticket
  ticket.release()
  return ticket.delayMs
}

const kinds = fc.constantFrom<RequestKind>('short', 'long', 'upgrade')

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

  it.each<[string, CallerKey, RequestKind, number, string]>([
    ['short requests', pod, 'short', MAX_REQUESTS_PER_CALLER, 'in-flight'],
    ['long requests', pod, 'long', MAX_LONG_REQUESTS_PER_CALLER, 'long-running'],
    ['long requests of the node', node, 'long', MAX_LONG_REQUESTS_OF_NODE, 'long-running'],
    ['upgrades', pod, 'upgrade', MAX_UPGRADES_PER_CALLER, 'upgrades'],
    ['short requests of strangers', stranger, 'short', MAX_UNPROVEN_REQUESTS, 'in-flight'],
    ['long requests of strangers', stranger, 'long', MAX_UNPROVEN_REQUESTS, 'long-running'],
    ['upgrades of strangers', stranger, 'upgrade', MAX_UNPROVEN_UPGRADES, 'upgrades'],
  ])('limits %s under way', (_name, key, kind, max, refusal) => {
    const limits = new CallerLimits(new ManualClock())
    const tickets = Array.from({ length: max }, () => limits.admit(key, kind))
    expect(tickets.every((ticket) => typeof ticket === 'object')).toBe(true)
    expect(limits.admit(key, kind)).toBe(refusal)
    expect(typeof limits.admit(key, kind === 'short' ? 'long' : 'short')).toBe('object')
    const [first] = tickets
    if (typeof first === 'object') first.release()
    expect(typeof limits.admit(key, kind)).toBe('object')
  })

  it('lets no two callers fill what the connections for tokens carry', () => {
    const streams = MAX_POOL_CONNECTIONS * MAX_STREAMS_PER_UPSTREAM
    expect(2 * MAX_LONG_REQUESTS_PER_CALLER).toBeLessThan(streams)
  })

  it('makes an upgrade cost as much as many other requests', () => {
    const limits = new CallerLimits(new ManualClock())
    for (let spent = UPGRADE_COST; spent <= REQUEST_BURST; spent += UPGRADE_COST) {
      const ticket = limits.admit(pod, 'upgrade')
      if (typeof ticket === 'object') ticket.release()
    }
    expect(once(limits)).toBeGreaterThan(0)
  })

  it('keeps places for new tokens that those without one do not take', () => {
    const limits = new CallerLimits(new ManualClock())
    for (let count = PLACES_FOR_NEW_TOKENS; count < MAX_UNPROVEN_REQUESTS; count += 1)
      expect(typeof limits.admit(nobody, 'long')).toBe('object')
    expect(limits.admit(nobody, 'long')).toBe('long-running')
    for (let count = 0; count < PLACES_FOR_NEW_TOKENS; count += 1)
      expect(typeof limits.admit(stranger, 'long')).toBe('object')
    expect(limits.admit(stranger, 'long')).toBe('long-running')
  })

  it('counts a request for the caller that it turned out to be', () => {
    const limits = new CallerLimits(new ManualClock())
    const tickets = Array.from({ length: MAX_UNPROVEN_REQUESTS }, () => limits.admit(stranger, 'long'))
    for (const ticket of tickets) if (typeof ticket === 'object') ticket.move(pod)
    expect(limits.active).toBe(1)
    expect(typeof limits.admit(stranger, 'long')).toBe('object')
    for (let count = MAX_UNPROVEN_REQUESTS; count < MAX_LONG_REQUESTS_PER_CALLER; count += 1) limits.admit(pod, 'long')
    expect(limits.admit(pod, 'long')).toBe('long-running')
    const [first] = tickets
    if (typeof first !== 'object') throw new Error(first)
    first.release()
    // The answer of a client that has gone may still come.
    first.move(other)
    first.release()
    expect(typeof limits.admit(pod, 'long')).toBe('object')
    expect(limits.admit(pod, 'long')).toBe('long-running')
    expect(limits.active).toBe(2)
  })

  it('counts callers with something under way', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), kinds, fc.boolean())), (steps) => {
        const limits = new CallerLimits(new ManualClock())
        const open: { name: string; release: () => void }[] = []
        for (const [name, kind, leaves] of steps) {
          const ticket = limits.admit({ name, standing: 'proven' }, kind)
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
    for (let count = 0; count < MAX_CALLERS; count += 1) once(limits, { name: `busy-${count}`, standing: 'new' })
    const late = Array.from({ length: MAX_UNPROVEN_REQUESTS }, (_, count) =>
      limits.admit({ name: `late-${count}`, standing: 'proven' }, 'short'),
    )
    expect(late.every((ticket) => typeof ticket === 'object')).toBe(true)
    expect(limits.admit({ name: 'latest', standing: 'proven' }, 'short')).toBe('in-flight')
    await clock.advance(60_000)
    expect(typeof limits.admit({ name: 'latest', standing: 'proven' }, 'short')).toBe('object')
  })
})
