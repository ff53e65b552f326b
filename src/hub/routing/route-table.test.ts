import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseLabelSelector } from '../../kube/selectors/label.ts'
import { parseHost } from './destination.ts'
import { MAX_NODE_ADDRESSES, type NodeFacts, nodeFacts } from './node-facts.ts'
import { PROXY_STRATEGIES } from './proxy-strategies.ts'
import { DEFAULT_ROUTE_LABEL, MAX_KEPT_CHOICES, type RouteChoice, RouteTable } from './route-table.ts'

function node(
  name: string,
  addresses: readonly string[] = [],
  podCIDRs: readonly string[] = [],
  labels = {},
): NodeFacts {
  const status = { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) }
  return nodeFacts({ metadata: { name, labels }, spec: { podCIDRs } as object, status })
}

function tableOf(...nodes: NodeFacts[]): RouteTable {
  const table = new RouteTable({ strategies: PROXY_STRATEGIES })
  for (const each of nodes) table.put(each)
  return table
}

function choose(table: RouteTable, text: string): RouteChoice {
  const host = parseHost(text)
  if (host === undefined) throw new Error(`${text} is not a host`)
  return table.choose(host)
}

const to = (name: string) => ({ kind: 'node', node: name })
const contested = expect.objectContaining({ kind: 'none', reason: 'contested' }) as unknown

describe('a destination of a known Node', () => {
  const table = tableOf(
    node('edge-1', ['10.0.0.1', 'Edge-1.Example.', 'fd00::0001'], ['10.244.1.0/24', 'fd01:0:0:1::/64']),
    node('edge-2', ['10.0.0.2'], ['10.244.2.0/24']),
  )

  it.each([
    ['its name', 'edge-1'],
    ['its name in capitals with a dot', 'EDGE-1.'],
    ['a host name', 'edge-1.example'],
    ['its address', '10.0.0.1'],
    ['its address inside IPv6', '::ffff:10.0.0.1'],
    ['its IPv6 address in another spelling', 'fd00:0::1'],
    ['an address of its pods', '10.244.1.255'],
    ['an address of its pods inside IPv6', '::ffff:10.244.1.9'],
    ['an IPv6 address of its pods', 'fd01:0:0:1:ffff::9'],
  ])('goes to it by %s', (_what, host) => {
    expect(choose(table, host)).toEqual(to('edge-1'))
  })

  it('goes to it under every order and choice of strategies, none included', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([...PROXY_STRATEGIES]), (strategies) => {
        const other = new RouteTable({ strategies })
        other.put(node('edge-1', ['10.0.0.1']))
        expect(choose(other, '10.0.0.1')).toEqual(to('edge-1'))
      }),
    )
  })

  it('goes to nobody once the Node is deleted or has another address', () => {
    const changing = tableOf(node('edge-1', ['10.0.0.1'], ['10.244.1.0/24']))
    changing.put(node('edge-1', ['10.0.0.9'], ['10.244.1.0/24']))
    expect(choose(changing, '10.0.0.1').kind).toBe('any')
    expect(choose(changing, '10.0.0.9')).toEqual(to('edge-1'))
    changing.remove('edge-1')
    for (const host of ['edge-1', '10.0.0.9', '10.244.1.1']) expect(choose(changing, host).kind).toBe('any')
  })
})

describe('a destination that several nodes claim', () => {
  it.each([
    ['by address', node('evil', ['10.0.0.1'])],
    ['by a range around it', node('evil', [], ['10.0.0.0/8'])],
    ['by a range of it alone', node('evil', [], ['10.0.0.1/32'])],
    ['by a range in IPv6', node('evil', [], ['::ffff:10.0.0.0/104'])],
    ['by everything', node('evil', [], ['0.0.0.0/0'])],
  ])('goes nowhere: %s', (_how, evil) => {
    const table = tableOf(node('edge-1', ['10.0.0.1']), evil)
    expect(choose(table, '10.0.0.1')).toEqual(contested)
    table.remove('evil')
    expect(choose(table, '10.0.0.1')).toEqual(to('edge-1'))
  })

  it('goes nowhere where a pod range lies in another', () => {
    const table = tableOf(node('edge-1', [], ['10.244.0.0/16']), node('evil', [], ['10.244.1.0/24']))
    expect(choose(table, '10.244.1.1')).toEqual(contested)
    expect(choose(table, '10.244.2.1')).toEqual(to('edge-1'))
  })

  it('names those who claim it, and counts', () => {
    const table = tableOf(
      node('edge-1', ['10.0.0.1', 'shared']),
      node('edge-2', ['10.0.0.1', 'shared'], ['10.1.0.0/24']),
    )
    expect(choose(table, 'shared')).toMatchObject({
      message: 'shared is claimed by 2 nodes (edge-1, edge-2): correct their addresses or pod CIDRs',
    })
    expect(table.contestedCount).toBe(2)
    table.put(node('edge-3', [], ['10.1.0.0/24']))
    expect(table.contestedCount).toBe(3)
    table.remove('edge-2')
    expect(table.contestedCount).toBe(0)
  })

  it('does not include the name of a Node, whoever else uses it as a host name', () => {
    const table = tableOf(node('evil', ['edge-1']), node('edge-1'))
    expect(choose(table, 'edge-1')).toEqual(to('edge-1'))
  })
})

describe('a destination of nobody', () => {
  const tiersOf = (table: RouteTable) => {
    const choice = choose(table, '10.96.0.1')
    return choice.kind === 'any' ? choice.tiers : []
  }

  it('goes nowhere without a strategy for it', () => {
    const choice = choose(new RouteTable({ strategies: ['destHost'] }), 'service.default.svc')
    expect(choice).toMatchObject({ kind: 'none', reason: 'unowned' })
  })

  it('goes to nodes with the label of default routes, then to any, in the order of the strategies', () => {
    const gateway = node('gateway', [], [], { [DEFAULT_ROUTE_LABEL]: '' })
    const [first, second] = tiersOf(tableOf(gateway, node('edge-1')))
    expect(['gateway', 'edge-1', 'unregistered'].map((each) => first?.has(each))).toEqual([true, false, false])
    expect(['gateway', 'edge-1', 'unregistered'].map((each) => second?.has(each))).toEqual([true, true, true])
  })

  it('goes only to nodes that the selector of `default` takes, as their labels are now', () => {
    const table = new RouteTable({ strategies: ['default'], defaultSelector: parseLabelSelector('pool in (a, b)') })
    table.put(node('edge-1', [], [], { pool: 'a' }))
    table.put(node('edge-2', [], [], { pool: 'c' }))
    const [tier] = tiersOf(table)
    const has = () => ['edge-1', 'edge-2', 'unregistered'].map((each) => tier?.has(each))
    expect(has()).toEqual([true, false, false])
    table.put(node('edge-1', [], [], { pool: 'c' }))
    table.put(node('edge-2', [], [], { pool: 'b' }))
    expect(has()).toEqual([false, true, false])
    table.remove('edge-2')
    expect(has()).toEqual([false, false, false])
  })
})

describe('a Service', () => {
  it('cannot be claimed by a node, by address, range or name', () => {
    const table = new RouteTable({ strategies: ['default'], serviceCidrs: ['10.96.0.0/16', 'fd00:96::/112'] })
    table.put(node('evil', ['10.96.0.10', 'hook.default.svc', 'hook.default.svc.cluster.local'], ['0.0.0.0/0', '::/0']))
    for (const host of ['10.96.0.10', '10.96.9.9', 'fd00:96::1', 'hook.default.svc', 'hook.default.svc.cluster.local'])
      expect(choose(table, host).kind).toBe('any')
    expect(choose(table, '10.97.0.1')).toEqual(to('evil'))
  })
})

describe('a host that means another thing on every machine', () => {
  const special = [
    '127.0.0.1',
    '127.9.9.9',
    '::1',
    '::ffff:127.0.0.1',
    '64:ff9b::127.0.0.1',
    '0.0.0.0',
    '::',
    '169.254.1.1',
    '169.254.169.254',
    'fe80::1',
    '100.100.100.200',
    'fd00:ec2::254',
    '224.0.0.1',
    'ff02::1',
    '255.255.255.255',
    'localhost',
    'LOCALHOST.',
    'a.localhost',
    'localhost.localdomain',
    'ip6-loopback',
  ]

  it.each(special)('goes nowhere: %s', (host) => {
    expect(choose(tableOf(node('edge-1', ['10.0.0.1'])), host)).toMatchObject({
      kind: 'none',
      reason: 'unowned',
      message: expect.stringMatching(/means another thing on every machine, and no Node has it/) as unknown,
    })
  })

  it('is not attracted by what a Node reports, nor by a range around it', () => {
    const report = (type: string) => ({ addresses: special.map((address) => ({ type, address })) })
    const evil = (type: string): NodeFacts =>
      nodeFacts({
        metadata: { name: 'evil' },
        spec: { podCIDRs: ['0.0.0.0/0', '::/0'] } as object,
        status: report(type),
      })
    const byName = tableOf(evil('Hostname'))
    for (const host of special) expect(choose(byName, host)).toMatchObject({ kind: 'none', reason: 'unowned' })
    expect(evil('InternalIP').addresses).toEqual(['127.0.0.1', '127.9.9.9', '::1'])
    expect(evil('InternalIP').hostNames).toEqual([])
  })

  it('is a Node where that has loopback for its address, and is the only one', () => {
    const table = tableOf(node('edge-1', ['127.0.0.1']))
    expect(choose(table, '127.0.0.1')).toEqual(to('edge-1'))
    expect(choose(table, '127.0.0.2').kind).toBe('none')
    table.put(node('edge-2', ['127.0.0.1']))
    expect(choose(table, '127.0.0.1')).toEqual(contested)
  })

  it('is a Node by the name of that Node', () => {
    expect(choose(tableOf(node('localhost')), 'localhost')).toEqual(to('localhost'))
  })

  it('does not include reserved addresses, which some clusters give to pods', () => {
    expect(choose(tableOf(node('edge-1', [], ['240.1.0.0/24'])), '240.1.0.9')).toEqual(to('edge-1'))
  })
})

describe('a claim that is a lie', () => {
  it('attracts what no other Node claims, and stops what another one does', () => {
    const table = new RouteTable({ strategies: ['default'], serviceCidrs: ['10.96.0.0/16'] })
    table.put(node('edge-1', ['10.0.0.1']))
    table.put(node('evil', ['192.0.2.1', '10.0.0.1', '10.96.0.1', '10.97.0.1', 'edge-1']))
    expect(choose(table, '192.0.2.1')).toEqual(to('evil'))
    expect(choose(table, '10.97.0.1')).toEqual(to('evil'))
    expect(choose(table, '10.0.0.1')).toEqual(contested)
    expect(choose(table, '10.96.0.1').kind).toBe('any')
    expect(choose(table, 'edge-1')).toEqual(to('edge-1'))
  })
})

describe('what a Node reports', () => {
  it('counts only as far as it is readable, and not without bound', () => {
    const many = Array.from({ length: 100 }, (_, index) => `10.1.0.${index}`)
    expect(node('edge-1', ['', 'a/b', '10.0.0.1', '10.0.0.1'], ['x/y', '10.0.0.0/33']).addresses).toEqual(['10.0.0.1'])
    expect(node('edge-1', many).addresses).toHaveLength(MAX_NODE_ADDRESSES)
    expect(
      choose(tableOf(node('edge-1', [], ['x/y', '10.0.0.0/33', '/8', '::ffff:10.0.0.0/95'])), '10.0.0.1').kind,
    ).toBe('any')
  })
})

describe('any history of Nodes', () => {
  const claim = fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    last: fc.integer({ min: 0, max: 3 }),
    bits: fc.constantFrom(8, 24, 30, 32),
    isGone: fc.boolean(),
  })

  it('leaves the same table as the Nodes that are left', () => {
    fc.assert(
      fc.property(fc.array(claim, { maxLength: 12 }), (history) => {
        const table = tableOf()
        const left = new Map<string, NodeFacts>()
        for (const { name, last, bits, isGone } of history) {
          const facts = node(name, [`10.0.0.${last}`], [`10.0.0.${last}/${bits}`])
          if (isGone) {
            table.remove(name)
            left.delete(name)
          } else {
            table.put(facts)
            left.set(name, facts)
          }
        }
        const fresh = tableOf(...left.values())
        for (const host of ['10.0.0.0', '10.0.0.1', '10.0.0.2', '10.0.0.3', '10.9.9.9', 'a', 'b', 'c'])
          expect(kindOf(choose(table, host))).toEqual(kindOf(choose(fresh, host)))
        expect(table.contestedCount).toBe(fresh.contestedCount)
      }),
    )
  })

  function kindOf(choice: RouteChoice): unknown {
    return choice.kind === 'any' ? 'any' : choice
  }
})

describe('a choice that is kept', () => {
  const hosts = ['edge-1', '10.0.0.1', '10.0.0.2', '10.244.1.9', '192.0.2.1', '127.0.0.1']
  const facts = fc.record({
    name: fc.constantFrom('edge-1', 'edge-2'),
    addresses: fc.subarray(['10.0.0.1', '10.0.0.2', '127.0.0.1']),
    ranges: fc.subarray(['10.244.1.0/24']),
  })

  it('is always the one that a table makes that was never asked before', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(facts, fc.boolean())), (changes) => {
        const asked = tableOf()
        const nodes = new Map<string, NodeFacts>()
        for (const [{ name, addresses, ranges }, isRemoved] of changes) {
          const changed = node(name, addresses, ranges)
          if (isRemoved) {
            asked.remove(name)
            nodes.delete(name)
          } else {
            asked.put(changed)
            nodes.set(name, changed)
          }
          const fresh = tableOf(...nodes.values())
          const shown = ({ kind, ...choice }: RouteChoice) => (kind === 'any' ? kind : { kind, ...choice })
          for (const host of hosts) expect(shown(choose(asked, host))).toEqual(shown(choose(fresh, host)))
        }
      }),
    )
  })

  it('is not kept for ever more destinations', () => {
    const table = tableOf(node('edge-1', ['10.0.0.1']))
    for (let count = 0; count <= 2 * MAX_KEPT_CHOICES; count++) choose(table, `name-${count}.example`)
    expect(choose(table, '10.0.0.1')).toEqual(to('edge-1'))
    expect(table.keptChoices).toBeLessThanOrEqual(MAX_KEPT_CHOICES)
  })
})
