import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { FakeNetwork } from '../../../test/worlds/fake-network.ts'
import { loudNet } from '../../../test/worlds/loud-net.ts'
import { drive, settled } from '../../../test/worlds/yamux-drivers.ts'
import { memoryCarriers } from '../../../test/worlds/yamux-wire-carrier.ts'
import type { ManualClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { openTarget } from '../../tunnel/outgoing.ts'
import { ApiServerPool } from './api-server-pool.ts'
import { API_SERVER_DIALS_BURST_PER_NODE, API_SERVER_DIALS_PER_SECOND_PER_NODE } from './api-server-shares.ts'
import { DialSlots } from './dial-slots.ts'
import { createTargetMetrics } from './metrics.ts'
import { DENIAL_LOG_INTERVAL_MS, StreamServer } from './stream-server.ts'
import { TargetDialer } from './target-dialer.ts'
import { TargetPolicy } from './target-policy.ts'
import { Targets } from './targets.ts'

const api = { host: '10.0.0.1', port: 6443 }

function world({ slots = new DialSlots(), overload }: { slots?: DialSlots; overload?: string } = {}) {
  const network = new FakeNetwork()
  const registry = new Registry()
  const log: Record<string, unknown>[] = []
  let server: StreamServer | undefined
  const make = (clock: ManualClock): StreamServer => {
    const destination = { write: (line: string) => log.push(JSON.parse(line) as Record<string, unknown>) }
    const logger = createLogger({ level: 'warn', format: 'json', clock, destination })
    const dialer = new TargetDialer({ clock, network })
    const policy = new TargetPolicy({ rules: [], apiServers: [api] })
    const metrics = createTargetMetrics(registry, slots)
    const apiServers = new ApiServerPool({ addresses: [api], dialer, metrics, clock, logger })
    return new StreamServer({
      net: loudNet(),
      targets: new Targets({ policy, apiServers, dialer, slots, metrics, clock }),
      clock,
      logger,
    })
  }
  const owner = { node: 'edge-1', countOpen: () => overload }
  const [near, far] = memoryCarriers()
  const pair = drive(near, far, {
    serve: (stream, clock) => {
      server ??= make(clock)
      server.serve(stream, owner)
    },
  })
  const open = (target: string, deadlineMs?: number) =>
    openTarget(pair.client.driver, { target, ...(deadlineMs === undefined ? {} : { deadlineMs }) }, pair.clock)
  const opens = async (code: string): Promise<number> => {
    const { values = [] } = (await registry.getSingleMetric('causeway_hub_target_opens_total')?.get()) ?? {}
    return values.filter(({ labels }) => labels['code' as never] === code).reduce((sum, { value }) => sum + value, 0)
  }
  const limited = async (limit: string): Promise<number | undefined> => {
    const { values = [] } = (await registry.getSingleMetric('causeway_hub_target_limits_total')?.get()) ?? {}
    return values.find(({ labels }) => labels['limit' as never] === limit)?.value
  }
  return { ...pair, network, open, opens, limited, log, slots }
}

describe('a stream of a node', () => {
  it('is given up when its opener goes, and so is the dial', async () => {
    const { network, open, opens, slots } = world()
    network.addresses.set('10.0.0.1:6443', 'silent')
    const { stream } = open('kube-apiserver')
    await settled()
    expect(slots.taken).toBe(1)
    stream.destroy()
    await settled()
    expect([slots.taken, await opens('gone')]).toEqual([0, 1])
  })

  it('whose opener goes at the moment of the connection leaves no socket behind', async () => {
    const { network, open, client } = world()
    network.addresses.set('10.0.0.1:6443', 'up')
    open('kube-apiserver')
    await settled()
    client.driver.close()
    await settled()
    expect(network.sockets.map(({ destroyed }) => destroyed)).toEqual([true])
  })

  it('is answered within the time the opener gave', async () => {
    const { network, open, clock, opens } = world()
    network.addresses.set('10.0.0.1:6443', 'silent')
    const { answered } = open('kube-apiserver', 2_000)
    const late = expect(answered).rejects.toMatchObject({ code: 'timeout' })
    await settled()
    await clock.advance(2_000)
    await late
    expect((await opens('timeout')) + (await opens('gone'))).toBe(1)
  })

  it('is refused as overloaded where too many dials are under way', async () => {
    const { network, open } = world({ slots: new DialSlots({ maxDialsPerNode: 1 }) })
    network.addresses.set('10.0.0.1:6443', 'silent')
    open('kube-apiserver')
    await expect(open('kube-apiserver').answered).rejects.toMatchObject({
      code: 'overloaded',
      message: 'the hub is connecting to as many targets as it may at a time; try again',
    })
  })

  it('counts as a connection while it is open, and its node has a share of them when they are scarce', async () => {
    const slots = new DialSlots({ scarceConnections: 1, maxScarceConnectionsPerNode: 1 })
    const { network, open } = world({ slots })
    network.addresses.set('10.0.0.1:6443', 'up')
    const first = open('kube-apiserver')
    await first.answered
    expect([slots.taken, slots.held]).toEqual([0, 1])
    await expect(open('kube-apiserver').answered).rejects.toMatchObject({
      code: 'overloaded',
      message: 'the hub runs short of connections, and this node has more than its share: close some',
    })
    first.stream.destroy()
    await settled()
    expect(slots.held).toBe(0)
    await open('kube-apiserver').answered
  })

  it.each(['kube-apiserver', '10.0.0.1:6443'])(
    'is refused where its node connects to %s too often, and others are not',
    async (target) => {
      const { network, open, clock, limited } = world()
      network.addresses.set('10.0.0.1:6443', 'ECONNREFUSED')
      for (let count = 0; count < API_SERVER_DIALS_BURST_PER_NODE; count++)
        await expect(open(target).answered).rejects.toMatchObject({ code: 'refused' })
      const asked = network.asked.length
      await expect(open(target).answered).rejects.toMatchObject({
        code: 'overloaded',
        message: `this node opens more than ${API_SERVER_DIALS_PER_SECOND_PER_NODE} connections to the API server per second; try again`,
      })
      expect([network.asked.length, await limited('apiserver-dials-per-node')]).toEqual([asked, 1])
      await clock.advance(1_000)
      await expect(open(target).answered).rejects.toMatchObject({ code: 'refused' })
    },
  )

  it('is refused with what speaks against it, and nothing is dialled', async () => {
    const { network, open } = world({ overload: 'node edge-1 has too many' })
    await expect(open('kube-apiserver').answered).rejects.toMatchObject({
      code: 'overloaded',
      message: 'node edge-1 has too many',
    })
    expect(network.asked).toEqual([])
  })

  it('that is denied is logged, but not each time', async () => {
    const { open, log, clock } = world()
    for (let count = 0; count < 5; count++) await open('db.example:80').answered.catch(() => {})
    expect(log).toHaveLength(1)
    await clock.advance(DENIAL_LOG_INTERVAL_MS)
    await open('db.example:80').answered.catch(() => {})
    expect(log[1]).toMatchObject({ msg: 'target denied', node: 'edge-1', target: 'db.example:80', andOthers: 4 })
  })
})
