import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DelayLine } from './delay-line.ts'

describe('a delay line', () => {
  it('lets nothing out before its time, keeps the order, and counts what it holds', () => {
    const puts = fc.array(fc.record({ size: fc.nat(50), waitMs: fc.nat(20), delayMs: fc.nat(100) }), { maxLength: 40 })
    fc.assert(
      fc.property(puts, (list) => {
        const line = new DelayLine()
        const due: number[] = []
        const out: number[] = []
        let nowMs = 0
        const drain = (): void => {
          for (let item = line.take(nowMs); item !== undefined; item = line.take(nowMs)) {
            expect(due[out.length]).toBeLessThanOrEqual(nowMs)
            out.push(item.kind === 'bytes' ? item.bytes.length : -1)
          }
        }
        for (const { size, waitMs, delayMs } of list) {
          nowMs += waitMs
          line.put({ kind: 'bytes', bytes: new Uint8Array(size) }, nowMs + delayMs)
          due.push(nowMs + delayMs)
          drain()
        }
        nowMs += 1_000
        drain()
        expect(out).toEqual(list.map(({ size }) => size))
        expect([line.heldBytes, line.dueMs]).toEqual([0, undefined])
      }),
    )
  })
})
