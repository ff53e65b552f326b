import * as fc from 'fast-check'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import type { ValueType } from './option.ts'
import {
  addressRange,
  duration,
  filePath,
  integer,
  ipAddress,
  listenAddress,
  listOf,
  MAX_DURATION_MS,
  oneOf,
  onOff,
  orderOf,
  period,
  quoted,
  text,
} from './values.ts'

function read<T>(type: ValueType<T>, given: string): T {
  return v.parse(type.schema('/base'), type.fromText(given))
}

describe('values', () => {
  it.each([
    ['127.0.0.1:10551', { host: '127.0.0.1', port: 10551 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
    ['[::1]:65535', { host: '::1', port: 65535 }],
  ])('reads the address %s and shows it the same', (given, address) => {
    expect(read(listenAddress, given)).toEqual(address)
    expect(listenAddress.toPlain(address)).toBe(given)
  })

  it.each([
    ['127.0.0.1', 'the port is missing'],
    ['::1', 'an IPv6 address stands in brackets'],
    ['::1:80', 'an IPv6 address stands in brackets'],
    [':80', 'the host is missing'],
    ['a:65536', 'the port is not a number'],
    ['a:http', 'the port is not a number'],
    ['a:-1', 'the port is not a number'],
    ['a:', 'the port is not a number'],
  ])('refuses the address %s: %s', (given, reason) => {
    expect(() => read(listenAddress, given)).toThrow(reason)
  })

  it.each([
    ['365d', 365 * 86_400_000],
    ['1d12h', 36 * 3_600_000],
    ['0s', 0],
  ])('reads the period %s and shows it the same', (given, periodMs) => {
    expect(read(period, given)).toBe(periodMs)
    expect(period.toPlain(periodMs)).toBe(given)
  })

  it.each(['1w', '500ms', '36501d', ''])('refuses the period %s', (given) => {
    expect(() => read(period, given)).toThrow(/unit|hundred years/)
  })

  it.each([
    ['10.96.0.0/12', '10.96.0.0/12'],
    ['FD00:0::/108', 'fd00::/108'],
  ])('reads the range %s', (given, range) => {
    expect(read(addressRange, given)).toBe(range)
  })

  it.each(['10.96.0.0', '10.96.0.0/33', '10.96/12', 'a/8', '10.0.0.0/8/8', '::/129'])(
    'refuses the range %s',
    (given) => {
      expect(() => read(addressRange, given)).toThrow('no address with the length of a prefix')
    },
  )

  it('reads an address in its shortest spelling', () => {
    expect(read(ipAddress, '0:0::1')).toBe('::1')
    expect(() => read(ipAddress, 'localhost')).toThrow('no IP address')
  })

  it.each([
    ['10s', 10_000],
    ['1m30s', 90_000],
    ['500ms', 500],
    ['0s', 0],
    ['24h', 86_400_000],
  ])('reads the duration %s', (given, durationMs) => {
    expect(read(duration, given)).toBe(durationMs)
  })

  it.each(['10', 's', '-1s', '1.5s', '10 s', '1d', '', '600h'])('refuses the duration "%s"', (given) => {
    expect(() => read(duration, given)).toThrow(/^it /)
  })

  it('shows every duration so that it reads back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: MAX_DURATION_MS }), (durationMs) => {
        expect(read(duration, duration.toPlain(durationMs) as string)).toBe(durationMs)
      }),
    )
  })

  it('resolves paths against the folder they are relative to', () => {
    expect(read(filePath, 'x/../y')).toBe('/base/y')
    expect(read(filePath, '/abs')).toBe('/abs')
    expect(() => read(filePath, '')).toThrow('it is empty')
    expect(() => read(filePath, 'a\0b')).toThrow('NUL')
  })

  it('reads numbers, switches, choices and lists from text', () => {
    expect(read(integer(1, 9), '5')).toBe(5)
    expect(read(onOff, 'false')).toBe(false)
    expect(read(oneOf('colour', ['red', 'blue']), 'red')).toBe('red')
    expect(read(listOf(integer(1, 9)), '1, 2,3')).toEqual([1, 2, 3])
    expect(read(listOf(text), '')).toEqual([])
  })

  it.each([
    [integer(1, 9), '10'],
    [integer(1, 9), '1e0'],
    [onOff, 'yes'],
    [oneOf('colour', ['red']), 'Red'],
    [listOf(text), 'a,,b'],
  ] as [ValueType<unknown>, string][])('refuses what does not fit (%#)', (type, given) => {
    expect(() => read(type, given)).toThrow(v.ValiError)
  })

  it('reads an order of choices, and says what is wrong with one', () => {
    const order = orderOf('mode', ['Node', 'RBAC'])
    expect(read(order, 'RBAC, Node')).toEqual(['RBAC', 'Node'])
    expect(() => read(order, 'Node,ABAC')).toThrow('"ABAC" is none of them')
    expect(() => read(order, 'Node,RBAC,Node')).toThrow('"Node" stands there more than once')
    expect(() => read(order, '')).toThrow('it is empty')
  })

  it('quotes what was given', () => {
    expect([null, 'a', 5, true, [1], {}].map(quoted)).toEqual([
      'nothing',
      '"a"',
      'the number 5',
      'the boolean true',
      'a list',
      'a mapping',
    ])
  })
})
