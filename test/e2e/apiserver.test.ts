/** The API server from outside, through its own kubeconfig and our own client. */
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  configMaps,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isInvalid,
  isNotFound,
  isUnauthorized,
  KubeClient,
  loadKubeconfig,
  namespaces,
  type Pod,
  pods,
  protobufCodec,
} from '../../src/kube/index.ts'
import { endAll, type Launched, launch, makeWorkingDir, run } from './harness.ts'

let workingDir: string
const clients: KubeClient[] = []

beforeEach(() => {
  workingDir = makeWorkingDir()
})
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()))
  await endAll()
})

const flags = ['--data-dir', 'data', '--secure-port', '0', '--health-address', '127.0.0.1:0']

async function start(...more: string[]): Promise<{ server: Launched; client: KubeClient; url: string }> {
  const server = launch(['apiserver', ...flags, ...more], { workingDir })
  const [, url = ''] = await server.shows(/^ready .* on (https:\/\/\S+)\n[\s\S]*admin\.kubeconfig\n/)
  return { server, client: await admin(), url }
}

async function admin(options: ConstructorParameters<typeof KubeClient>[1] = {}): Promise<KubeClient> {
  const connection = await loadKubeconfig({ file: join(workingDir, 'data/admin.kubeconfig') })
  const client = new KubeClient(connection, options)
  clients.push(client)
  return client
}

const container = { name: 'c', image: 'i' }

function pod(name: string, labels: Record<string, string> = {}): Pod {
  return { metadata: { name, labels }, spec: { containers: [container] } }
}

describe('causeway apiserver', () => {
  it('creates, reads, changes and deletes objects, in JSON and in protobuf', async () => {
    const { client } = await start('--storage', 'memory')
    const inDefault = client.resource(configMaps).in('default')
    const created = await inDefault.create({ metadata: { name: 'a' }, data: { k: '1' } })
    expect(created.metadata).toMatchObject({ name: 'a', namespace: 'default' })
    await expect(inDefault.create({ metadata: { name: 'a' } })).rejects.toSatisfy(isAlreadyExists)
    const updated = await inDefault.update({ ...created, data: { k: '2' } })
    expect(Number(updated.metadata?.resourceVersion)).toBeGreaterThan(Number(created.metadata?.resourceVersion))
    await expect(inDefault.update({ ...created, data: { k: '3' } })).rejects.toSatisfy(isConflict)
    const again = await inDefault.update(updated)
    expect(again.metadata?.resourceVersion).toBe(updated.metadata?.resourceVersion)
    const patched = await inDefault.patch('a', { type: 'merge', patch: { data: { k: null, l: '4' } } })
    expect(patched.data).toEqual({ l: '4' })
    const overProtobuf = await admin({ codec: protobufCodec })
    expect(await overProtobuf.resource(configMaps).in('default').get('a')).toEqual(patched)
    await overProtobuf.resource(configMaps).in('default').delete('a')
    await expect(inDefault.get('a')).rejects.toSatisfy(isNotFound)
  })

  it('says what is wrong with an object, and stores nothing', async () => {
    const { client } = await start('--storage', 'memory')
    const inDefault = client.resource(pods).in('default')
    await expect(inDefault.create(pod('Bad_Name'))).rejects.toSatisfy(isInvalid)
    expect((await inDefault.list()).items).toEqual([])
  })

  it('lists in pages of one snapshot, and by selectors', async () => {
    const { client } = await start('--storage', 'memory')
    const inDefault = client.resource(pods).in('default')
    for (const name of ['a', 'b', 'c', 'd', 'e'])
      await inDefault.create(pod(name, { vowel: 'ae'.includes(name) ? 'yes' : 'no' }))
    const first = await inDefault.list({ limit: 2 })
    expect(first.metadata).toMatchObject({ remainingItemCount: 3 })
    await inDefault.delete('c', { gracePeriodSeconds: 0 })
    const second = await inDefault.list({ limit: 2, continue: first.metadata.continue ?? '' })
    expect(second.items.map((item) => item.metadata?.name)).toEqual(['c', 'd'])
    const vowels = await inDefault.list({ labelSelector: 'vowel=yes' })
    expect(vowels.items.map((item) => item.metadata?.name)).toEqual(['a', 'e'])
    const byField = await inDefault.list({ fieldSelector: 'metadata.name=b,status.phase=Pending' })
    expect(byField.items.map((item) => item.metadata?.name)).toEqual(['b'])
  })

  it('watches: initial events and their end, changes, selectors that are left, and from the past', async () => {
    const { client } = await start('--storage', 'memory')
    const inDefault = client.resource(pods).in('default')
    const before = await inDefault.create(pod('a', { l: '1' }))
    const stop = new AbortController()
    const query = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: true } as const
    const watch = await inDefault.watch({ ...query, labelSelector: 'l=1' }, { signal: stop.signal })
    const events = watch[Symbol.asyncIterator]()
    const next = async (): Promise<string> => {
      const { value } = await events.next()
      return value === undefined ? 'end' : `${value.type} ${value.object.metadata?.name ?? ''}`
    }
    expect(await next()).toBe('ADDED a')
    expect(await next()).toBe('BOOKMARK ')
    await inDefault.create(pod('b', { l: '1' }))
    expect(await next()).toBe('ADDED b')
    await inDefault.patch('b', { type: 'merge', patch: { metadata: { labels: { l: '2' } } } })
    expect(await next()).toBe('DELETED b')
    stop.abort()
    const replay = await inDefault.watch({ resourceVersion: before.metadata?.resourceVersion ?? '' })
    const { value } = await replay[Symbol.asyncIterator]().next()
    expect(`${value?.type} ${value?.object.metadata?.name}`).toBe('ADDED b')
    replay.close()
  })

  it('lets nobody in without a credential, and believes no header', async () => {
    const { url, client } = await start('--storage', 'memory')
    const { clientCertificate: _certificate, ...tls } = client.connection.tls
    const stranger = new KubeClient({ ...client.connection, credentials: { type: 'anonymous' }, tls })
    clients.push(stranger)
    await expect(stranger.resource(namespaces).list()).rejects.toSatisfy(isForbidden)
    const forged: [string, string][] = [
      ['x-remote-user', 'admin'],
      ['x-remote-group', 'system:masters'],
    ]
    await expect(stranger.fetch({ method: 'GET', path: '/api/v1/namespaces', headers: forged })).rejects.toSatisfy(
      isForbidden,
    )
    const wrong: [string, string][] = [['authorization', 'Bearer nonsense']]
    await expect(stranger.fetch({ method: 'GET', path: '/api/v1/namespaces', headers: wrong })).rejects.toSatisfy(
      isUnauthorized,
    )
    expect(url).toMatch(/^https:/)
  })
})

describe('causeway apiserver, its data', () => {
  it('survives SIGTERM and kill -9', async () => {
    const first = await start()
    await first.client
      .resource(configMaps)
      .in('default')
      .create({ metadata: { name: 'kept' }, data: { a: '1' } })
    first.server.kill('SIGKILL')
    await first.server.exited
    const second = await start()
    const kept = await second.client.resource(configMaps).in('default').get('kept')
    expect(kept.data).toEqual({ a: '1' })
    second.server.kill('SIGTERM')
    expect(await second.server.exited).toEqual({ code: 0, signal: null })
  })

  it('belongs to one process', async () => {
    await start()
    const { code, log } = await run(['apiserver', ...flags], { workingDir })
    expect(code).toBe(1)
    expect(log().at(-1)?.msg).toMatch(/in use by process \d+/)
  })
})
