import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseHostPort } from '../../network/host-port.ts'
import { DestinationPolicy, MAX_KEPT_COVERS } from './destination-policy.ts'
import { parseDestinationRule, parseDestinationRules } from './destination-rule.ts'

function policy(...rules: string[]): DestinationPolicy {
  return new DestinationPolicy({
    node: 'Edge-1',
    rules: parseDestinationRules(rules),
    ownAddresses: () => ['127.0.0.1', '192.168.7.20', 'fd00:0:0::20'],
  })
}

function decision(asked: string, ...rules: string[]): string {
  const decided = policy(...rules).decide(asked)
  if (decided.kind === 'denied') return 'denied'
  return `${decided.kind} ${decided.candidates.map(({ host, port }) => `${host} ${port}`).join(', ')}`
}

describe('the kubelet', () => {
  it.each([
    ['edge-1:10250', 'kubelet 127.0.0.1 10250'],
    ['EDGE-1.:10250', 'kubelet 127.0.0.1 10250'],
    ['localhost:10250', 'kubelet 127.0.0.1 10250'],
    ['[::1]:10250', 'kubelet 127.0.0.1 10250'],
    ['127.0.0.1:10250', 'kubelet 127.0.0.1 10250'],
    ['192.168.7.20:10250', 'kubelet 127.0.0.1 10250, 192.168.7.20 10250'],
    ['[::ffff:192.168.7.20]:10250', 'kubelet 127.0.0.1 10250, 192.168.7.20 10250'],
    ['[fd00::20]:10250', 'kubelet 127.0.0.1 10250, fd00::20 10250'],
  ])('is always allowed, as %s', (asked, expected) => {
    expect(decision(asked)).toBe(expected)
  })

  it.each(['edge-2:10250', '192.168.7.21:10250', 'edge-1:10255', 'edge-1:22', '192.168.7.20:443', '127.0.0.2:10250'])(
    'is not %s',
    (asked) => {
      expect(decision(asked)).toBe('denied')
    },
  )
})

describe('a rule', () => {
  it.each([
    ['metrics.local:9100', 'Metrics.Local.:9100', true],
    ['metrics.local:9100', 'metrics.local:9101', false],
    ['metrics.local:*', 'metrics.local:1', true],
    ['metrics.local:9100', 'sub.metrics.local:9100', false],
    ['10.1.2.3:443', '10.1.2.3:443', true],
    ['10.1.2.3:443', '10.1.2.4:443', false],
    ['10.0.0.0/8:*', '10.255.0.1:1', true],
    ['10.0.0.0/8:*', '11.0.0.1:1', false],
    ['10.0.0.0/8:*', '[::ffff:10.0.0.1]:1', true],
    ['10.0.0.0/8:*', 'ten.example:1', false],
    ['[fd00::/8]:443', '[fd12::1]:443', true],
    ['[fd00::/8]:443', '[fe12::1]:443', false],
    ['127.0.0.1:8080', '127.0.0.1:8080', true],
    ['127.0.0.0/8:*', '127.3.4.5:80', true],
    ['0.0.0.0/0:*', '8.8.8.8:53', true],
    ['0.0.0.0/0:*', '127.0.0.1:8080', false],
    ['0.0.0.0/0:*', '169.254.169.254:80', false],
    ['169.254.0.0/16:80', '169.254.169.254:80', true],
    ['[::/0]:*', '[::1]:80', false],
    ['[::/0]:*', '[64:ff9b::7f00:1]:80', false],
    ['[::/0]:*', '[64:ff9b::808:808]:80', true],
  ])('%s covers %s: %s', (rule, asked, expected) => {
    expect(decision(asked, rule) !== 'denied').toBe(expected)
  })

  it.each([
    ['host', 'it has no port'],
    ['host:0', '"0" is not a port'],
    ['host:http', '"http" is not a port'],
    ['10.0.0.0/33:1', '"10.0.0.0/33" is not a range'],
    ['host/8:1', '"host/8" is not a range'],
    ['10.0.0.0/8/8:1', 'is not a host'],
    ['*.example:1', 'is not a host'],
    ['fd00::7:443', 'it has no port'],
    ['unix:/run/x.sock', 'is not a port'],
  ])('%s is refused', (text, problem) => {
    expect(() => parseDestinationRule(text)).toThrow(problem)
    expect(() => parseDestinationRule(text)).toThrow('write HOST:PORT')
  })

  it('for a name leads to no special address, unless that is named too', () => {
    const permits = (ip: string, ...rules: string[]): boolean => {
      const decided = policy(...rules).decide('db.local:5432')
      return decided.kind !== 'denied' && decided.permits(ip)
    }
    expect(permits('10.0.0.5', 'db.local:5432')).toBe(true)
    expect(permits('127.0.0.1', 'db.local:5432')).toBe(false)
    expect(permits('::ffff:169.254.169.254', 'db.local:5432')).toBe(false)
    expect(permits('127.0.0.1', 'db.local:5432', '127.0.0.1:5432')).toBe(true)
    expect(permits('127.0.0.1', 'db.local:5432', '127.0.0.1:80')).toBe(false)
    expect(permits('not an address', 'db.local:5432')).toBe(false)
    const named = policy('localhost:80').decide('localhost:80')
    expect(named.kind !== 'denied' && named.permits('127.0.0.1')).toBe(true)
  })
})

describe('whatever a hub asks for', () => {
  it('is denied without a rule, except the kubelet', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.tuple(fc.domain(), fc.nat(70_000)).map((parts) => parts.join(':')),
        ),
        (text) => {
          const { kind } = policy().decide(text)
          expect(kind === 'denied' || parseHostPort(text)?.port === 10_250).toBe(true)
        },
      ),
    )
  })
})

describe('a destination that was asked for before', () => {
  it('is decided alike, also after more of them than are kept', () => {
    const asked = policy('10.0.0.0/8:443')
    const kinds = (): string[] => ['10.1.2.3:443', '10.1.2.3:80', '11.0.0.1:443'].map((text) => asked.decide(text).kind)
    expect(kinds()).toEqual(['address', 'denied', 'denied'])
    expect(kinds()).toEqual(['address', 'denied', 'denied'])
    for (let port = 1; port <= MAX_KEPT_COVERS; port++) asked.decide(`10.9.9.9:${port}`)
    expect(kinds()).toEqual(['address', 'denied', 'denied'])
  })

  it('is the kubelet as soon as its address is ours', () => {
    const own = ['192.168.7.20']
    const asked = new DestinationPolicy({ node: 'edge-1', rules: [], ownAddresses: () => own })
    expect(asked.decide('192.168.7.21:10250').kind).toBe('denied')
    own.push('192.168.7.21')
    expect(asked.decide('192.168.7.21:10250').kind).toBe('kubelet')
  })
})
