import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_TYPING_DISTANCE, nearestName, suggestion } from './nearest.ts'

const KEYS = ['dataDir', 'healthAddress', 'logLevel', 'logFormat']

describe('nearestName', () => {
  it.each([
    ['healthAdress', 'healthAddress'],
    ['health-address', 'healthAddress'],
    ['HEALTH_ADDRESS', 'healthAddress'],
    ['logLevle', 'logLevel'],
    ['datadri', 'dataDir'],
    ['logformt', 'logFormat'],
  ])('takes %s for %s', (typed, meant) => {
    expect(nearestName(typed, KEYS)).toBe(meant)
  })

  it.each(['kubeconfig', 'x', '', 'lvl'])('does not guess at "%s"', (typed) => {
    expect(nearestName(typed, KEYS)).toBeUndefined()
  })

  it('finds a known name after any one slip of the finger', () => {
    const slip = fc.record({ key: fc.constantFrom(...KEYS), at: fc.nat(), letter: fc.stringMatching(/^[a-z]$/) })
    fc.assert(
      fc.property(slip, fc.constantFrom('drop', 'insert', 'replace'), ({ key, at, letter }, kind) => {
        const index = at % key.length
        const typed =
          key.slice(0, index) + (kind === 'drop' ? '' : letter) + key.slice(kind === 'insert' ? index : index + 1)
        expect(nearestName(typed, KEYS)).toBe(key)
      }),
    )
  })
})

describe('MAX_TYPING_DISTANCE', () => {
  it('is how many slips are forgiven in a long name', () => {
    const typed = (slips: number): string => `${'x'.repeat(slips)}${'healthaddress'.slice(slips)}`
    expect(nearestName(typed(MAX_TYPING_DISTANCE), KEYS)).toBe('healthAddress')
    expect(nearestName(typed(MAX_TYPING_DISTANCE + 1), KEYS)).toBeUndefined()
  })
})

describe('suggestion', () => {
  it('names the nearest, or all when none is near', () => {
    expect(suggestion('logLevle', KEYS)).toBe('; did you mean "logLevel"?')
    expect(suggestion('tls', KEYS)).toBe('; known: dataDir, healthAddress, logLevel, logFormat')
  })
})
