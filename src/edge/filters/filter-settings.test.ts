import { describe, expect, it } from 'vitest'
import { readDisabledFilters } from './filter-settings.ts'

const suggest = (name: string, known: readonly string[]): string => `; ${name} of ${known.length}?`

describe('disabled filters', () => {
  it('are read in the order of the one list, each once', () => {
    expect(readDisabledFilters(['serviceenv', 'masterservice', 'serviceenv'], suggest)).toEqual([
      'masterservice',
      'serviceenv',
    ])
    expect(readDisabledFilters([], suggest)).toEqual([])
  })

  it('are all of them for a star', () => {
    expect(readDisabledFilters(['*'], suggest)).toEqual([
      'masterservice',
      'forwardkubesvctraffic',
      'inclusterconfig',
      'serviceenv',
      'localendpoints',
    ])
  })

  it('must have names that exist', () => {
    expect(() => readDisabledFilters(['masterservce'], suggest)).toThrow(
      'unknown filter "masterservce"; masterservce of 5?',
    )
    expect(() => readDisabledFilters([''], suggest)).toThrow('unknown filter ""')
  })

  it('cannot be all and one of them', () => {
    expect(() => readDisabledFilters(['*', 'serviceenv'], suggest)).toThrow(
      '"*" means all filters and must stand alone',
    )
  })
})
