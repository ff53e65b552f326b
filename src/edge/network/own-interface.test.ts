import { Registry } from 'prom-client'
import { beforeEach, describe, expect, it } from 'vitest'
import { settled } from '../../../test/worlds/yamux-drivers.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { IpCommandError, type IpFailure, ipCommandError } from './ip-command.ts'
import { INTERFACE_CHECK_MS, OwnInterface, type OwnInterfaceOptions } from './own-interface.ts'

interface FakeInterface {
  mac: string
  isUp: boolean
  readonly addresses: Map<string, string | undefined>
}

/** A kernel as far as `ip` shows it. */
class FakeKernel {
  readonly interfaces = new Map<string, FakeInterface>()
  readonly changes: string[] = []
  kinds = ['dummy', 'bridge']
  failure: IpFailure | undefined

  constructor() {
    this.interfaces.set('lo', { mac: '00:00:00:00:00:00', isUp: true, addresses: new Map([['127.0.0.1', 'lo']]) })
  }

  readonly ip = async (args: readonly string[]): Promise<string> => {
    if (this.failure === 'not-installed') throw new IpCommandError('not-installed', 'spawn ip ENOENT')
    if (args[0] === '-j') return this.#show()
    if (this.failure !== undefined) throw new IpCommandError(this.failure, `ip ${args.join(' ')}: no`)
    this.changes.push(args.join(' '))
    this.#change(args)
    return ''
  }

  #show(): string {
    const list = [...this.interfaces].map(([ifname, { mac, isUp, addresses }]) => {
      const addr_info = [...addresses].map(([local, label]) => (label === undefined ? { local } : { local, label }))
      return { ifname, address: mac, flags: isUp ? ['UP'] : [], addr_info }
    })
    return JSON.stringify(list)
  }

  #change([what, verb, ...rest]: readonly string[]): void {
    const value = (key: string): string => rest[rest.indexOf(key) + 1] ?? ''
    const name = value('dev')
    if (what === 'link' && verb === 'add') {
      if (!this.kinds.includes(value('type')))
        throw ipCommandError([], new Error('exit 2'), 'Error: Unknown device type.\n')
      this.interfaces.set(name, { mac: value('address'), isUp: false, addresses: new Map() })
      return
    }
    if (what === 'link' && verb === 'del') {
      this.interfaces.delete(name)
      return
    }
    const found = this.interfaces.get(name)
    if (found === undefined) throw new IpCommandError('failed', `Device ${name} does not exist`)
    const address = rest[0]?.split('/')[0] ?? ''
    if (what === 'link') found.isUp ||= rest.includes('up')
    else if (verb === 'add') found.addresses.set(address, rest.includes('label') ? value('label') : undefined)
    else found.addresses.delete(address)
  }
}

let kernel: FakeKernel
let clock: ManualClock
let messages: unknown[]
const noTime = AbortSignal.abort()

beforeEach(() => {
  kernel = new FakeKernel()
  clock = new ManualClock()
  messages = []
})

function own(options: Partial<OwnInterfaceOptions> = {}): OwnInterface {
  const destination = { write: (line: string) => messages.push((JSON.parse(line) as { msg: string }).msg) }
  return new OwnInterface({
    addresses: ['10.9.9.9', 'fd00::9', '127.0.0.1'],
    owner: '/var/lib/causeway',
    clock,
    logger: createLogger({ level: 'warn', format: 'json', destination, clock }),
    registry: new Registry(),
    ip: kernel.ip,
    ownAddresses: () => ['127.0.0.1'],
    ...options,
  })
}

describe('an interface of our own', () => {
  it('is made with its addresses, and removed at the end', async () => {
    const part = own()
    const running = await part.start()
    expect(kernel.changes.map((change) => change.replace(/02(:..){5}/, 'MAC'))).toEqual([
      'link add dev edge-dummy0 address MAC type dummy',
      'link set dev edge-dummy0 alias causeway edge',
      'link set dev edge-dummy0 up',
      'addr add 10.9.9.9/32 dev edge-dummy0',
      'addr add fd00::9/128 dev edge-dummy0 nodad',
    ])
    expect(part.status.addresses).toEqual([
      { address: '10.9.9.9', interface: 'edge-dummy0', isOurs: true },
      { address: 'fd00::9', interface: 'edge-dummy0', isOurs: true },
    ])
    await running.stop(noTime)
    expect([...kernel.interfaces.keys()]).toEqual(['lo'])
    expect(clock.pending).toBe(0)
  })

  it('is a bridge where the kernel has no dummy links, and else an address on lo', async () => {
    kernel.kinds = ['bridge']
    const bridge = await own().start()
    expect(kernel.interfaces.has('edge-dummy0')).toBe(true)
    await bridge.stop(noTime)
    kernel.kinds = []
    const loopback = await own().start()
    const addresses = kernel.interfaces.get('lo')!.addresses
    expect([...addresses]).toEqual([
      ['127.0.0.1', 'lo'],
      ['10.9.9.9', 'lo:causeway'],
      ['fd00::9', undefined],
    ])
    await loopback.stop(noTime)
    expect([...addresses.keys()]).toEqual(['127.0.0.1'])
  })

  it('found after a crash is taken over', async () => {
    await own().start()
    kernel.changes.length = 0
    const part = own({ addresses: ['10.9.9.9', '10.9.9.10'] })
    const running = await part.start()
    expect(kernel.changes).toEqual([
      'addr del fd00::9/128 dev edge-dummy0',
      'link set dev edge-dummy0 up',
      'addr add 10.9.9.10/32 dev edge-dummy0',
    ])
    await running.stop(noTime)
    expect(kernel.interfaces.has('edge-dummy0')).toBe(false)
  })

  it('is put back when it vanishes', async () => {
    const part = own()
    const running = await part.start()
    kernel.interfaces.delete('edge-dummy0')
    await clock.advance(INTERFACE_CHECK_MS)
    await settled()
    expect([...kernel.interfaces.get('edge-dummy0')!.addresses.keys()]).toEqual(['10.9.9.9', 'fd00::9'])
    expect(messages).toEqual(['an address had vanished and was put back'])
    await running.stop(noTime)
  })

  it('that cannot be put back makes the edge unhealthy until it can', async () => {
    const part = own()
    const running = await part.start()
    kernel.interfaces.get('edge-dummy0')!.addresses.clear()
    kernel.failure = 'failed'
    for (let check = 0; check < 3; check++) {
      await clock.advance(INTERFACE_CHECK_MS)
      await settled()
    }
    expect(part.health()).toMatchObject({ ok: false, reason: expect.stringContaining('could not be added') as unknown })
    expect(messages).toEqual(['an address is missing'])
    kernel.failure = undefined
    await clock.advance(INTERFACE_CHECK_MS)
    await settled()
    expect(part.health()).toEqual({ ok: true })
    await running.stop(noTime)
  })

  it('of others is never touched', async () => {
    const foreign = { mac: '02:00:00:00:00:01', isUp: true, addresses: new Map([['10.1.1.1', undefined]]) }
    kernel.interfaces.set('edge-dummy0', foreign)
    await expect(own().start()).rejects.toThrow('an interface edge-dummy0 that this edge did not make')
    await expect(own({ owner: 'another edge' }).start()).rejects.toThrow('did not make')
    foreign.addresses.set('10.9.9.9', undefined).set('fd00::9', undefined)
    const part = own()
    const running = await part.start()
    expect(part.status.addresses.map(({ isOurs }) => isOurs)).toEqual([false, false])
    await running.stop(noTime)
    expect(kernel.changes).toEqual([])
  })

  it('needs a privilege, and says which', async () => {
    kernel.failure = 'not-permitted'
    await expect(own().start()).rejects.toThrow(
      'this machine does not have 10.9.9.9, fd00::9, and this user may not add an address: run as root or with CAP_NET_ADMIN',
    )
  })

  it('needs the ip command only where there is something to do', async () => {
    kernel.failure = 'not-installed'
    await expect(own().start()).rejects.toThrow('install iproute2')
    const running = await own({ ownAddresses: () => ['10.9.9.9', 'fd00::9'] }).start()
    await running.stop(noTime)
    const nothing = await own({ addresses: ['127.0.0.1', '::'] }).start()
    await nothing.stop(noTime)
    expect(clock.pending).toBe(0)
  })
})

describe('what ip says', () => {
  it.each([
    ['RTNETLINK answers: Operation not permitted\n', 'not-permitted'],
    ['Error: Unknown device type.\n', 'not-supported'],
    ['RTNETLINK answers: Operation not supported\n', 'not-supported'],
    ['RTNETLINK answers: File exists\n', 'failed'],
  ])('%j', (stderr, failure) => {
    const error = ipCommandError(['link', 'add'], new Error('exit 2'), stderr)
    expect(error).toMatchObject({ failure, message: `ip link add: ${stderr.trim()}` })
  })

  it('nothing, because it is not there', () => {
    const cause = Object.assign(new Error('spawn ip ENOENT'), { code: 'ENOENT' })
    expect(ipCommandError(['x'], cause, '')).toMatchObject({
      failure: 'not-installed',
      message: 'ip x: spawn ip ENOENT',
    })
  })
})
