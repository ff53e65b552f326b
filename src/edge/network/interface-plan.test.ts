import { describe, expect, it } from 'vitest'
import { hardwareAddressOf, type InterfaceWish, ipArguments, planInterface, readInterfaces } from './interface-plan.ts'

const wish: InterfaceWish = {
  name: 'edge-dummy0',
  hardwareAddress: hardwareAddressOf('/var/lib/causeway', 'edge-dummy0'),
  addresses: ['10.9.9.9', 'fd00::9'],
}

interface Shown {
  readonly name: string
  readonly mac?: string
  readonly flags?: readonly string[]
  readonly addresses?: readonly { local: string; label?: string; scope?: string }[]
}

function shown(...interfaces: Shown[]) {
  return readInterfaces(
    JSON.stringify(
      interfaces.map(({ name, mac = '00:00:00:00:00:00', flags = ['UP'], addresses = [] }) => {
        return { ifindex: 1, ifname: name, flags, address: mac, addr_info: addresses }
      }),
    ),
  )
}

const lo: Shown = { name: 'lo', addresses: [{ local: '127.0.0.1', label: 'lo', scope: 'host' }] }
const ours = { name: 'edge-dummy0', mac: wish.hardwareAddress }

describe('the plan for our interface', () => {
  it('is to make it where it is missing', () => {
    expect(planInterface(wish, shown(lo))).toEqual({
      conflict: undefined,
      hasLink: false,
      isUp: false,
      missing: ['10.9.9.9', 'fd00::9'],
      surplus: [],
      places: new Map(),
    })
  })

  it('is nothing where it is as it should be, in any spelling', () => {
    const addresses = [{ local: '10.9.9.9' }, { local: 'fd00:0:0::9' }, { local: 'fe80::1', scope: 'link' }]
    const plan = planInterface(wish, shown(lo, { ...ours, addresses }))
    expect(plan).toMatchObject({ hasLink: true, isUp: true, missing: [], surplus: [] })
    expect(plan.places.get('fd00::9')).toEqual({ interface: 'edge-dummy0', isOurs: true })
  })

  it('is to finish and tidy what a crash left', () => {
    const addresses = [{ local: '10.9.9.9' }, { local: '10.1.1.1' }]
    const plan = planInterface(wish, shown({ ...ours, flags: [], addresses }))
    expect(plan).toMatchObject({ hasLink: true, isUp: false, missing: ['fd00::9'], surplus: ['10.1.1.1'] })
  })

  it('is to leave alone what others made', () => {
    const foreign = { name: 'edge-dummy0', mac: '02:00:00:00:00:01', addresses: [{ local: '10.1.1.1' }] }
    const plan = planInterface(wish, shown(lo, foreign))
    expect(plan.conflict).toContain('edge-dummy0 that this edge did not make')
    expect(plan).toMatchObject({ hasLink: false, surplus: [] })
    const elsewhere = { name: 'eth0', addresses: [{ local: '10.9.9.9' }, { local: 'fd00::9' }] }
    const content = planInterface(wish, shown(foreign, elsewhere))
    expect(content).toMatchObject({ conflict: undefined, missing: [] })
    expect(content.places.get('10.9.9.9')).toEqual({ interface: 'eth0', isOurs: false })
  })

  it('knows our addresses on lo by their label', () => {
    const labelled = { name: 'lo', addresses: [{ local: '10.9.9.9', label: 'lo:causeway' }, { local: 'fd00::9' }] }
    const { places } = planInterface(wish, shown(labelled))
    expect([...places.values()].map(({ isOurs }) => isOurs)).toEqual([true, false])
  })

  it('needs what ip prints', () => {
    expect(() => readInterfaces('not json')).toThrow('not valid JSON')
    expect(() => readInterfaces('[{"ifname":7}]')).toThrow('Invalid type')
    expect(readInterfaces('[]')).toEqual([])
  })
})

describe('the mark of our interface', () => {
  it('is the same for the same owner only, and a valid address of a single machine', () => {
    expect(hardwareAddressOf('a', 'x')).toBe(hardwareAddressOf('a', 'x'))
    expect(new Set([hardwareAddressOf('a', 'x'), hardwareAddressOf('b', 'x'), hardwareAddressOf('a', 'y')]).size).toBe(
      3,
    )
    expect(hardwareAddressOf('a', 'x')).toMatch(/^02(:[0-9a-f]{2}){5}$/)
  })
})

describe('the arguments of ip', () => {
  it('say everything that matters', () => {
    expect(ipArguments.createLink(wish, 'dummy').join(' ')).toBe(
      `link add dev edge-dummy0 address ${wish.hardwareAddress} type dummy`,
    )
    expect(ipArguments.addAddress('10.9.9.9', 'edge-dummy0').join(' ')).toBe('addr add 10.9.9.9/32 dev edge-dummy0')
    expect(ipArguments.addAddress('10.9.9.9', 'lo').join(' ')).toBe('addr add 10.9.9.9/32 dev lo label lo:causeway')
    expect(ipArguments.addAddress('fd00::9', 'lo').join(' ')).toBe('addr add fd00::9/128 dev lo nodad')
    expect(ipArguments.removeAddress('fd00::9', 'lo').join(' ')).toBe('addr del fd00::9/128 dev lo')
  })
})
