import { describe, expect, it } from 'vitest'
import { ChangingDiscovery } from '../../../test/worlds/changing-sources.ts'
import { decodeProtobuf } from '../../kube/codec/object-codec.ts'
import { acceptHeader } from '../../kube/representation.ts'
import { builtInGroupVersions, builtInPriority } from './built-in.ts'
import { DiscoveryDocuments } from './documents.ts'
import type { DiscoveryGroupVersion } from './source.ts'

const aggregated = acceptHeader({ as: 'APIGroupDiscoveryList', encoding: 'json', version: 'v2' })

const widgets: DiscoveryGroupVersion = {
  group: 'example.com',
  version: 'v1',
  priority: { group: 1000, version: 100 },
  freshness: 'Current',
  resources: [
    {
      resource: 'widgets',
      kind: 'Widget',
      singular: 'widget',
      namespaced: true,
      verbs: ['get'],
      stored: 'example.com/v1',
    },
  ],
}

function setUp(registry = new ChangingDiscovery(builtInGroupVersions())) {
  const documents = new DiscoveryDocuments({ source: registry, serverAddress: '10.0.0.1:6443' })
  const get = (path: string, accept = 'application/json', ifNoneMatch = '') =>
    documents.discoveryDocument(path, documents.negotiate(path, { accept, stream: false }), ifNoneMatch)
  const read = (path: string, accept?: string) => JSON.parse(get(path, accept)?.body.toString() ?? 'null')
  return { registry, get, read }
}

describe('legacy documents', () => {
  it('name the core version and the address of the server', () => {
    expect(setUp().read('/api')).toEqual({
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '10.0.0.1:6443' }],
    })
  })

  it('list groups with the preferred version first', () => {
    const { groups } = setUp().read('/apis')
    expect(groups[0].name).toBe('apiregistration.k8s.io')
    const autoscaling = groups.find(({ name }: { name: string }) => name === 'autoscaling')
    expect(autoscaling.versions.map(({ version }: { version: string }) => version)).toEqual(['v2', 'v1'])
    expect(autoscaling.preferredVersion.groupVersion).toBe('autoscaling/v2')
  })

  it('list resources and subresources, with and without a final slash', () => {
    const { get, read } = setUp()
    const scale = read('/apis/apps/v1').resources.find(({ name }: { name: string }) => name === 'deployments/scale')
    expect(scale).toMatchObject({ group: 'autoscaling', version: 'v1', kind: 'Scale', singularName: '' })
    expect(get('/apis/apps/v1/')?.body).toEqual(get('/apis/apps/v1')?.body)
  })

  it.each([
    '/apis/none',
    '/apis/apps/v9',
    '/api/v2',
    '/apis//v1',
    '/apis/apps/v1/deployments',
    '/version',
    '/api/v1//',
  ])('know nothing of %s', (path) => expect(setUp().get(path)).toBeUndefined())

  it('leave out alpha and beta versions unless chosen', () => {
    expect(setUp().get('/apis/resource.k8s.io/v1beta1')).toBeUndefined()
    const all = setUp(new ChangingDiscovery(builtInGroupVersions(() => true)))
    const [preferred] = all.read('/apis/resource.k8s.io').versions
    expect(preferred.version).toBe('v1')
    expect(all.get('/apis/resource.k8s.io/v1beta1')?.status).toBe(200)
  })

  it('come as protobuf, the core ones with an empty apiVersion', () => {
    const protobuf = 'application/vnd.kubernetes.protobuf'
    const { get, read } = setUp()
    const body = get('/apis/apps', protobuf)?.body ?? Buffer.alloc(0)
    expect(decodeProtobuf(body).object).toMatchObject(read('/apis/apps'))
    expect(get('/api', protobuf)?.body.subarray(0, 8).toString('hex')).toBe('6b3873000a0f0a00')
  })
})

describe('aggregated documents', () => {
  it('hold one tag for all encodings and answer 304 to it', () => {
    const { get } = setUp()
    const json = get('/apis', aggregated)
    const etag = json?.headers['etag'] ?? ''
    expect(etag).toMatch(/^"[0-9A-F]{128}"$/)
    expect(get('/apis', aggregated.replace('json', 'yaml'))?.headers['etag']).toBe(etag)
    expect(get('/apis', aggregated, etag)).toMatchObject({ status: 304, body: Buffer.alloc(0) })
    expect(get('/apis', aggregated, '"other"')?.status).toBe(200)
    expect(get('/api', aggregated)?.headers['etag']).not.toBe(etag)
  })

  it('spell out the group and version of kinds that do so themselves', () => {
    const { registry, read } = setUp()
    const own = 'example.com/v1'
    const status = { name: 'status', kind: 'Widget', groupVersion: own, verbs: ['get'] }
    registry.set({
      ...widgets,
      resources: widgets.resources.map((row) => ({ ...row, groupVersion: own, subresources: [status] })),
    })
    const responseKind = { group: 'example.com', version: 'v1', kind: 'Widget' }
    const [resource] = read('/apis', aggregated).items.at(-1).versions[0].resources
    expect(resource).toMatchObject({ responseKind, subresources: [{ responseKind }] })
    for (const legacy of read('/apis/example.com/v1').resources) expect(legacy).not.toHaveProperty('version')
  })

  it('are never given for other paths', () => {
    expect(() => setUp().get('/apis/apps', aggregated)).toThrow(/media types are accepted/)
  })
})

describe('a changing source', () => {
  it('shows what was added, replaced and taken away', () => {
    const { registry, read, get } = setUp()
    const before = get('/apis', aggregated)?.headers['etag']
    registry.set(widgets)
    expect(read('/apis').groups.at(-1).name).toBe('example.com')
    expect(read('/apis/example.com/v1').resources[0]).toMatchObject({ name: 'widgets', kind: 'Widget' })
    registry.set({ ...widgets, freshness: 'Stale', resources: [] })
    expect(read('/apis', aggregated).items.at(-1).versions).toEqual([{ version: 'v1', freshness: 'Stale' }])
    registry.delete('example.com', 'v1')
    expect(get('/apis/example.com')).toBeUndefined()
    expect(get('/apis', aggregated)?.headers['etag']).toBe(before)
  })

  it('keeps the bytes while nothing changes', () => {
    const { registry, get } = setUp()
    const first = get('/api/v1')?.body
    registry.delete('none', 'v1')
    expect(get('/api/v1')?.body).toBe(first)
  })
})

describe('priorities', () => {
  it('are those of kube-apiserver', () => {
    expect(builtInPriority({ group: 'autoscaling', version: 'v2' })).toEqual({ group: 17500, version: 30 })
    expect(builtInPriority({ group: '', version: 'v1' })).toEqual({ group: 18000, version: 1 })
    expect(builtInPriority({ group: 'networking.k8s.io', version: 'v1beta1' })).toEqual({ group: 17200, version: 9 })
  })
})
