/** localendpoints: what readers of Endpoints and EndpointSlices see of the pods that the kubelet has told of. */
import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import type { ResponseFiltersOptions } from '../../../src/edge/filters/response-filters.ts'
import type { KubeObject } from '../../../src/kube/objects.ts'
import { formats, stableText } from '../../contract/walker/formats.ts'
import { jsonEvent as event, FilterWorld, filterRequest } from '../../worlds/filters-world.ts'
import {
  ELSEWHERE,
  FakeLocalPods,
  localPod,
  NOT_READY,
  PORTS,
  READY,
  sliceEndpoint,
  subsetAddress,
  UIDS,
  webEndpoints,
  webSlice,
} from '../../worlds/local-endpoints-objects.ts'

const slices = '/apis/discovery.k8s.io/v1/endpointslices'
const endpoints = '/api/v1/endpoints'
const json = 'application/json'
const mediaTypes: Record<string, string> = { JSON: json, protobuf: 'application/vnd.kubernetes.protobuf' }
const [jsonFormat] = formats
if (jsonFormat === undefined) throw new Error('there is JSON')

function worldOf(localPods: FakeLocalPods, more: Partial<ResponseFiltersOptions> = {}): FilterWorld {
  return new FilterWorld({ localPods, ...more })
}

function listOf(kind: string, apiVersion: string, items: readonly KubeObject[]): KubeObject {
  const untyped = items.map(({ kind: _kind, apiVersion: _apiVersion, ...rest }) => rest)
  return { kind, apiVersion, metadata: { resourceVersion: '300' }, items: untyped }
}

interface Case {
  readonly what: string
  readonly pods: FakeLocalPods
  readonly before: KubeObject
  readonly after: KubeObject
}

function published(pods: FakeLocalPods, value = true): FakeLocalPods {
  pods.services.set('default/web', value)
  return pods
}

const { first, second } = UIDS
const both = [sliceEndpoint('10.1.0.1', first), sliceEndpoint('10.1.0.2', second), ELSEWHERE]

const sliceCases: Case[] = [
  {
    what: 'the addresses of those told of, and of nobody else',
    pods: new FakeLocalPods(localPod(first, ['10.1.0.9'])),
    before: webSlice(both),
    after: webSlice([sliceEndpoint('10.1.0.9', first), ...both.slice(1)]),
  },
  {
    what: 'readiness as the kubelet said',
    pods: new FakeLocalPods(localPod(first, ['10.1.0.1'], { isReady: false }), localPod(second, ['10.1.0.2'])),
    before: webSlice([sliceEndpoint('10.1.0.1', first), sliceEndpoint('10.1.0.2', second, NOT_READY)]),
    after: webSlice([sliceEndpoint('10.1.0.1', first, NOT_READY), sliceEndpoint('10.1.0.2', second)]),
  },
  {
    what: 'a pod that is going as serving and not ready',
    pods: new FakeLocalPods(localPod(first, ['10.1.0.1'], { isTerminating: true })),
    before: webSlice(both),
    after: webSlice([
      sliceEndpoint('10.1.0.1', first, { ready: false, serving: true, terminating: true }),
      ...both.slice(1),
    ]),
  },
  {
    what: 'no pod without an address, and none that has ended',
    pods: new FakeLocalPods(localPod(first, []), localPod(second, ['10.1.0.2'], { isOver: true })),
    before: webSlice(both),
    after: webSlice([ELSEWHERE]),
  },
  {
    what: 'the address of the right family',
    pods: new FakeLocalPods(localPod(first, ['10.1.0.9', 'fd00::9']), localPod(second, ['10.1.0.8'])),
    before: webSlice([sliceEndpoint('fd00::1', first), sliceEndpoint('fd00::2', second)], 'IPv6'),
    after: webSlice([sliceEndpoint('fd00::9', first)], 'IPv6'),
  },
  {
    what: 'pods that are not ready as ready where their Service wants that',
    pods: published(new FakeLocalPods(localPod(first, ['10.1.0.9'], { isReady: false }))),
    before: webSlice(both),
    after: webSlice([
      sliceEndpoint('10.1.0.9', first, { ready: true, serving: false, terminating: false }),
      ...both.slice(1),
    ]),
  },
  {
    what: 'the same where nothing but another endpoint tells so',
    pods: new FakeLocalPods(localPod(first, ['10.1.0.9'], { isReady: false })),
    before: webSlice([both[0] ?? {}, sliceEndpoint('10.1.0.2', second, { ...NOT_READY, ready: true })]),
    after: webSlice([
      sliceEndpoint('10.1.0.9', first, { ...NOT_READY, ready: true }),
      sliceEndpoint('10.1.0.2', second, { ...NOT_READY, ready: true }),
    ]),
  },
]

const subset = {
  addresses: [subsetAddress('10.1.0.1', first), subsetAddress('10.2.0.1', UIDS.elsewhere, 'edge-2')],
  notReadyAddresses: [subsetAddress('10.1.0.2', second)],
  ports: PORTS,
}

const endpointsCases: Case[] = [
  {
    what: 'the addresses of those told of, and of nobody else',
    pods: new FakeLocalPods(localPod(first, ['10.1.0.9'])),
    before: webEndpoints([subset]),
    after: webEndpoints([{ ...subset, addresses: [subsetAddress('10.1.0.9', first), subset.addresses[1]] }]),
  },
  {
    what: 'addresses in the list they belong to',
    pods: new FakeLocalPods(localPod(first, ['10.1.0.9'], { isReady: false }), localPod(second, ['10.1.0.2'])),
    before: webEndpoints([subset]),
    after: webEndpoints([
      {
        addresses: [subset.addresses[1], subsetAddress('10.1.0.2', second)],
        notReadyAddresses: [subsetAddress('10.1.0.9', first)],
        ports: PORTS,
      },
    ]),
  },
  {
    what: 'no list without an address',
    pods: new FakeLocalPods(localPod(second, ['10.1.0.2'])),
    before: webEndpoints([subset]),
    after: webEndpoints([{ addresses: [...subset.addresses, subsetAddress('10.1.0.2', second)], ports: PORTS }]),
  },
  {
    what: 'no subset without an address, and no pod that is going or has ended',
    pods: new FakeLocalPods(localPod(first, ['10.1.0.1'], { isTerminating: true }), localPod(second, [])),
    before: webEndpoints([
      { addresses: [subsetAddress('10.1.0.1', first)], ports: PORTS },
      subset,
      { notReadyAddresses: [subsetAddress('10.1.0.2', second)], ports: PORTS },
    ]),
    after: webEndpoints([{ addresses: [subset.addresses[1]], ports: PORTS }]),
  },
  {
    what: 'all of them as ready where their Service wants that',
    pods: published(
      new FakeLocalPods(
        localPod(first, ['10.1.0.1'], { isTerminating: true }),
        localPod(second, ['10.1.0.8'], { isReady: false }),
      ),
    ),
    before: webEndpoints([
      { addresses: [subsetAddress('10.1.0.1', first), subsetAddress('10.1.0.2', second)], ports: PORTS },
    ]),
    after: webEndpoints([
      { addresses: [subsetAddress('10.1.0.1', first), subsetAddress('10.1.0.8', second)], ports: PORTS },
    ]),
  },
]

const bystanders: Record<string, KubeObject[]> = {
  [slices]: [
    webSlice([sliceEndpoint('10.1.0.1', first, READY, 'edge-2')], 'IPv4', 'of-another-node'),
    webSlice([{ addresses: ['10.1.0.1'], conditions: READY, nodeName: 'edge-1' }], 'IPv4', 'without-a-pod'),
    webSlice([sliceEndpoint('a.example', first)], 'FQDN', 'of-names'),
    webSlice([], 'IPv4', 'empty'),
  ],
  [endpoints]: [
    webEndpoints([{ addresses: [subsetAddress('10.1.0.1', first, 'edge-2')], ports: PORTS }], 'of-another-node'),
    webEndpoints([{ addresses: [{ ip: '10.1.0.1', nodeName: 'edge-1' }], ports: PORTS }], 'without-a-pod'),
    webEndpoints([], 'empty'),
  ],
}

const matrix = [
  ...sliceCases.map((one) => ({ ...one, collection: slices, list: 'EndpointSliceList' })),
  ...endpointsCases.map((one) => ({ ...one, collection: endpoints, list: 'EndpointsList' })),
].flatMap((one) => formats.map((format) => ({ ...one, format, name: format.name, kind: one.before.kind })))

describe.each(matrix)('$kind in $name shows $what', ({ pods, before, after, collection, list, format }) => {
  const { encode, decode, walker } = format
  const head = { contentType: mediaTypes[format.name] ?? '' }
  const others = bystanders[collection] ?? []

  it('to whoever gets it, and the same to who gets that', async () => {
    const path = `${collection.replace(/[^/]+$/, 'namespaces/default/$&')}/${before.metadata?.name}`
    const { bytes } = await worldOf(pods).answer(path, 'anybody', [encode(before)], head)
    expect(stableText(decode(bytes))).toBe(stableText(decode(encode(after))))
    expect((await worldOf(pods).answer(path, 'node', [bytes], head)).bytes).toEqual(bytes)
    const disabled = worldOf(pods, { settings: { disabled: ['localendpoints'] } })
    expect((await disabled.answer(path, 'anybody', [encode(before)], head)).bytes).toEqual(encode(before))
  })

  it('in a list, and keeps the bytes of all others', async () => {
    const document = encode(listOf(list, before.apiVersion ?? '', [...others, before]))
    const { bytes } = await worldOf(pods).answer(collection, 'anybody', [document], head)
    const [was, is] = [walker.items(document), walker.items(bytes)]
    const untouched = was.map((item, index) => Buffer.from(item.bytes).equals(is[index]?.bytes ?? Buffer.alloc(0)))
    expect(untouched).toEqual([...others.map(() => true), false])
    expect(stableText(decode(is.at(-1)?.toDocument() ?? bytes))).toBe(stableText(decode(encode(after))))
  })

  it('in a watch, under the version of the API server', async () => {
    const frame = (object: KubeObject) => Buffer.from(walker.writeEvent('MODIFIED', encode(object)))
    const framed = (bytes: Buffer) =>
      format.name === 'JSON'
        ? Buffer.concat([bytes, Buffer.from('\n')])
        : Buffer.concat([Buffer.from(Uint32Array.of(bytes.length).buffer).reverse(), bytes])
    const body = framed(frame(before))
    const type = format.name === 'JSON' ? json : `${head.contentType};stream=watch`
    const { bytes } = await worldOf(pods).answer(`${collection}?watch=1`, 'anybody', [body], { contentType: type })
    const { object } = walker.readEvent(format.name === 'JSON' ? bytes : bytes.subarray(4))
    expect(stableText(decode(object))).toBe(stableText(decode(encode(after))))
    expect(walker.identityOf(object).resourceVersion).toBe(before.metadata?.resourceVersion)
  })
})

describe('the choice of the filter', () => {
  it('lets lists pass unread without a pod told of, and keeps watches in sight', async () => {
    const world = worldOf(new FakeLocalPods())
    expect(await world.choose(endpoints, 'anybody')).toBeUndefined()
    expect((await world.choose(`${endpoints}?watch=1`, 'anybody'))?.names).toEqual([])
    expect((await world.choose(slices, 'system:kube-proxy'))?.names).toEqual(['forwardkubesvctraffic'])
  })

  it('is for all, and asks nobody who it is', async () => {
    const world = worldOf(new FakeLocalPods(localPod(first, ['10.1.0.9'])))
    const identify = () => Promise.reject(new Error('was asked'))
    const plan = await world.filters.choose({ ...filterRequest(endpoints, 'anybody'), identify })
    expect(plan?.names).toEqual(['localendpoints'])
    expect((await world.choose(slices, 'system:kube-proxy'))?.names).toEqual([
      'forwardkubesvctraffic',
      'localendpoints',
    ])
  })
})

describe('when something else is known of a pod', () => {
  const resumed = `${slices}?watch=1&resourceVersion=300`
  const list = Buffer.from(JSON.stringify(listOf('EndpointSliceList', 'discovery.k8s.io/v1', [webSlice(both)])))

  it('a watch that tells objects again goes on with what is known then', async () => {
    const pods = new FakeLocalPods()
    const world = worldOf(pods)
    const watch = await world.watch(`${slices}?watch=1`, 'anybody', json, () => true)
    watch.upstream.write(event('ADDED', webSlice(both)))
    await once(watch.filtered.body, 'readable')
    pods.tell(localPod(first, ['10.1.0.9']))
    world.filters.localPodsChanged()
    watch.upstream.end(event('MODIFIED', webSlice(both)))
    const lines = (await buffer(watch.filtered.body)).toString().trimEnd().split('\n')
    expect(lines.map((line) => line.includes('10.1.0.9'))).toEqual([false, true])
    expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual(['ADDED', 'MODIFIED'])
  })

  it('any other watch of these kinds ends with 410, unless the filter is disabled', async () => {
    const pods = new FakeLocalPods()
    const world = worldOf(pods)
    const watch = await world.watch(`${slices}?watch=1`, 'anybody', json)
    const services = await world.watch('/api/v1/services?watch=1', 'node', json)
    const disabled = worldOf(pods, { settings: { disabled: ['localendpoints'] } })
    const unconcerned = await disabled.watch(`${slices}?watch=1`, 'anybody', json)
    pods.tell(localPod(first, ['10.1.0.9']))
    world.filters.localPodsChanged()
    disabled.filters.localPodsChanged()
    expect((await buffer(watch.filtered.body)).toString()).toContain('"code":410')
    expect([services, unconcerned].map(({ upstream }) => upstream.destroyed)).toEqual([false, false])
  })

  it('whoever resumes with what was shown before lists anew', async () => {
    const pods = new FakeLocalPods()
    const world = worldOf(pods)
    const read = () => world.answer(slices, 'anybody', [list], { contentType: json })
    const resume = async () => {
      const { bytes } = await world.answer(resumed, 'anybody', [event('MODIFIED', webSlice(both))], {
        contentType: json,
      })
      return (JSON.parse(bytes.toString()) as { type: string }).type
    }
    await read()
    expect(await resume()).toBe('MODIFIED')
    pods.tell(localPod(first, ['10.1.0.9']))
    expect(await resume()).toBe('ERROR')
    await read()
    expect(await resume()).toBe('MODIFIED')
    pods.pods.clear()
    pods.revision += '-'
    expect(await resume()).toBe('ERROR')
  })

  it('so does whoever comes from a run of the edge that had shown pods, and nobody else', async () => {
    const before = worldOf(new FakeLocalPods(localPod(first, ['10.1.0.9']))).filters.view
    const resume = async (view: typeof before, path: string) => {
      const world = worldOf(new FakeLocalPods(), { before: () => view })
      const { bytes } = await world.answer(path, 'anybody', [event('MODIFIED', webSlice(both))], { contentType: json })
      return (JSON.parse(bytes.toString()) as { type: string }).type
    }
    expect(await resume(before, resumed)).toBe('ERROR')
    expect(await resume({ ...before, localPods: '' }, resumed)).toBe('MODIFIED')
    expect(await resume({ ...before, endpoint: undefined, localPods: '' }, resumed)).toBe('MODIFIED')
  })
})
