import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalQuantity, MAX_QUANTITY_CHARACTERS } from './quantity.ts'

describe('canonicalQuantity', () => {
  it.each([
    ['0', '0'],
    ['0Gi', '0'],
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['0.1', '100m'],
    ['.5', '500m'],
    ['1024Mi', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['1000', '1k'],
    ['1e3', '1e3'],
    ['1000e3', '1e6'],
    ['-2000', '-2k'],
    ['0.1n', '1n'],
    ['0.1Ei', '115292150460684697600m'],
    ['100Ei', '9223372036854775807'],
  ])('prints %s as %s', (text, canonical) => {
    expect(canonicalQuantity(text)).toBe(canonical)
  })

  it.each(['', '.', 'm', '1 Gi', '1gi', '1K', '1mi', '0x10', '1e', '1e3m', '--1', '１', 'NaN', 'Infinity'])(
    'refuses %j',
    (text) => {
      expect(canonicalQuantity(text)).toBeUndefined()
    },
  )

  it('keeps numbers that no machine could mean as they are', () => {
    const digits = '9'.repeat(MAX_QUANTITY_CHARACTERS + 72)
    expect(canonicalQuantity(digits)).toBe(digits)
    expect(canonicalQuantity('1e99999')).toBe('1e99999')
    expect(canonicalQuantity('1000e99999')).toBe('1000e99999')
  })

  // Not with binary suffixes: 1000 times 1024 bytes print as 1024000, which a reader takes for a decimal number.
  it('comes to rest after one step', () => {
    const suffix = fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'e3', 'e-3', 'E6')
    const text = fc.tuple(fc.integer({ min: -(10 ** 9), max: 10 ** 9 }), fc.constantFrom('', '.5', '.125'), suffix)
    fc.assert(
      fc.property(text, ([number, fraction, unit]) => {
        const once = canonicalQuantity(`${number}${fraction}${unit}`)
        expect(once).toBeDefined()
        expect(canonicalQuantity(once ?? '')).toBe(once)
      }),
    )
  })
})
