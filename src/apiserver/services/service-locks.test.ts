import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually, type ObjectServer } from '../../../test/worlds/object-server.ts'
import { startServiceServer } from '../../../test/worlds/service-server.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { type RunningController, runController } from '../controllers/controller.ts'
import { type Fields, struct } from '../kinds/fields.ts'
import { conform } from '../objects/decode-body.ts'
import { storedValue } from '../objects/item.ts'
import { MemoryStore } from '../storage/memory-store.ts'
import { recordKey, recordPrefix, recordValue } from '../storage/private-records.ts'
import { addressesOf, nodePortsOf } from './service-claims.ts'
import { IP_ADDRESSES, ServiceLocks } from './service-locks.ts'
import { serviceRepairController } from './service-repair.ts'
import { SERVICES } from './service-request.ts'

let store: MemoryStore
let servers: [ObjectServer, ObjectServer]

async function start(cidr: string): Promise<void> {
  const clock = new ManualClock()
  store = new MemoryStore(clock)
  servers = [await startServiceServer(cidr, { store, clock }), await startServiceServer(cidr, { store, clock })]
}

beforeEach(() => start('10.96.0.0/16'))
afterEach(async () => {
  for (const server of servers) await server.stop()
  await store.close()
})

function service(name: string, spec: Fields = {}): KubeObject {
  const metadata = { namespace: 'default', name }
  return { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ port: 80 }], ...spec } }
}

async function create(server: ObjectServer, name: string, spec: Fields = {}): Promise<Fields> {
  return struct(await server.create(SERVICES, service(name, spec)), 'spec') ?? {}
}

async function names(prefix: string): Promise<string[]> {
  const { entries } = await store.list(prefix)
  return entries.map(({ key }) => key.slice(prefix.length))
}

const lockedAddresses = (): Promise<string[]> => names(IP_ADDRESSES.keyPrefix)
const lockedPorts = (): Promise<string[]> => names(recordPrefix('node-ports'))
const either = (index: number): ObjectServer => servers[index % 2 === 0 ? 0 : 1]

describe('two servers on one store', () => {
  it('give out every address once, until the range is full', async () => {
    for (const server of servers) await server.stop()
    await start('10.1.2.0/28')
    const specs = await Promise.all(Array.from({ length: 13 }, (_, index) => create(either(index), `s${index}`)))
    const addresses = specs.flatMap(addressesOf)
    expect(new Set(addresses).size).toBe(13)
    expect((await lockedAddresses()).sort()).toEqual(addresses.sort())
    for (const server of servers) await expect(create(server, 'late')).rejects.toThrow('range is full')
  })

  it('give out every node port once, also when they choose the same at the same time', async () => {
    const count = 300
    const made = await Promise.all(
      Array.from({ length: count }, (_, index) => create(either(index), `s${index}`, { type: 'NodePort' })),
    )
    const ports = made.flatMap(nodePortsOf)
    expect(new Set(ports).size).toBe(count)
    expect(new Set((await lockedPorts()).map(Number))).toEqual(new Set(ports))
    await Promise.all(made.map((_, index) => either(index + 1).delete(SERVICES, 'default', `s${index}`)))
    expect(await lockedPorts()).toEqual([])
    expect(await lockedAddresses()).toEqual([])
  })

  it.each([
    ['an address', { clusterIP: '10.96.7.7' }, 'provided IP is already allocated'],
    ['a port', { type: 'NodePort', ports: [{ port: 80, nodePort: 30_100 }] }, 'provided port is already allocated'],
  ])('let one of two have %s that both ask for', async (_what, spec, refusal) => {
    const results = await Promise.allSettled([create(servers[0], 'a', spec), create(servers[1], 'b', spec)])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const refused = results.find((result) => result.status === 'rejected')
    expect(String(refused?.reason)).toContain(refusal)
  })

  it('give what was let go on one to whoever asks for it on the other', async () => {
    const spec = { type: 'NodePort', clusterIP: '10.96.7.7', ports: [{ port: 80, nodePort: 30_100 }] }
    for (let round = 0; round < 4; round++) {
      await create(either(round), 'web', spec)
      await either(round).delete(SERVICES, 'default', 'web')
    }
    await create(servers[0], 'web', spec)
    await servers[0].update(SERVICES, 'default', 'web', (old) => ({
      ...old,
      spec: { type: 'ExternalName', externalName: 'a.b' },
    }))
    expect(addressesOf(await create(servers[1], 'other', spec))).toEqual(['10.96.7.7'])
  })
})

it('shows the IPAddress of a Service as the API has it', async () => {
  await create(servers[0], 'web', { clusterIP: '10.96.7.7' })
  expect(servers[0].get(IP_ADDRESSES, '', '10.96.7.7')).toMatchObject({
    kind: 'IPAddress',
    apiVersion: 'networking.k8s.io/v1',
    metadata: {
      name: '10.96.7.7',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: {
        'ipaddress.kubernetes.io/ip-family': 'IPv4',
        'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
      },
    },
    spec: { parentRef: { resource: 'services', namespace: 'default', name: 'web' } },
  })
  const made = servers[0].get(IP_ADDRESSES, '', '10.96.7.7') ?? {}
  const inOrder = conform(made, IP_ADDRESSES.stored, 'Strict').object
  expect(JSON.stringify(made)).toBe(JSON.stringify(inOrder))
})

describe('repair', () => {
  const running: RunningController[] = []
  afterEach(async () => {
    for (const controller of running.splice(0)) await controller.stop()
  })

  function repair(): void {
    for (const { cache, clock, logger, client } of servers) {
      const locks = new ServiceLocks(cache)
      const controller = serviceRepairController({ store, cache, locks, logger, timestamp: () => client.timestamp() })
      running.push(runController(controller, { cache, clock, logger }))
    }
  }

  it('locks what Services without locks have', async () => {
    const old = service('old', { clusterIP: '10.96.7.7', clusterIPs: ['10.96.7.7'], ports: [{ nodePort: 30_100 }] })
    const value = storedValue({ ...old, metadata: { ...old.metadata, uid: 'u' } })
    await store.commit({ conditions: [], writes: [{ type: 'put', key: `${SERVICES.keyPrefix}default/old`, value }] })
    repair()
    await eventually(() => servers[0].get(IP_ADDRESSES, '', '10.96.7.7') !== undefined)
    expect(await lockedPorts()).toEqual(['30100'])
  })

  it('makes a deleted IPAddress again, and leaves those of others alone', async () => {
    await create(servers[0], 'web', { clusterIP: '10.96.7.7' })
    const spec = { parentRef: { group: 'example.com', resource: 'gateways', name: 'g' } }
    await servers[0].create(IP_ADDRESSES, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IPAddress',
      metadata: { name: '10.96.7.8' },
      spec,
    })
    repair()
    const before = servers[0].get(IP_ADDRESSES, '', '10.96.7.7')?.metadata?.uid
    await servers[0].delete(IP_ADDRESSES, '', '10.96.7.7')
    await eventually(() => {
      const uid = servers[0].get(IP_ADDRESSES, '', '10.96.7.7')?.metadata?.uid
      return uid !== undefined && uid !== before
    })
    expect(await lockedAddresses()).toContain('10.96.7.8')
    await expect(create(servers[1], 'other', { clusterIP: '10.96.7.8' })).rejects.toThrow('already allocated')
  })

  it('takes away locks whose Service is not there', async () => {
    const key = recordKey('node-ports', '30100')
    const value = recordValue('30100', { service: 'default/gone' })
    await store.commit({ conditions: [], writes: [{ type: 'put', key, value }] })
    const { cache } = servers[0]
    await eventually(() => cache.collection(recordPrefix('node-ports')).size === 1)
    repair()
    await eventually(() => cache.collection(recordPrefix('node-ports')).size === 0)
    expect(await lockedPorts()).toEqual([])
  })
})
