import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isNotNewer } from './versions.ts'

describe('versions', () => {
  it('orders decimal numbers of any size', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 2n ** 70n }), fc.bigInt({ min: 1n, max: 2n ** 70n }), (a, b) => {
        expect(isNotNewer(String(a), String(b))).toBe(a <= b)
      }),
    )
  })

  it('knows only equality of everything else', () => {
    expect(isNotNewer('abc', 'abc')).toBe(true)
    expect(isNotNewer('abc', 'abd')).toBe(false)
    expect(isNotNewer('07', '8')).toBe(false)
    expect(isNotNewer('', '8')).toBe(false)
  })
})
