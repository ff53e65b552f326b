import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { scheduleBreach } from './cron-schedule.ts'

const bounds = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 6],
] as const

const field = ([min, max]: readonly [number, number]): fc.Arbitrary<string> => {
  const number = fc.integer({ min, max })
  const range = fc.tuple(number, number).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`)
  const stepped = fc
    .tuple(fc.oneof(fc.constant('*'), range), fc.integer({ min: 1, max: 60 }))
    .map((parts) => parts.join('/'))
  const part = fc.oneof(fc.constant('*'), number.map(String), range, stepped)
  return fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(','))
}

describe('schedules', () => {
  it('are accepted when every number lies in its bounds', () => {
    fc.assert(
      fc.property(fc.tuple(...bounds.map(field)), (fields) => {
        expect(scheduleBreach(fields.join(' '))).toBeUndefined()
      }),
    )
  })

  it('are refused when one number does not', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 1, max: 100 }), (index, excess) => {
        const number = (bounds[index]?.[1] ?? 0) + excess
        const fields = bounds.map((_bounds, position) => (position === index ? String(number) : '*'))
        expect(scheduleBreach(fields.join(' '))).toContain(`end of range (${number}) above maximum`)
      }),
    )
  })

  it.each(['@daily', '@every 1h30m', '0 0 * * mon-FRI', '*/5 * ? jan *', 'TZ=UTC * * * * *'])(
    'takes %s',
    (schedule) => {
      expect(scheduleBreach(schedule)).toBeUndefined()
    },
  )
})
