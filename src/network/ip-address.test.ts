import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalIpAddress, ipAddressBytes, ipAddressText } from './ip-address.ts'

describe('IP addresses', () => {
  it('survive the way to bytes and back', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
    )
    fc.assert(
      fc.property(bytes, (address) => {
        expect(ipAddressBytes(ipAddressText(address) ?? '')).toEqual(address)
      }),
    )
  })

  it('read every spelling', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const canonical = canonicalIpAddress(text)
        expect(canonical).toBeDefined()
        expect(canonicalIpAddress(canonical ?? '')).toBe(canonical)
      }),
    )
  })

  it.each([
    ['0:0:0:0:0:0:0:1', '::1'],
    ['FE80::0001', 'fe80::1'],
    ['::', '::'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8'],
    ['::ffff:10.0.0.1', '::ffff:a00:1'],
    ['169.254.30.10', '169.254.30.10'],
  ])('%s is %s', (text, canonical) => {
    expect(canonicalIpAddress(text)).toBe(canonical)
  })

  it.each(['', 'localhost', '10.0.0', '10.0.0.256', '010.0.0.1', 'fe80::1%eth0', '[::1]', '::1/128'])(
    '%j is none',
    (text) => {
      expect(ipAddressBytes(text)).toBeUndefined()
    },
  )

  it('have four or sixteen bytes', () => {
    expect(ipAddressText(new Uint8Array(5))).toBeUndefined()
    expect(ipAddressText(new Uint8Array(0))).toBeUndefined()
  })
})
