import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Behaviour, FakeNetwork } from '../../../test/worlds/fake-network.ts'
import { ManualClock, systemClock } from '../../runtime/clock.ts'
import { MAX_ADDRESSES_PER_NAME, MAX_CONNECT_ATTEMPT_MS } from '../../tunnel/dial-address.ts'
import { TargetDialer } from './target-dialer.ts'

const deadlineMs = 30_000
const { signal } = new AbortController()

function world(names: Record<string, readonly string[] | 'silent'> = {}, addresses: Record<string, Behaviour> = {}) {
  const clock = new ManualClock()
  const network = new FakeNetwork()
  for (const [name, found] of Object.entries(names)) network.names.set(name, found)
  for (const [address, behaviour] of Object.entries(addresses)) network.addresses.set(address, behaviour)
  return { clock, network, dialer: new TargetDialer({ clock, network }) }
}

describe('a dial', () => {
  it('goes to an IP address without a question to DNS', async () => {
    const { dialer, network, clock } = world({}, { '10.0.0.7:80': 'up' })
    expect(await dialer.dial({ host: '10.0.0.7', port: 80 }, { deadlineMs, signal })).toBe(network.sockets[0])
    expect(clock.pending).toBe(0)
  })

  it('tries the addresses of a name in their order until one answers', async () => {
    const { dialer, network } = world({ db: ['10.0.0.1', '::2', '10.0.0.3'] }, { '::2:80': 'up' })
    await dialer.dial({ host: 'db', port: 80 }, { deadlineMs, signal })
    expect(network.asked).toEqual(['10.0.0.1:80', '::2:80'])
  })

  it('leaves the others a chance when one swallows packets', async () => {
    const { dialer, clock, network } = world(
      { db: ['10.0.0.1', '10.0.0.2'] },
      { '10.0.0.1:80': 'silent', '10.0.0.2:80': 'up' },
    )
    const dialled = dialer.dial({ host: 'db', port: 80 }, { deadlineMs, signal })
    await clock.advance(MAX_CONNECT_ATTEMPT_MS)
    expect(await dialled).toBe(network.sockets[0])
    expect(clock.pending).toBe(0)
  })

  it('gives each its share where time is short', async () => {
    const { dialer, clock } = world(
      { db: ['10.0.0.1', '10.0.0.2'] },
      { '10.0.0.1:80': 'silent', '10.0.0.2:80': 'silent' },
    )
    const dialled = expect(dialer.dial({ host: 'db', port: 80 }, { deadlineMs: 1_000, signal })).rejects.toMatchObject({
      code: 'timeout',
      message: 'cannot connect to db:80: 10.0.0.1: no answer within 500 ms; 10.0.0.2: no answer within 500 ms',
    })
    await clock.advance(1_000)
    await dialled
  })

  it('tries no more addresses than is sensible', async () => {
    const many = Array.from({ length: 20 }, (_, index) => `10.0.0.${index}`)
    const { dialer, network } = world({ db: many })
    await expect(dialer.dial({ host: 'db', port: 80 }, { deadlineMs, signal })).rejects.toMatchObject({
      code: 'refused',
    })
    expect(network.asked).toHaveLength(MAX_ADDRESSES_PER_NAME)
  })

  it.each([
    ['ECONNREFUSED', 'refused', 'connection refused'],
    ['EHOSTUNREACH', 'no-route', 'EHOSTUNREACH'],
    ['EMFILE', 'overloaded', 'EMFILE'],
    ['ETIMEDOUT', 'timeout', 'ETIMEDOUT'],
  ] as const)('that fails with %s is %s', async (behaviour, code, text) => {
    const { dialer } = world({}, { '10.0.0.7:80': behaviour })
    await expect(dialer.dial({ host: '10.0.0.7', port: 80 }, { deadlineMs, signal })).rejects.toMatchObject({
      code,
      message: `cannot connect to 10.0.0.7:80: 10.0.0.7: ${text}`,
    })
  })

  it('of a name that DNS does not know, or does not answer for, says so', async () => {
    const { dialer, clock } = world({ empty: [], slow: 'silent' })
    await expect(dialer.dial({ host: 'none', port: 80 }, { deadlineMs, signal })).rejects.toMatchObject({
      code: 'dns',
      message: 'none has no address: ENOTFOUND',
    })
    await expect(dialer.dial({ host: 'empty', port: 80 }, { deadlineMs, signal })).rejects.toMatchObject({
      code: 'dns',
    })
    const slow = expect(dialer.dial({ host: 'slow', port: 80 }, { deadlineMs, signal })).rejects.toMatchObject({
      code: 'timeout',
      message: 'DNS did not answer for slow within 30000 ms',
    })
    await clock.advance(deadlineMs)
    await slow
  })

  it('connects to permitted addresses only, and says where a name would have led', async () => {
    const { dialer, network } = world({ db: ['127.0.0.1', '10.0.0.2'] }, { '127.0.0.1:80': 'up', '10.0.0.2:80': 'up' })
    await dialer.dial({ host: 'db', port: 80 }, { deadlineMs, signal, permits: (ip) => ip !== '127.0.0.1' })
    expect(network.asked).toEqual(['10.0.0.2:80'])
    await expect(
      dialer.dial({ host: 'db', port: 80 }, { deadlineMs, signal, permits: () => false }),
    ).rejects.toMatchObject({
      code: 'denied',
      message: 'db:80 leads to 127.0.0.1, 10.0.0.2, which only a rule for that address allows',
    })
  })

  it('stops as soon as nobody waits for it, and tries nothing further', async () => {
    const { dialer, network, clock } = world({ db: ['10.0.0.1', '10.0.0.2'] }, { '10.0.0.1:80': 'silent' })
    const wanted = new AbortController()
    const dialled = dialer.dial({ host: 'db', port: 80 }, { deadlineMs, signal: wanted.signal })
    const gone = expect(dialled).rejects.toThrow('gone')
    await clock.advance(0)
    wanted.abort(new Error('gone'))
    await gone
    expect([network.asked, clock.pending]).toEqual([['10.0.0.1:80'], 0])
  })

  it('reaches a real listener, by name and by address, and reads nothing of it', async () => {
    const server = createServer((socket) => void socket.on('error', () => {}).end('first words')).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const dialer = new TargetDialer({ clock: systemClock })
    for (const host of ['127.0.0.1', 'localhost']) {
      const socket = await dialer.dial({ host, port }, { deadlineMs, signal })
      expect([socket.bytesRead, socket.readableFlowing, socket.allowHalfOpen]).toEqual([0, null, true])
      socket.destroy()
    }
    // Nobody listens there; the port above may be somebody else's as soon as it is closed.
    await expect(dialer.dial({ host: '127.0.0.1', port: 1 }, { deadlineMs, signal })).rejects.toMatchObject({
      code: 'refused',
    })
  })
})
