import { describe, expect, it } from 'vitest'
import { BindAddressError } from './bind-address.ts'
import { parseEndpointAddresses } from './endpoint-addresses.ts'

describe('addresses of the endpoint', () => {
  it.each([
    [['169.254.30.10'], '127.0.0.1', ['169.254.30.10']],
    [['none'], '127.0.0.1', []],
    [['::1', 'FD00::0a', '169.254.30.10', 'fd00::a'], '::1', ['fd00::a', '169.254.30.10']],
    [['127.0.0.2'], '127.0.0.2', []],
  ])('%j', (given, loopback, addresses) => {
    expect(parseEndpointAddresses(given)).toEqual({ loopback, addresses })
  })

  it.each([
    [['0.0.0.0'], 'a certificate must name each'],
    [['::'], 'a certificate must name each'],
    [['none', '10.0.0.1'], 'must stand alone'],
    [['127.0.0.1', '::1'], 'one of them is enough'],
    [['edge.example'], 'endpoint address "edge.example" is no IP address'],
    [['224.0.0.1'], 'for groups of machines'],
  ])('%j is refused', (given, why) => {
    expect(() => parseEndpointAddresses(given)).toThrow(BindAddressError)
    expect(() => parseEndpointAddresses(given)).toThrow(why)
  })
})
