import { describe, expect, it } from 'vitest'
import { isInPlace, natRemovalScript, natScript, natTableName, planNat } from './nat-plan.ts'

const targets = {
  clusterIps: ['10.96.0.1', 'FD00:0::1', '10.96.0.1', 'None'],
  endpointAddresses: ['127.0.0.1', '169.254.30.10', '::1', 'fd00::9'],
  endpointPort: 10_550,
}
const wish = planNat('/var/lib/causeway', targets)
const [four, six] = wish.rules.map(({ mark }) => mark)

/** As nft 1.0.6 prints it. */
const listing = `table inet ${wish.table} {
	chain prerouting {
		type nat hook prerouting priority dstnat - 10; policy accept;
		ip daddr 10.96.0.1 tcp dport 443 dnat ip to 169.254.30.10:10550 comment "${four}"
		ip6 daddr fd00::1 tcp dport 443 dnat ip6 to [fd00::9]:10550 comment "${six}"
	}

	chain output {
		type nat hook output priority -110; policy accept;
		ip daddr 10.96.0.1 tcp dport 443 dnat ip to 169.254.30.10:10550 comment "${four}"
		ip6 daddr fd00::1 tcp dport 443 dnat ip6 to [fd00::9]:10550 comment "${six}"
	}
}
`

describe('the plan for the service', () => {
  it('leads each address to an endpoint of its family that is not loopback', () => {
    expect(wish.rules.map(({ text }) => text)).toEqual([
      'ip daddr 10.96.0.1 tcp dport 443 dnat ip to 169.254.30.10:10550',
      'ip6 daddr fd00::1 tcp dport 443 dnat ip6 to [fd00::9]:10550',
    ])
    expect(wish.unserved).toEqual([])
  })

  it('names the addresses that have nowhere to go', () => {
    const plan = planNat('x', { ...targets, endpointAddresses: ['127.0.0.1', '0.0.0.0', 'fd00::9'] })
    expect(plan.unserved).toEqual(['10.96.0.1'])
    expect(plan.rules).toHaveLength(1)
  })

  it('is to wait while there is no endpoint', () => {
    expect(planNat('x', { ...targets, endpointAddresses: [] })).toMatchObject({ rules: [], unserved: [] })
  })

  it('is a table of the same name for the same owner only', () => {
    expect(natTableName('a')).toMatch(/^causeway_[0-9a-f]{12}$/)
    expect(natTableName('a')).toBe(natTableName('a'))
    expect(natTableName('a')).not.toBe(natTableName('b'))
  })

  it('replaces its own table and no other in one go', () => {
    const script = natScript(wish)
    expect(script.startsWith(natRemovalScript(wish.table))).toBe(true)
    const tables = [...script.matchAll(/table (\S+ \S+)/g)].map(([, name]) => name)
    expect(new Set(tables)).toEqual(new Set([`inet ${wish.table}`]))
    expect(script.match(/dnat ip to 169\.254\.30\.10:10550/g)).toHaveLength(2)
  })
})

describe('a listing', () => {
  it('shows that all is in place, however rules are spelt', () => {
    expect(isInPlace(wish, listing)).toBe(true)
    expect(isInPlace(wish, listing.replaceAll('dport 443', 'dport https'))).toBe(true)
  })

  it.each([
    ['an empty table', `table inet ${wish.table} {\n}\n`],
    ['a flushed chain', listing.replace(/(hook output.*\n)(\t\tip.*\n)+/, '$1')],
    ['a missing chain', listing.replace(/\tchain output[\s\S]*?\t}\n/, '')],
    ['a rule without our mark', listing.replace(` comment "${four}"`, '')],
    ['another rule before ours', listing.replace(/(hook output.*\n)/, '$1\t\taccept\n')],
    ['another target', listing.replaceAll(four ?? '', 'causeway 0000000000000000')],
    ['another chain', listing.replace(/}\n$/, '\tchain more {\n\t}\n}\n')],
    ['another hook', listing.replace('hook output', 'hook input')],
  ])('with %s is not in place', (_, text) => {
    expect(text).not.toBe(listing)
    expect(isInPlace(wish, text)).toBe(false)
  })
})
