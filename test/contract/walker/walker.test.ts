/** The wire walker: one suite, run on JSON and on protobuf. */
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../src/kube/objects.ts'
import { ANY_ITEM, type FieldPath } from '../../../src/kube/walker/walker.ts'
import { WireError } from '../../../src/protobuf/wire-error.ts'
import { formats } from './formats.ts'

const service: KubeObject = {
  kind: 'Service',
  apiVersion: 'v1',
  metadata: {
    name: 'kubernetes',
    namespace: 'default',
    uid: 'u-1',
    resourceVersion: '17',
    labels: { component: 'apiserver' },
  },
  spec: {
    ports: [
      { name: 'https', protocol: 'TCP', port: 443, targetPort: 6443 },
      { name: 'metrics', protocol: 'TCP', port: 9102, targetPort: 'metrics' },
    ],
    clusterIP: '10.96.0.1',
    clusterIPs: ['10.96.0.1', 'fd00::1'],
    type: 'ClusterIP',
  },
  status: { loadBalancer: {} },
}

const https = { key: 'name', equals: 'https' }

function serviceList(...names: string[]): KubeObject {
  const items = names.map((name) => ({ ...service, metadata: { ...service.metadata, name } }))
  const bare = items.map(({ kind: _kind, apiVersion: _apiVersion, ...rest }) => rest)
  return {
    kind: 'ServiceList',
    apiVersion: 'v1',
    metadata: { resourceVersion: '99', continue: 'next', remainingItemCount: 3 },
    items: bare,
  } as KubeObject
}

function set(path: FieldPath, value: unknown) {
  return { path, replace: () => value }
}

describe.each(formats)('$name walker', ({ walker, encode, decode }) => {
  const document = encode(service)
  const edited = (path: FieldPath, value: unknown) => decode(walker.edit(document, [set(path, value)]))
  /** What the codec makes of a service with a changed spec. */
  const withSpec = (changed: object) =>
    decode(encode({ ...service, spec: { ...(service['spec'] as object), ...changed } }))

  it('tells type and identity', () => {
    expect(walker.typeOf(document)).toEqual({ apiVersion: 'v1', kind: 'Service' })
    expect(walker.identityOf(document)).toEqual({
      namespace: 'default',
      name: 'kubernetes',
      uid: 'u-1',
      resourceVersion: '17',
    })
    expect(walker.identityOf(encode({ kind: 'ConfigMap', apiVersion: 'v1' }))).toEqual({
      namespace: '',
      name: '',
      uid: '',
      resourceVersion: '',
    })
  })

  it.each<[FieldPath, unknown]>([
    [['spec', 'clusterIP'], '10.96.0.1'],
    [
      ['spec', 'clusterIPs'],
      ['10.96.0.1', 'fd00::1'],
    ],
    [['spec', 'clusterIPs', 1], 'fd00::1'],
    [['spec', 'clusterIPs', 2], undefined],
    [['spec', 'clusterIPs', -1], undefined],
    [['spec', 'ports', https, 'port'], 443],
    [['spec', 'ports', { key: 'port', equals: 9102 }, 'targetPort'], 'metrics'],
    [['spec', 'ports', { key: 'port', equals: '9102' }, 'name'], undefined],
    [['spec', 'ports', ANY_ITEM, 'name'], 'https'],
    [['spec', 'ports', 1], { name: 'metrics', protocol: 'TCP', port: 9102, targetPort: 'metrics' }],
    [['metadata', 'labels', 'component'], 'apiserver'],
    [['metadata', 'labels', 'toString'], undefined],
    [['metadata', 'labels', 'component', 'deeper'], undefined],
    [['metadata', 'annotations', 'a'], undefined],
    [['spec', 'ports', 'https', 'port'], undefined],
    [['spec', 0], undefined],
    [['spec', 'externalName'], undefined],
    [['colour'], undefined],
    [[], undefined],
  ])('reads %j', (path, value) => {
    expect(walker.read(document, path)).toEqual(value)
  })

  it('replaces a field, a list, a list item and a field of the matching item', () => {
    expect(edited(['spec', 'clusterIP'], '169.254.30.10')).toEqual(withSpec({ clusterIP: '169.254.30.10' }))
    expect(edited(['spec', 'clusterIPs'], ['169.254.30.10'])).toEqual(withSpec({ clusterIPs: ['169.254.30.10'] }))
    expect(edited(['spec', 'clusterIPs', 1], '::1')).toEqual(withSpec({ clusterIPs: ['10.96.0.1', '::1'] }))
    expect(
      walker.read(walker.edit(document, [set(['spec', 'ports', https, 'port'], 10_550)]), ['spec', 'ports']),
    ).toEqual([
      { name: 'https', protocol: 'TCP', port: 10_550, targetPort: 6443 },
      { name: 'metrics', protocol: 'TCP', port: 9102, targetPort: 'metrics' },
    ])
  })

  it('adds and removes fields, map entries and list items', () => {
    expect(edited(['spec', 'externalName'], 'far.example')).toEqual(withSpec({ externalName: 'far.example' }))
    expect(edited(['spec', 'clusterIPs'], undefined)).toEqual(withSpec({ clusterIPs: undefined }))
    expect(edited(['spec', 'clusterIPs', 0], undefined)).toEqual(withSpec({ clusterIPs: ['fd00::1'] }))
    expect(edited(['spec', 'ports', https], undefined)['spec']).toHaveProperty('ports.length', 1)
    expect(edited(['metadata', 'labels', 'a'], 'b').metadata?.labels).toEqual({ a: 'b', component: 'apiserver' })
    expect(edited(['metadata', 'labels', 'z'], 'b').metadata?.labels).toEqual({ component: 'apiserver', z: 'b' })
    expect(edited(['metadata', 'labels', 'component'], undefined).metadata?.labels ?? {}).toEqual({})
  })

  it('shows each place to the edit, absent ones as undefined', () => {
    const seen: unknown[] = []
    const look = (value: unknown) => {
      seen.push(value)
      return value
    }
    const paths: FieldPath[] = [
      ['spec', 'ports', ANY_ITEM, 'port'],
      ['spec', 'ports', ANY_ITEM, 'nodePort'],
      ['metadata', 'labels', 'none'],
      ['metadata', 'annotations', 'none'],
    ]
    const result = walker.edit(
      document,
      paths.map((path) => ({ path, replace: look })),
    )
    expect(seen).toEqual([443, 9102, undefined, undefined, undefined])
    expect(result).toBe(document)
  })

  it('returns the same buffer when an equal value is written', () => {
    const equal = [
      set(['spec', 'clusterIP'], '10.96.0.1'),
      set(['spec', 'clusterIPs'], ['10.96.0.1', 'fd00::1']),
      set(['spec', 'ports', https, 'port'], 443),
      set(['metadata', 'labels'], { component: 'apiserver' }),
      set(['spec', 'externalName'], undefined),
    ]
    expect(walker.edit(document, equal)).toBe(document)
  })

  it('applies edits in order, each on the result of the one before', () => {
    const result = walker.edit(document, [
      set(['spec', 'clusterIP'], 'one'),
      { path: ['spec', 'clusterIP'], replace: (value) => `${String(value)} two` },
    ])
    expect(walker.read(result, ['spec', 'clusterIP'])).toBe('one two')
  })

  it('takes and gives plain Uint8Arrays inside larger buffers', () => {
    const padded = new Uint8Array(document.length + 20).fill(0x22)
    padded.set(document, 10)
    const inside = padded.subarray(10, 10 + document.length)
    expect(walker.read(inside, ['spec', 'clusterIP'])).toBe('10.96.0.1')
    expect(walker.edit(inside, [])).toBe(inside)
    expect(decode(walker.edit(inside, [set(['spec', 'clusterIP'], 'x')]))).toEqual(withSpec({ clusterIP: 'x' }))
  })

  it('reads and changes the metadata of a list', () => {
    const list = encode(serviceList('a', 'b'))
    expect(walker.listMeta(list)).toEqual({ resourceVersion: '99', continue: 'next', remainingItemCount: 3 })
    const next = walker.edit(list, [
      set(['metadata', 'resourceVersion'], '100'),
      set(['metadata', 'continue'], undefined),
    ])
    expect(walker.listMeta(next)).toEqual({ resourceVersion: '100', remainingItemCount: 3 })
    expect(walker.items(next).map((item) => item.identity.name)).toEqual(['a', 'b'])
    expect(walker.listMeta(encode({ ...serviceList(), metadata: {} }))).toEqual({})
  })

  it('splits a list into items that can be read, edited and stand alone', () => {
    const [first, second] = walker.items(encode(serviceList('a', 'b')))
    expect(first?.identity).toEqual({ namespace: 'default', name: 'a', uid: 'u-1', resourceVersion: '17' })
    expect(second?.type).toEqual({ apiVersion: 'v1', kind: 'Service' })
    expect(second?.read(['spec', 'ports', https, 'port'])).toBe(443)
    expect(second?.edit([set(['spec', 'clusterIP'], '10.96.0.1')])).toBe(second?.bytes)
    expect(decode(second?.toDocument() ?? Buffer.alloc(0))).toEqual(
      decode(encode({ ...service, metadata: { ...service.metadata, name: 'b' } })),
    )
    expect(walker.items(encode({ ...serviceList(), items: [] }))).toEqual([])
  })

  it('keeps, drops and changes items', () => {
    const list = encode(serviceList('a', 'b', 'c', 'd'))
    const result = walker.mapItems(list, (item) => {
      if (item.identity.name === 'b') return null
      if (item.identity.name === 'c') return item.edit([set(['spec', 'clusterIP'], 'x'.repeat(200))])
      return undefined
    })
    expect(walker.items(result).map((item) => [item.identity.name, item.read(['spec', 'clusterIP'])])).toEqual([
      ['a', '10.96.0.1'],
      ['c', 'x'.repeat(200)],
      ['d', '10.96.0.1'],
    ])
    expect(walker.listMeta(result)).toEqual(walker.listMeta(list))
    expect(walker.mapItems(list, () => undefined)).toBe(list)
    expect(walker.mapItems(list, (item) => item.bytes)).toBe(list)
  })

  it.each([
    ['the first', 'a'],
    ['the last', 'd'],
    ['all', 'abcd'],
    ['all but one in the middle', 'abd'],
  ])('drops %s of the items', (_which, dropped) => {
    const list = encode(serviceList('a', 'b', 'c', 'd'))
    const result = walker.mapItems(list, (item) => (dropped.includes(item.identity.name) ? null : undefined))
    const left = ['a', 'b', 'c', 'd'].filter((name) => !dropped.includes(name))
    expect(decode(result)).toEqual(decode(encode(serviceList(...left))))
  })

  it('edits every item of a list by one path', () => {
    const result = walker.edit(encode(serviceList('a', 'b')), [set(['items', ANY_ITEM, 'spec', 'clusterIP'], 'None')])
    expect(walker.items(result).map((item) => item.read(['spec', 'clusterIP']))).toEqual(['None', 'None'])
  })

  it('walks PartialObjectMetadata and its lists', () => {
    const { labels, ...metadata } = service.metadata ?? {}
    const list = encode({
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: '5' },
      items: [{ metadata }, { metadata: { ...metadata, name: 'other', ...(labels && { labels }) } }],
    })
    const items = walker.items(list)
    expect(items.map((item) => item.identity.name)).toEqual(['kubernetes', 'other'])
    expect(items[0]?.type).toEqual({ apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata' })
    expect(items[1]?.read(['metadata', 'labels', 'component'])).toBe('apiserver')
    expect(walker.edit(list, [set(['items', ANY_ITEM, 'spec', 'clusterIP'], 'x')])).toBe(list)
  })

  it('refuses to split what is no list', () => {
    expect(() => walker.items(document)).toThrow(WireError)
    expect(() => walker.mapItems(document, () => null)).toThrow(WireError)
  })

  it('takes watch events apart and puts them together', () => {
    const frame = walker.writeEvent('MODIFIED', document)
    const event = walker.readEvent(frame)
    expect(event.type).toBe('MODIFIED')
    expect(Buffer.compare(event.object, document)).toBe(0)
    const changed = walker.edit(event.object, [set(['spec', 'clusterIP'], 'x'.repeat(20_000))])
    const next = walker.readEvent(walker.writeEvent(event.type, changed))
    expect(decode(next.object)).toEqual(withSpec({ clusterIP: 'x'.repeat(20_000) }))
  })
})
