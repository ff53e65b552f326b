import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  advance,
  afterSigned,
  afterTold,
  beginSteady,
  MAX_UNPROVEN_MS,
  PEER_SKEW_MS,
  steadyNow,
} from './steady-core.ts'

const dayMs = 24 * 60 * 60 * 1000
const startMs = Date.UTC(2026, 0, 1)

/** A machine whose clocks are the test's. */
class Machine {
  wallMs = startMs
  monotonicMs = 0
  state = beginSteady(this)

  now(): number {
    this.state = advance(this.state, this)
    return steadyNow(this.state, this)
  }

  pass(ms: number): void {
    this.wallMs += ms
    this.monotonicMs += ms
  }

  /** Off for a while; what its clock says afterwards is another matter. */
  reboot(wallMs: number): void {
    this.now()
    const { provenMs, floorMs } = this.state
    this.wallMs = wallMs
    this.monotonicMs = 0
    this.state = beginSteady(this, { provenMs, floorMs })
  }

  told(dateMs: number): void {
    this.now()
    this.state = afterTold(this.state, dateMs)
  }
}

describe('steady time', () => {
  it('follows the clock of the machine, but not back', () => {
    const machine = new Machine()
    machine.pass(dayMs)
    expect(machine.now()).toBe(startMs + dayMs)
    machine.wallMs = Date.UTC(1970, 0, 1)
    expect(machine.now()).toBe(startMs + dayMs)
    machine.pass(1_000)
    expect(machine.now()).toBe(startMs + dayMs + 1_000)
  })

  it('survives a power cut and a clock that does not', () => {
    const machine = new Machine()
    machine.pass(3 * dayMs)
    machine.reboot(Date.UTC(1970, 0, 1))
    expect(machine.now()).toBe(startMs + 3 * dayMs)
    // Off for ten days with a clock that went on, then once more with one that did not.
    machine.reboot(startMs + 13 * dayMs)
    expect(machine.now()).toBe(startMs + 13 * dayMs)
    machine.reboot(0)
    expect(machine.now()).toBe(startMs + 13 * dayMs)
  })

  it('keeps little of a clock that was years ahead once it is corrected, and nothing once a peer has told the date', () => {
    const machine = new Machine()
    machine.wallMs += 3_650 * dayMs
    expect(machine.now()).toBe(startMs + 3_650 * dayMs)
    machine.wallMs = startMs
    expect(machine.now()).toBe(startMs + MAX_UNPROVEN_MS)
    machine.told(startMs + 5_000)
    machine.wallMs = startMs + 5_000
    expect(machine.now()).toBe(startMs + 5_000)
  })

  it('is not turned back by peers that differ a little', () => {
    const machine = new Machine()
    machine.told(startMs + 30_000)
    machine.told(startMs + 30_000 - PEER_SKEW_MS)
    expect(machine.now()).toBe(startMs + 30_000)
  })

  it('learns from what is signed that it is later', () => {
    const machine = new Machine()
    machine.reboot(0)
    machine.state = afterSigned(machine.state, startMs + 9 * dayMs)
    expect(machine.now()).toBe(startMs + 9 * dayMs)
    machine.state = afterSigned(machine.state, startMs)
    expect(machine.now()).toBe(startMs + 9 * dayMs)
  })

  const events = fc.oneof(
    fc.record({ type: fc.constant('pass' as const), ms: fc.nat(20 * dayMs) }),
    fc.record({ type: fc.constant('set' as const), ms: fc.integer({ min: 0, max: 4e12 }) }),
    fc.record({ type: fc.constant('reboot' as const), ms: fc.integer({ min: 0, max: 4e12 }) }),
    fc.record({ type: fc.constant('told' as const), ms: fc.integer({ min: 1e12, max: 3e12 }) }),
  )

  it('never goes back unless a peer says so, and never stays further ahead than its bound', () => {
    fc.assert(
      fc.property(fc.array(events, { maxLength: 60 }), (list) => {
        const machine = new Machine()
        /** The latest time within the bound that was shown since a peer last told the date. */
        let shownMs = machine.now()
        let provenMs = startMs
        for (const event of list) {
          if (event.type === 'pass') machine.pass(event.ms)
          if (event.type === 'pass') provenMs += event.ms
          if (event.type === 'set') machine.wallMs = event.ms
          if (event.type === 'reboot') machine.reboot(event.ms)
          if (event.type === 'told') {
            machine.told(event.ms)
            provenMs = event.ms
            shownMs = Math.min(shownMs, event.ms)
          }
          const nowMs = machine.now()
          const boundMs = provenMs + MAX_UNPROVEN_MS
          expect(nowMs).toBeGreaterThanOrEqual(shownMs)
          expect(nowMs).toBeGreaterThanOrEqual(machine.wallMs)
          if (machine.wallMs <= boundMs) expect(nowMs).toBeLessThanOrEqual(Math.max(boundMs, provenMs + PEER_SKEW_MS))
          shownMs = Math.max(shownMs, Math.min(nowMs, boundMs))
        }
      }),
    )
  })
})
