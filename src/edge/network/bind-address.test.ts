import { describe, expect, it } from 'vitest'
import { advertiseWarning, isAlwaysThere, parseBindAddress } from './bind-address.ts'

describe('a bind address', () => {
  it.each([
    ['10.1.2.3', '10.1.2.3'],
    [' 10.1.2.3 ', '10.1.2.3'],
    ['[FD00:0::7]', 'fd00::7'],
    ['0.0.0.0', '0.0.0.0'],
    ['::', '::'],
  ])('%s is read', (text, address) => {
    expect(parseBindAddress(text)).toBe(address)
  })

  it.each([
    ['node-1', 'is no IP address'],
    ['10.1.2.3/24', 'is no IP address'],
    ['fe80::1%eth0', 'is no IP address'],
    ['', 'is no IP address'],
    ['224.0.0.1', 'for groups of machines'],
    ['255.255.255.255', 'for groups of machines'],
    ['0.1.2.3', 'for groups of machines'],
    ['ff02::1', 'for groups of machines'],
  ])('%j is refused', (text, problem) => {
    expect(() => parseBindAddress(text)).toThrow(problem)
  })

  it('that every machine has needs no interface', () => {
    expect(['0.0.0.0', '::', '127.0.0.1', '127.9.9.9', '::1'].filter((address) => !isAlwaysThere(address))).toEqual([])
    expect(['10.0.0.1', '169.254.30.10', 'fd00::1'].filter(isAlwaysThere)).toEqual([])
  })

  it('that no API server can advertise is told so', () => {
    expect(advertiseWarning('127.0.0.1')).toContain('127.0.0.1 is a loopback address')
    expect(advertiseWarning('::1')).toContain('--advertise-address')
    expect(advertiseWarning('169.254.30.10')).toContain('169.254.30.10 is a link-local address')
    expect(advertiseWarning('fe80::1')).toContain('link-local')
    expect(advertiseWarning('0.0.0.0')).toContain('no address of its own')
    expect(advertiseWarning('10.0.0.1')).toBeUndefined()
  })
})
