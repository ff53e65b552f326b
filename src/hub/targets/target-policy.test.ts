import { describe, expect, it } from 'vitest'
import { isLoopbackAddress, isSpecialAddress } from '../../network/special-address.ts'
import { type TargetDecision, TargetPolicy } from './target-policy.ts'
import { parseTargetRule } from './target-rule.ts'

function policy(...rules: string[]): TargetPolicy {
  return new TargetPolicy({
    rules: rules.map(parseTargetRule),
    apiServers: [
      { host: '10.0.0.1', port: 6443 },
      { host: 'api.example', port: 6443 },
    ],
  })
}

function permits(decision: TargetDecision, ip: string): boolean {
  if (decision.kind !== 'address') throw new Error(`decided ${decision.kind}`)
  return decision.permits(ip)
}

describe('the API server', () => {
  it.each(['kube-apiserver', 'kube-apiserver:443', 'Kube-APIServer:6443'])('is allowed to every node as %s', (target) =>
    expect(policy().decide('edge-1', target)).toEqual({ kind: 'api-server' }),
  )

  it('is allowed by its own address too, wherever that is', () => {
    const loopback = new TargetPolicy({ rules: [], apiServers: [{ host: '127.0.0.1', port: 6443 }] })
    expect(permits(loopback.decide('edge-1', '127.0.0.1:6443'), '127.0.0.1')).toBe(true)
    expect(policy().decide('edge-1', 'api.example:6443').kind).toBe('address')
    expect(policy().decide('edge-1', 'api.example:22').kind).toBe('denied')
  })
})

describe('everything else', () => {
  it('is denied unless a rule for that node covers it', () => {
    expect(policy().decide('edge-1', 'db.example:5432')).toEqual({
      kind: 'denied',
      text: 'node edge-1 may not open db.example:5432; the hub allows targets by --allow-target HOST:PORT',
    })
    const some = policy('store-*=db.example:5432')
    expect(some.decide('edge-1', 'db.example:5432').kind).toBe('denied')
    expect(some.decide('store-1', 'db.example:5432')).toMatchObject({
      kind: 'address',
      address: { host: 'db.example', port: 5432 },
    })
  })

  it('is denied where it is no target at all', () => {
    expect(policy('*:*').decide('edge-1', 'db.example')).toEqual({
      kind: 'denied',
      text: '"db.example" is no target; name kube-apiserver or HOST:PORT',
    })
  })
})

describe('a name that leads to a special address', () => {
  it.each(['127.0.0.1', '169.254.169.254', '0.0.0.0', '::1', '::ffff:127.0.0.1', 'fe80::1', '64:ff9b::a9fe:a9fe'])(
    'is not followed to %s',
    (ip) => {
      expect(permits(policy('*:80').decide('edge-1', 'rebound.example:80'), ip)).toBe(false)
      expect(permits(policy('rebound.example:80').decide('edge-1', 'rebound.example:80'), ip)).toBe(false)
    },
  )

  it('is followed where a rule lists that address, for that node and port', () => {
    const listed = policy('app.example:*', 'edge-1=127.0.0.1:80')
    expect(permits(listed.decide('edge-1', 'app.example:80'), '127.0.0.1')).toBe(true)
    expect(permits(listed.decide('edge-1', 'app.example:81'), '127.0.0.1')).toBe(false)
    expect(permits(listed.decide('edge-2', 'app.example:80'), '127.0.0.1')).toBe(false)
  })

  it('is loopback by its own name only', () => {
    expect(permits(policy('localhost:80').decide('edge-1', 'localhost:80'), '::1')).toBe(true)
    expect(permits(policy('localhost:80').decide('edge-1', 'localhost:80'), '169.254.169.254')).toBe(false)
    expect(permits(policy('*:80').decide('edge-1', 'localhost:80'), '127.0.0.1')).toBe(false)
    expect(permits(policy('localhost:80', '*:80').decide('edge-1', 'other.example:80'), '127.0.0.1')).toBe(false)
  })
})

describe('an address of the kind', () => {
  it.each([
    '169.254.1.1',
    '224.0.0.1',
    '255.255.255.255',
    '168.63.129.16',
    '100.100.100.200',
    'fd00:ec2::254',
    '::',
    'ff02::1',
  ])('%s is special', (ip) => expect(isSpecialAddress(ip)).toBe(true))

  it.each(['10.0.0.1', '192.168.1.1', '8.8.8.8', '2001:db8::1', 'fd00::1', '64:ff9b::808:808'])('%s is not', (ip) =>
    expect(isSpecialAddress(ip)).toBe(false),
  )

  it('is loopback in both families', () => {
    expect(['127.9.9.9', '::1', '10.0.0.1', '::2'].map(isLoopbackAddress)).toEqual([true, true, false, false])
  })
})
