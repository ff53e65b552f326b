import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { FakeNetwork } from '../../../test/worlds/fake-network.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { MAX_CONNECT_ATTEMPT_MS } from '../../tunnel/dial-address.ts'
import { API_SERVER_BACKOFF_FIRST_MS, ApiServerPool } from './api-server-pool.ts'
import { DialSlots } from './dial-slots.ts'
import { createTargetMetrics } from './metrics.ts'
import { TargetDialer } from './target-dialer.ts'

const deadlineMs = 30_000
const { signal } = new AbortController()
const [a, b, c] = ['10.0.0.1:6443', '10.0.0.2:6443', '10.0.0.3:6443'] as const

function world() {
  const clock = new ManualClock()
  const network = new FakeNetwork()
  const log: Record<string, unknown>[] = []
  const destination = { write: (line: string) => log.push(JSON.parse(line) as Record<string, unknown>) }
  const logger = createLogger({ level: 'info', format: 'json', clock, destination })
  const addresses = [1, 2, 3].map((last) => ({ host: `10.0.0.${last}`, port: 6443 }))
  const metrics = createTargetMetrics(new Registry(), new DialSlots())
  const pool = new ApiServerPool({ addresses, dialer: new TargetDialer({ clock, network }), metrics, clock, logger })
  const failing = async (): Promise<number | undefined> => (await metrics.failingApiServers.get()).values[0]?.value
  const tried = async (): Promise<string[]> => {
    network.asked.length = 0
    await pool.dial({ deadlineMs, signal }).catch(() => {})
    return network.asked
  }
  return { clock, network, pool, log, tried, failing, metrics }
}

describe('the addresses of the API server', () => {
  it('are tried in their order, and the one that answered is tried first from then on', async () => {
    const { network, tried } = world()
    network.addresses.set(b, 'up')
    expect(await tried()).toEqual([a, b])
    expect(await tried()).toEqual([b])
    network.addresses.set(a, 'up')
    expect(await tried()).toEqual([b])
  })

  it('are all tried before a dial fails, and the text says what each did', async () => {
    const { network, pool, tried, failing } = world()
    network.addresses.set(b, 'EHOSTUNREACH')
    expect(await tried()).toEqual([a, b, c])
    await expect(pool.dial({ deadlineMs, signal })).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringMatching(
        /^the API server cannot be reached: .*10\.0\.0\.1: connection refused; .*EHOSTUNREACH/,
      ),
    })
    expect(await failing()).toBe(3)
  })

  it('that failed come last until their time is over, which doubles', async () => {
    const { clock, network, tried } = world()
    network.addresses.set(c, 'up')
    expect(await tried()).toEqual([a, b, c])
    network.addresses.delete(c)
    // The two that failed before are nearer to the end of their time than the one that fails now.
    expect(await tried()).toEqual([c, a, b])
    await clock.advance(API_SERVER_BACKOFF_FIRST_MS)
    expect(await tried()).toEqual([a, b, c])
    await clock.advance(API_SERVER_BACKOFF_FIRST_MS)
    network.addresses.set(b, 'up')
    expect(await tried()).toEqual([a, b])
  })

  it('that swallow packets delay a dial once', async () => {
    const { clock, network, pool, tried, failing } = world()
    network.addresses.set(a, 'silent').set(b, 'up')
    const first = pool.dial({ deadlineMs, signal })
    await clock.advance(MAX_CONNECT_ATTEMPT_MS)
    await first
    expect(await tried()).toEqual([b])
    expect(await failing()).toBe(1)
    network.addresses.set(a, 'up').delete(b)
    expect(await tried()).toEqual([b, c, a])
    expect(await failing()).toBe(2)
  })

  it('learn nothing from who gives up', async () => {
    const { clock, network, pool, failing } = world()
    network.addresses.set(a, 'silent')
    const wanted = new AbortController()
    const dialled = expect(pool.dial({ deadlineMs, signal: wanted.signal })).rejects.toThrow('gone')
    await clock.advance(0)
    wanted.abort(new Error('gone'))
    await dialled
    expect([await failing(), network.asked]).toEqual([0, [a]])
  })

  it('learn nothing from who hardly waits, nor from a hub that is out of sockets', async () => {
    const { clock, network, pool, failing } = world()
    network.addresses.set(a, 'silent').set(b, 'EMFILE').set(c, 'silent')
    const dialled = expect(pool.dial({ deadlineMs: 30, signal })).rejects.toMatchObject({ code: 'refused' })
    await clock.advance(30)
    await dialled
    expect([await failing(), network.asked]).toEqual([0, [a, b, c]])
  })

  it('are logged when they fail and when they answer again, not each time', async () => {
    const { clock, network, tried, log } = world()
    network.addresses.set(b, 'up')
    await tried()
    network.addresses.set(a, 'up').set(b, 'ECONNREFUSED')
    await tried()
    await clock.advance(60_000)
    await tried()
    const lines = log.map(({ msg, address }) => `${String(address)}: ${String(msg)}`)
    expect(lines).toEqual([
      `${a}: the API server does not answer`,
      `${b}: the API server does not answer`,
      `${c}: the API server does not answer`,
      `${a}: the API server answers again`,
    ])
  })

  it('are none: there is no route', async () => {
    const { clock, metrics } = world()
    const logger = createLogger({ level: 'info', format: 'json', clock, destination: { write: () => {} } })
    const pool = new ApiServerPool({ addresses: [], dialer: new TargetDialer({ clock }), metrics, clock, logger })
    await expect(pool.dial({ deadlineMs, signal })).rejects.toMatchObject({ code: 'no-route' })
  })
})
