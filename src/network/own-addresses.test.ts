import { describe, expect, it } from 'vitest'
import { addressesOfThisMachine, localIpv4Addresses } from './own-addresses.ts'

const fibTrie = `Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 127.0.0.0/8 2 0 2
        |-- 127.0.0.1
           /32 host LOCAL
        |-- 127.255.255.255
           /32 link BROADCAST
     |-- 169.254.30.10
        /32 host LOCAL
     |-- 10.0.0.0
        /24 link UNICAST
`

describe('addresses of this machine', () => {
  it('are those that the kernel calls local, with or without a carrier', () => {
    expect(localIpv4Addresses(fibTrie)).toEqual(['127.0.0.1', '169.254.30.10'])
    expect(localIpv4Addresses('')).toEqual([])
  })

  it('include loopback, each once', () => {
    const own = addressesOfThisMachine()
    expect(own).toContain('127.0.0.1')
    expect(new Set(own).size).toBe(own.length)
  })
})
