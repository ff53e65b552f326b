import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { KeptBytes } from '../../../../test/worlds/kept-bytes.ts'
import { ManualClock } from '../../../runtime/clock.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import { hashToken, MAX_SEEN_TOKENS, SeenTokens } from './seen-tokens.ts'

const clock = new ManualClock()
const logger = createLogger({ level: 'fatal', format: 'json', clock, destination: { write: () => {} } })

/** Time offline, told by the test. */
class Told {
  totalMs = 0
  periodMs = 0
}

function seenTokens(offlineTime: Told): SeenTokens {
  return new SeenTokens({ kept: new KeptBytes(), offlineTime, clock, logger })
}

describe('seen tokens', () => {
  it('forget the one seen longest ago when there are too many', () => {
    const seen = seenTokens(new Told())
    for (let index = 0; index <= MAX_SEEN_TOKENS; index++) seen.add(hashToken(`${index}`), 1)
    expect([seen.size, seen.has(hashToken('0')), seen.has(hashToken('1'))]).toEqual([MAX_SEEN_TOKENS, false, true])
  })

  const events = fc.oneof(
    fc.record({ type: fc.constant('pass' as const), ms: fc.nat(1_000_000) }),
    fc.record({ type: fc.constantFrom('online' as const, 'offline' as const, 'ask' as const) }),
    /** The clock of the machine, which steady time follows ahead. */
    fc.record({ type: fc.constant('jump' as const), ms: fc.nat(100_000_000) }),
  )

  it('use up a grace by time that really passed offline after the end, and never give any of it back', () => {
    fc.assert(
      fc.property(fc.array(events, { maxLength: 60 }), fc.nat(2_000_000), (list, expiresMs) => {
        const told = new Told()
        const seen = seenTokens(told)
        const hash = hashToken('a token')
        seen.add(hash, expiresMs)
        let nowMs = 0
        let isOffline = false
        /** Time offline since it was asked about after its end for the first time: that much is used up at least. */
        let sinceAskedMs: number | undefined
        let usedMs = 0
        for (const event of list) {
          if (event.type === 'jump') nowMs += event.ms
          if (event.type === 'online') told.periodMs = 0
          if (event.type === 'online' || event.type === 'offline') isOffline = event.type === 'offline'
          if (event.type === 'pass') {
            nowMs += event.ms
            if (isOffline) {
              told.totalMs += event.ms
              told.periodMs += event.ms
              if (sinceAskedMs !== undefined) sinceAskedMs += event.ms
            }
          }
          if (event.type !== 'ask' || nowMs <= expiresMs) continue
          const nextMs = seen.graceUsedMs(hash, nowMs) ?? Number.NaN
          expect(nextMs).toBeGreaterThanOrEqual(usedMs)
          expect(nextMs).toBeGreaterThanOrEqual(sinceAskedMs ?? 0)
          expect(nextMs).toBeLessThanOrEqual(told.totalMs)
          sinceAskedMs ??= 0
          usedMs = nextMs
        }
      }),
    )
  })
})
