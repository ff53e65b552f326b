/** Two API servers of ours on one real etcd: one cluster, whoever of them is asked, and either may go. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { findAdvertiseAddress } from '../../src/apiserver/services/kubernetes-service.ts'
import {
  configMaps,
  endpointSlices,
  KubeClient,
  type KubeObject,
  leases,
  loadKubeconfig,
  namespaces,
  type Resource,
  serviceAccounts,
  services,
  tokenRequests,
} from '../../src/kube/index.ts'
import { removeFolder } from '../remove-folder.ts'
import { type ControlPlane, describeReal, kubectl, startControlPlane } from './harness.ts'

const command = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const serviceCount = 200
const parallel = 8

interface Ours {
  readonly child: ChildProcess
  readonly client: KubeClient
  readonly kubeconfigFile: string
}

interface Addressed extends KubeObject {
  spec?: { type?: string; clusterIP?: string; ports?: { port: number; nodePort?: number }[] }
}

describeReal('two causeway apiservers on one etcd', () => {
  let plane: ControlPlane
  let folder: string
  let prefix = 0
  const started: Ours[] = []

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'causeway-two-'))
    // Only its etcd is wanted; our keys stand beside those of the real API server.
    plane = await startControlPlane()
  })
  afterEach(async () => {
    for (const { child, client } of started.splice(0)) {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      await client.close()
    }
    prefix++
  })
  afterAll(async () => {
    await plane?.stop()
    removeFolder(folder)
  })

  /** Each test has a part of etcd to itself, and each server a folder. */
  async function start(name: string, ...more: string[]): Promise<Ours> {
    const dataDir = join(folder, `${prefix}-${name}`)
    const flags = ['--data-dir', dataDir, '--secure-port', '0', '--health-address', '127.0.0.1:0']
    const etcd = ['--etcd-servers', plane.etcd, '--etcd-prefix', `/causeway-${prefix}/`]
    const child = spawn(process.execPath, [command, 'apiserver', ...flags, ...etcd, ...more], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let log = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
    })
    const ended = once(child, 'close').then(([code]) => Promise.reject(new Error(`ended with ${String(code)}: ${log}`)))
    ended.catch(() => {})
    await Promise.race([once(child.stdout, 'data'), ended])
    const kubeconfigFile = join(dataDir, 'admin.kubeconfig')
    const ours = { child, client: new KubeClient(await loadKubeconfig({ file: kubeconfigFile })), kubeconfigFile }
    started.push(ours)
    return ours
  }

  async function startTwo(): Promise<[Ours, Ours]> {
    return await Promise.all([start('a'), start('b')])
  }

  it('shares objects, versions and watches, and survives the end of one', async () => {
    const [first, second] = await startTwo()
    const there = inDefault(first.client, configMaps)
    const here = inDefault(second.client, configMaps)
    const watch = await here.watch({
      sendInitialEvents: true,
      resourceVersionMatch: 'NotOlderThan',
      fieldSelector: 'metadata.name=a',
    })
    const events = watch[Symbol.asyncIterator]()
    const created = await there.create({ metadata: { name: 'a' }, data: { k: '1' } })
    const seen = await events.next()
    expect(seen.value).toMatchObject({
      type: 'ADDED',
      object: { metadata: { resourceVersion: created.metadata?.resourceVersion } },
    })
    expect(await here.get('a')).toEqual(created)
    await expect(here.create({ metadata: { name: 'a' } })).rejects.toMatchObject({ code: 409 })
    first.child.kill('SIGKILL')
    await once(first.child, 'exit')
    const updated = await here.update({ ...created, data: { k: '2' } })
    expect((await events.next()).value).toMatchObject({ type: 'MODIFIED', object: { data: { k: '2' } } })
    expect(Number(updated.metadata?.resourceVersion)).toBeGreaterThan(Number(created.metadata?.resourceVersion))
    watch.close()
    const third = await start('c')
    expect((await inDefault(third.client, configMaps).get('a')).data).toEqual({ k: '2' })
  })

  it('gives every Service an address and a node port of its own, whichever server is asked', async () => {
    const both = await startTwo()
    const clientOf = (index: number) => inDefault(both[index % 2 === 0 ? 0 : 1].client, services as Resource<Addressed>)
    const specOf = (index: number) => ({ type: index % 4 < 2 ? 'NodePort' : 'ClusterIP', ports: [{ port: 80 }] })
    const made = await inParallel(serviceCount, (index) =>
      clientOf(index).create({ metadata: { name: `s${index}` }, spec: specOf(index) }),
    )
    const addresses = made.map(({ spec }) => spec?.clusterIP)
    const ports = made.flatMap(({ spec }) => spec?.ports?.[0]?.nodePort ?? [])
    expect([new Set(addresses).size, ports.length, new Set(ports).size]).toEqual([
      serviceCount,
      serviceCount / 2,
      serviceCount / 2,
    ])
    const shown = await kubectl(both[1], ['get', 'ipaddresses', '--no-headers'])
    const parents = new Map(
      shown
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ +/) as [string, string]),
    )
    expect(made.map((_, index) => parents.get(addresses[index] ?? ''))).toEqual(
      made.map((_, index) => `services/default/s${index}`),
    )
    await inParallel(serviceCount, (index) => clientOf(index + 1).delete(`s${index}`))
    expect(await kubectl(both[0], ['get', 'ipaddresses', '-o', 'name'])).toBe('ipaddress.networking.k8s.io/10.96.0.1\n')
    // All are free again, on either server.
    await inParallel(serviceCount, (index) =>
      clientOf(index).create({
        metadata: { name: `again${index}` },
        spec: { ...made[index]?.spec, clusterIP: addresses[index] ?? '' },
      }),
    )
  })

  it('believes the credentials of either on both, also when they start at the same instant', async () => {
    const [first, second] = await startTwo()
    const crossed = new KubeClient({ ...first.client.connection, server: second.client.connection.server })
    expect((await crossed.resource(namespaces).list()).items.length).toBeGreaterThan(0)
    await crossed.close()
    const accounts = inDefault(first.client, serviceAccounts)
    // Made by a controller, for every namespace.
    await expect.poll(async () => (await accounts.get('default')).metadata?.name).toBe('default')
    const { status } = await accounts.subresource('default', tokenRequests).create({ spec: { audiences: [] } })
    const { clientCertificate: _certificate, ...tls } = first.client.connection.tls
    const token = { data: Buffer.from(status?.token ?? '') }
    for (const { connection } of [first.client, second.client]) {
      const account = new KubeClient({ ...connection, tls, credentials: { type: 'token', token } })
      await expect(account.resource(namespaces).list()).rejects.toMatchObject({ code: 403 })
      await account.close()
    }
    // No path leads to the keys that they share.
    for (const path of ['/apis/.causeway/v1/identity', '/apis/.causeway/identity/ca', '/api/v1/.causeway/identity/ca'])
      await expect(kubectl(first, ['get', '--raw', path])).rejects.toThrow('NotFound')
    expect(await kubectl(second, ['get', '--raw', '/openid/v1/jwks'])).toBe(
      await kubectl(first, ['get', '--raw', '/openid/v1/jwks']),
    )
  })

  it('keeps the keys on disk when told to, and says so when the servers do not fit together', async () => {
    const alone = await start('a', '--no-pki-in-store')
    alone.child.kill('SIGTERM')
    await once(alone.child, 'exit')
    await start('b')
    await expect(start('a')).rejects.toThrow(/a\/ca\.crt is not what the other API servers on this etcd use/)
    await expect(readFile(join(folder, `${prefix}-b`, 'ca.key'))).rejects.toThrow('ENOENT')
  })

  it('lists the servers that live in default/kubernetes, and their identities as Leases', async ({ skip }) => {
    if (findAdvertiseAddress() === undefined) skip('this machine has no address that others can reach')
    const both = await startTwo()
    const ports = both.map(({ client }) => Number(new URL(client.connection.server).port))
    const portIn = (slice: KubeObject): unknown => (slice['ports'] as { port: number }[] | undefined)?.[0]?.port
    const identities = inNamespace(both[0].client, leases, 'kube-system')
    const labelSelector = 'apiserver.kubernetes.io/identity=kube-apiserver'
    await expect.poll(async () => (await identities.list({ labelSelector })).items).toHaveLength(2)
    // Both have the same address, so one of them is listed: the one with the lower port.
    const lower = ports[0] === Math.min(...ports) ? 0 : 1
    const survivor = both[1 - lower] as Ours
    const watch = await inDefault(survivor.client, endpointSlices).watch({
      sendInitialEvents: true,
      resourceVersionMatch: 'NotOlderThan',
      fieldSelector: 'metadata.name=kubernetes',
    })
    const events = watch[Symbol.asyncIterator]()
    const seePort = async (wanted: number | undefined): Promise<void> => {
      for (;;) {
        const { value } = await events.next()
        if (value !== undefined && portIn(value.object) === wanted) return
      }
    }
    await seePort(ports[lower])
    both[lower]?.child.kill('SIGKILL')
    await seePort(ports[1 - lower])
    watch.close()
  })
})

function inDefault<T extends KubeObject>(client: KubeClient, resource: Resource<T>) {
  return inNamespace(client, resource, 'default')
}

function inNamespace<T extends KubeObject>(client: KubeClient, resource: Resource<T>, namespace: string) {
  return client.resource(resource).in(namespace)
}

async function inParallel<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) {
      const index = next++
      results[index] = await work(index)
    }
  }
  await Promise.all(Array.from({ length: parallel }, worker))
  return results
}
