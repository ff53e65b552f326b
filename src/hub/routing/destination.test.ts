import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalIp } from '../../network/host.ts'
import { formatDestination, parseAuthority, parseHost } from './destination.ts'

const name = (text: string) => ({ kind: 'name', text })
const address = (text: string) => ({ kind: 'address', text })

describe('parseHost', () => {
  it.each([
    ['edge-1', name('edge-1')],
    ['Edge-1.Example.COM.', name('edge-1.example.com')],
    ['_srv.example', name('_srv.example')],
    ['10.0.0.1', address('10.0.0.1')],
    ['0:0:0:0:0:0:0:1', address('::1')],
    ['FD00::A', address('fd00::a')],
  ])('gives one spelling to %s', (text, expected) => {
    expect(parseHost(text)).toEqual(expected)
  })

  it('takes an IPv4 address inside IPv6 for that address, in every spelling', () => {
    for (const text of ['::ffff:10.0.0.1', '::FFFF:a00:1', '0:0:0:0:0:ffff:0a00:0001'])
      expect(parseHost(text)).toEqual(address('10.0.0.1'))
  })

  it.each([
    '',
    '.',
    'a..b',
    '-a',
    'a-',
    'a b',
    'a/b',
    'user@host',
    'a\r\nb',
    'a\u0000b',
    'fe80::1%eth0',
    '127.1',
    '0x7f.0.0.1',
    '2130706433',
    '010.0.0.1',
    '10.0.0.1.',
    '0x7f000001',
    `${'a'.repeat(64)}.`.repeat(4),
    'ümlaut',
  ])('refuses %j', (text) => {
    expect(parseHost(text)).toBeUndefined()
  })
})

describe('parseAuthority', () => {
  it.each([
    ['edge-1:10250', 'edge-1:10250'],
    ['EDGE-1.:1', 'edge-1:1'],
    ['10.0.0.1:65535', '10.0.0.1:65535'],
    ['[fd00::0001]:443', '[fd00::1]:443'],
    ['[::ffff:10.0.0.1]:443', '10.0.0.1:443'],
  ])('reads %s', (text, expected) => {
    const destination = parseAuthority(text)
    expect(typeof destination === 'string' ? destination : formatDestination(destination)).toBe(expected)
  })

  it.each([
    'edge-1',
    'edge-1:',
    ':80',
    'edge-1:0',
    'edge-1:080',
    'edge-1:65536',
    'edge-1:-1',
    'edge-1:1e3',
    'edge-1:80:80',
    'fd00::1:443',
    '[fd00::1]',
    '[edge-1]:443',
    '[10.0.0.1]:443',
    '[fd00::1:443',
    'http://edge-1:80',
    'edge-1:80/path',
    'user@edge-1:80',
    'edge-1:80?x',
    '*:80',
  ])('refuses %j', (text) => {
    expect(parseAuthority(text)).toContain('is not of the form HOST:PORT')
  })

  it('does not look at what is too long', () => {
    expect(parseAuthority(`${'a'.repeat(300)}:80`)).toContain('more than')
  })

  it('reads again what it has written', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.domain()), fc.integer({ min: 1, max: 65_535 }), (host, port) => {
        const parsed = parseHost(host)
        fc.pre(parsed !== undefined)
        const destination = { host: parsed, port }
        expect(parseAuthority(formatDestination(destination))).toEqual(destination)
      }),
    )
  })
})

describe('canonicalIp', () => {
  it('is the same for what it has returned', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const once = canonicalIp(text) ?? ''
        expect(canonicalIp(once)).toBe(once)
      }),
    )
  })
})
