import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { Network as DialNetwork } from '../../network/tcp.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { MAX_ADDRESSES_PER_NAME, MAX_CONNECT_ATTEMPT_MS } from '../../tunnel/dial-address.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import { DestinationDialer, MAX_DESTINATION_DIAL_MS } from './destination-dialer.ts'

const clock = new ManualClock()
const wanted = new AbortController().signal

function failure(code: string): Error {
  return Object.assign(new Error(code), { code })
}

function allowed(host: string, permits: (ip: string) => boolean = () => true) {
  return { kind: 'address' as const, candidates: [{ host, port: 80 }], permits }
}

/** A network whose names and ports are the test's; what connects is written down. */
class Network implements DialNetwork {
  readonly names: Record<string, readonly string[]>
  readonly open: readonly string[]
  readonly tried: string[] = []

  constructor(names: Record<string, readonly string[]>, open: readonly string[]) {
    this.names = names
    this.open = open
  }

  async resolve(name: string): Promise<readonly string[]> {
    const found = this.names[name]
    if (found === undefined) throw failure('ENOTFOUND')
    return found
  }

  async connect(ip: string, _port?: number, _signal?: AbortSignal): Promise<Socket> {
    this.tried.push(ip)
    if (!this.open.includes(ip)) throw failure('ECONNREFUSED')
    return new Socket()
  }
}

describe('a dial', () => {
  it('tries the addresses of a name in turn', async () => {
    const network = new Network({ db: ['10.0.0.1', '10.0.0.2'] }, ['10.0.0.2'])
    await new DestinationDialer(network, clock).dial({ allowed: allowed('db'), deadlineMs: undefined, signal: wanted })
    expect(network.tried).toEqual(['10.0.0.1', '10.0.0.2'])
    expect(clock.pending).toBe(0)
  })

  it.each([
    ['ECONNREFUSED', 'refused'],
    ['EHOSTUNREACH', 'no-route'],
    ['ETIMEDOUT', 'timeout'],
    ['EMFILE', 'overloaded'],
    ['EADDRNOTAVAIL', 'overloaded'],
  ])('that ends in %s is %s', async (systemCode, code) => {
    const network = { resolve: async () => [], connect: () => Promise.reject(failure(systemCode)) }
    const dialed = new DestinationDialer(network, clock).dial({
      allowed: allowed('10.0.0.1'),
      deadlineMs: undefined,
      signal: wanted,
    })
    await expect(dialed).rejects.toMatchObject({ code, message: `10.0.0.1 port 80: ${systemCode}` })
  })

  it('asks nobody about an address', async () => {
    const network = new Network({}, ['10.0.0.1'])
    const dialer = new DestinationDialer(network, clock)
    await expect(dialer.dial({ allowed: allowed('10.0.0.1'), deadlineMs: 1, signal: wanted })).resolves.toBeInstanceOf(
      Socket,
    )
  })

  it('connects to no address that is not permitted, and to no endless list of them', async () => {
    const many = Array.from({ length: 20 }, (_, index) => `10.0.0.${index}`)
    const network = new Network({ rebound: ['127.0.0.1'], many, none: [] }, [])
    const dialer = new DestinationDialer(network, clock)
    const dial = (host: string) =>
      dialer.dial({ allowed: allowed(host, (ip) => ip !== '127.0.0.1'), deadlineMs: undefined, signal: wanted })
    await expect(dial('rebound')).rejects.toMatchObject({ code: 'denied' })
    expect(network.tried).toEqual([])
    await expect(dial('many')).rejects.toMatchObject({
      code: 'refused',
      message: 'many (10.0.0.0) port 80: ECONNREFUSED',
    })
    expect(network.tried).toHaveLength(MAX_ADDRESSES_PER_NAME)
    await expect(dial('none')).rejects.toMatchObject({ code: 'dns', message: 'none has no address' })
    await expect(dial('unknown')).rejects.toMatchObject({ code: 'dns', message: 'unknown: ENOTFOUND' })
  })

  it.each([
    ['a share of a short time', 3_000, 1_000],
    ['no more than the limit of one address', 1e9, MAX_CONNECT_ATTEMPT_MS],
  ])('leaves time for the next address where one does not answer: %s', async (_, deadlineMs, eachMs) => {
    const network = new Network({ db: ['10.0.0.1', '10.0.0.2', '10.0.0.3'] }, ['10.0.0.3'])
    const connect = network.connect.bind(network)
    network.connect = async (ip: string, port?: number, signal: AbortSignal = wanted) =>
      await (ip === '10.0.0.3' ? connect(ip) : hangs(ip, port ?? 0, signal))
    const dialer = new DestinationDialer(network, clock)
    const dialled = dialer.dial({ allowed: allowed('db'), deadlineMs, signal: wanted })
    const startMs = clock.monotonicMs()
    const tookMs = dialled.then(() => clock.monotonicMs() - startMs)
    await clock.advance(2 * eachMs)
    expect(await tookMs).toBeCloseTo(2 * eachMs)
    expect(clock.pending).toBe(0)
  })

  it('says of an address that did not answer in its share of the time that it did not', async () => {
    const network = new Network({ db: ['10.0.0.1', '10.0.0.2'] }, [])
    const refuses = network.connect.bind(network)
    network.connect = async (ip: string, port?: number, signal: AbortSignal = wanted) =>
      await (ip === '10.0.0.1' ? hangs(ip, port ?? 0, signal) : refuses(ip))
    const dialled = new DestinationDialer(network, clock).dial({
      allowed: allowed('db'),
      deadlineMs: 1_000,
      signal: wanted,
    })
    const check = expect(dialled).rejects.toMatchObject({
      code: 'timeout',
      message: 'db (10.0.0.1) port 80: ETIMEDOUT',
    })
    await clock.advance(500)
    await check
  })

  it.each([
    ['a connection', { resolve: async () => ['10.0.0.1'], connect: hangs }],
    ['a name', { resolve: hangsOnName, connect: hangs }],
  ])('that hangs on %s ends in time, and when the opener goes', async (_, network) => {
    const dialer = new DestinationDialer(network, clock)
    const late = dialer.dial({ allowed: allowed('db'), deadlineMs: 1e9, signal: wanted })
    const check = expect(late).rejects.toMatchObject({
      code: 'timeout',
      message: 'no connection to db within 30000 ms',
    })
    await clock.advance(MAX_DESTINATION_DIAL_MS)
    await check
    const gone = new AbortController()
    const given = dialer.dial({ allowed: allowed('db'), deadlineMs: 5, signal: gone.signal })
    gone.abort(new OpenError('refused', 'the opener has gone'))
    await expect(given).rejects.toThrow('the opener has gone')
    expect(clock.pending).toBe(0)
  })
})

function hangsOnName(_name: string, signal: AbortSignal): Promise<readonly string[]> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
}

function hangs(_ip: string, _port: number, signal: AbortSignal): Promise<Socket> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
}
