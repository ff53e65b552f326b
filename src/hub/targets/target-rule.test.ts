import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hostPortOfUrl, parseHostPort } from '../../network/host-port.ts'
import { parseTargetRule, ruleCovers, ruleNames } from './target-rule.ts'

const covers = (rule: string, node: string, target: string): boolean => {
  const address = parseHostPort(target)
  return address !== undefined && ruleCovers(parseTargetRule(rule), node, address)
}

describe('an address', () => {
  it.each([
    ['db.example:5432', { host: 'db.example', port: 5432 }],
    ['DB.Example.:5432', { host: 'db.example', port: 5432 }],
    ['10.0.0.7:80', { host: '10.0.0.7', port: 80 }],
    ['[2001:DB8:0::7]:80', { host: '2001:db8::7', port: 80 }],
    ['[::ffff:10.0.0.7]:80', { host: '10.0.0.7', port: 80 }],
    ['_sip._tcp.example:5060', { host: '_sip._tcp.example', port: 5060 }],
  ])('%s is read', (text, address) => expect(parseHostPort(text)).toEqual(address))

  it.each([
    'db.example',
    ':80',
    'db.example:',
    'db.example:0',
    'db.example:65536',
    'db.example:080',
    'db.example:http',
    'db.example:80:81',
    '::1:80',
    '[::1%lo]:80',
    '[db.example]:80',
    'user@db.example:80',
    'db.example/..:80',
    'db example:80',
    '-db.example:80',
    'db..example:80',
    `${'a'.repeat(254)}:80`,
    '',
  ])('%j is none', (text) => expect(parseHostPort(text)).toBeUndefined())
})

describe('the URL of a server', () => {
  it.each([
    ['https://api.example:6443/path', { host: 'api.example', port: 6443 }],
    ['https://api.example', { host: 'api.example', port: 443 }],
    ['http://10.0.0.1', { host: '10.0.0.1', port: 80 }],
    ['https://[2001:db8::1]:6443', { host: '2001:db8::1', port: 6443 }],
  ])('%s names an address', (url, address) => expect(hostPortOfUrl(new URL(url))).toEqual(address))

  it('may name none', () => expect(hostPortOfUrl(new URL('unix:/run/api.sock'))).toBeUndefined())
})

describe('a rule', () => {
  it.each([
    ['db.example:5432', 'edge-1', 'db.example:5432'],
    ['db.example:5432', 'edge-1', 'DB.EXAMPLE.:5432'],
    ['*.example:443', 'edge-1', 'a.b.example:443'],
    ['db.example:*', 'edge-1', 'db.example:1'],
    ['*:443', 'edge-1', '10.0.0.7:443'],
    ['edge-1=db.example:5432', 'edge-1', 'db.example:5432'],
    ['store-*,edge-1=db.example:5432', 'store-7', 'db.example:5432'],
    ['store-*,edge-1=db.example:5432', 'edge-1', 'db.example:5432'],
    ['[::1]:80', 'edge-1', '[0:0:0:0:0:0:0:1]:80'],
    ['10.0.0.7:80', 'edge-1', '[::ffff:10.0.0.7]:80'],
  ])('%s covers, for %s, %s', (rule, node, target) => expect(covers(rule, node, target)).toBe(true))

  it.each([
    ['db.example:5432', 'edge-1', 'db.example:5433'],
    ['db.example:5432', 'edge-1', 'a.db.example:5432'],
    ['*.example:443', 'edge-1', 'example:443'],
    ['*.example:443', 'edge-1', 'evilexample:443'],
    ['*.example:443', 'edge-1', 'a.example.evil:443'],
    ['*.7:443', 'edge-1', '10.0.0.7:443'],
    ['edge-1=db.example:5432', 'edge-10', 'db.example:5432'],
    ['store-*=db.example:5432', 'xstore-1', 'db.example:5432'],
  ])('%s does not cover, for %s, %s', (rule, node, target) => expect(covers(rule, node, target)).toBe(false))

  it('names only what it spells out', () => {
    const address = { host: '10.0.0.7', port: 80 }
    expect(ruleNames(parseTargetRule('10.0.0.7:*'), 'a', address)).toBe(true)
    expect(ruleNames(parseTargetRule('*:80'), 'a', address)).toBe(false)
    expect(ruleNames(parseTargetRule('b=10.0.0.7:80'), 'a', address)).toBe(false)
  })

  it.each([
    ['db.example', '"db.example" has no port'],
    ['db.example:99999', '"99999" is not a port'],
    ['edge_1=db.example:80', '"edge_1" is not the name of a node'],
    ['=db.example:80', '"" is not the name of a node'],
    ['a*b.example:80', '"a*b.example" is not a host'],
    ['*.10.0.0.7:80', '"*.10.0.0.7" is not a host'],
    ['2001:db8::7:80', '"2001:db8::7:80" has no port'],
  ])('%j is refused: %s', (text, problem) => {
    expect(() => parseTargetRule(text)).toThrow(`allowed target ${JSON.stringify(text)}: ${problem}`)
  })

  it('is never a surprise: any text is a rule or a TargetRuleError', () => {
    const alphabet = fc.string({ unit: fc.constantFrom(...'a b 1 . * : = [ ] , - %'.split(' '), ' '), maxLength: 20 })
    fc.assert(
      fc.property(alphabet, alphabet, (rule, target) => {
        try {
          covers(rule, 'a', target)
        } catch (error) {
          expect((error as Error).name).toBe('TargetRuleError')
        }
      }),
    )
  })
})
