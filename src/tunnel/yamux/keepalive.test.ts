import { describe, expect, it } from 'vitest'
import { Keepalive } from './keepalive.ts'
import { MAX_SILENT_INTERVALS, MAX_UNANSWERED_PINGS, RTT_MAX_AGE_MS } from './limits.ts'

const intervalMs = 10_000

describe('Keepalive', () => {
  it('asks at once, and then once per interval', () => {
    const keepalive = new Keepalive(intervalMs, 0)
    expect(keepalive.wantsPing).toBe(true)
    keepalive.ping(0)
    keepalive.tick(intervalMs - 1)
    expect(keepalive.wantsPing).toBe(false)
    keepalive.tick(intervalMs)
    expect(keepalive.wantsPing).toBe(true)
    expect(keepalive.dueMs).toBe(2 * intervalMs)
  })

  it('measures the round trip, smoothed, and ignores answers nobody asked for', () => {
    const keepalive = new Keepalive(intervalMs, 0)
    expect(keepalive.rttMs).toBeUndefined()
    expect(keepalive.onPong(keepalive.ping(100), 140)).toBe(true)
    expect(keepalive.rttMs).toBe(40)
    expect(keepalive.onPong(0, 200)).toBe(false)
    keepalive.onPong(keepalive.ping(200), 220)
    expect(keepalive.rttMs).toBe(30)
  })

  it('takes answers to several pings in order, and gives up those that were passed over', () => {
    const keepalive = new Keepalive(intervalMs, 0)
    const [first, second, third] = [keepalive.ping(0), keepalive.ping(10), keepalive.ping(20)]
    expect([second, third, first].map((value) => keepalive.onPong(value, 30))).toEqual([true, true, false])
  })

  it('measures again while data flows, but only when the last measurement is old and answered', () => {
    const keepalive = new Keepalive(intervalMs, 0)
    const first = keepalive.ping(0)
    expect(keepalive.refresh(RTT_MAX_AGE_MS)).toBe(false)
    keepalive.onPong(first, 10)
    expect(keepalive.refresh(10 + RTT_MAX_AGE_MS - 1)).toBe(false)
    expect(keepalive.refresh(10 + RTT_MAX_AGE_MS)).toBe(true)
    expect(keepalive.wantsPing).toBe(true)
  })

  it('gives a silent peer up after the allowed intervals, and one that speaks not', () => {
    const keepalive = new Keepalive(intervalMs, 0)
    let nowMs = 0
    const tick = (): void => {
      nowMs += intervalMs
      keepalive.tick(nowMs)
    }
    for (let count = 0; count < 10; count++) {
      tick()
      keepalive.onPong(keepalive.ping(nowMs), nowMs)
      keepalive.onBytes()
    }
    for (let count = 0; count < MAX_SILENT_INTERVALS; count++) tick()
    expect(tick).toThrow('the peer sent nothing for 20 s')
  })

  it('gives up a peer that speaks but answers no ping', () => {
    const keepalive = new Keepalive(intervalMs, 0)
    let nowMs = 0
    const tick = (): void => {
      keepalive.ping(nowMs)
      keepalive.onBytes()
      nowMs += intervalMs
      keepalive.tick(nowMs)
    }
    for (let count = 1; count < MAX_UNANSWERED_PINGS; count++) tick()
    expect(tick).toThrow(`the peer left ${MAX_UNANSWERED_PINGS} pings unanswered`)
  })

  it('gives up a peer that speaks but reads nothing, so that no ping can leave', () => {
    const keepalive = new Keepalive(intervalMs, 0)
    let nowMs = 0
    const tick = (): void => {
      keepalive.onBytes()
      nowMs += intervalMs
      keepalive.tick(nowMs)
    }
    for (let count = 1; count < MAX_UNANSWERED_PINGS; count++) tick()
    expect(tick).toThrow(`the peer left ${MAX_UNANSWERED_PINGS} pings unanswered`)
  })
})
