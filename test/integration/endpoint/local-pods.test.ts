/** An endpoint whose link is cut, a kubelet that cannot tell what became of its pods, and whoever goes by their addresses. */
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { EdgeReplica } from '../../../src/edge/compose-replica.ts'
import { scopeFrom } from '../../../src/edge/feeds/collection-scope.ts'
import { FEED_RESUME_SPREAD_MS } from '../../../src/edge/feeds/feeds.ts'
import { KeptObject } from '../../../src/edge/feeds/kept-object.ts'
import { AGREED_LINGER_MS, COMPARE_MS, MAX_ONLINE_MS } from '../../../src/edge/local-pods/local-pods.ts'
import { certificatePem } from '../../../src/identity/certificate.ts'
import type { KubeObject } from '../../../src/kube/objects.ts'
import { startInOrder } from '../../../src/process/part-group.ts'
import { ManualClock } from '../../../src/runtime/clock.ts'
import { removeFolder } from '../../remove-folder.ts'
import { type Answered, type EndpointWorld, keys, startEndpoint } from '../../worlds/endpoint-world.ts'
import { FilterWorld } from '../../worlds/filters-world.ts'
import {
  ELSEWHERE,
  LOCAL_NODE,
  PORTS,
  sliceEndpoint,
  subsetAddress,
  UIDS,
  webEndpoints,
  webSlice,
} from '../../worlds/local-endpoints-objects.ts'
import { loudNet } from '../../worlds/loud-net.ts'
import { NodeCluster, replicaAt } from '../../worlds/node-cluster.ts'
import { eventually, rest } from '../../worlds/object-server.ts'

const slices = '/apis/discovery.k8s.io/v1/endpointslices'
const endpoints = '/api/v1/endpoints'
const strategic = 'application/strategic-merge-patch+json'
const { first, second } = UIDS

function pod(name: string, uid: string, ip: string, nodeName = LOCAL_NODE): KubeObject {
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name, namespace: 'default', uid },
    spec: { nodeName, containers: [{ name: 'web', image: 'web' }] },
    status: { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions: [{ type: 'Ready', status: 'True' }] },
  }
}

/** As a kubelet makes it of what it was given and what is so. */
function statusPatch(uid: string, was: string, ip: string, isReady = true): string {
  const status = {
    podIP: ip,
    podIPs: [{ ip }, ...(ip === was ? [] : [{ $patch: 'delete', ip: was }])],
    conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
  }
  return JSON.stringify({ metadata: { uid }, status })
}

describe('a node that is cut off', () => {
  let clock: ManualClock
  let cluster: NodeCluster
  let registry: Registry
  let edge: EdgeReplica
  let world: EndpointWorld
  let filters: FilterWorld
  let dataDir: string
  const stops: (() => Promise<void> | void)[] = []

  async function start(disabled: readonly string[] = [], isOnline = true): Promise<void> {
    registry = new Registry()
    const net = loudNet()
    edge = replicaAt(cluster, { node: LOCAL_NODE, dataDir, clock, net, registry })
    filters = new FilterWorld({ localPods: edge.localPods.view, settings: { disabled } })
    edge.localPods.onChange(() => filters.filters.localPodsChanged())
    const running = await startInOrder(edge.parts, new AbortController().signal, (cause) =>
      expect(cause).toBeUndefined(),
    )
    world = await startEndpoint({ upstream: cluster, replica: edge.replica, filters: filters.filters })
    stops.push(
      () => world.stop(),
      () => running.stop(AbortSignal.abort()),
    )
    if (isOnline) await eventually(() => edge.reach.now.state === 'online')
  }

  beforeEach(async () => {
    clock = new ManualClock()
    dataDir = mkdtempSync(join(tmpdir(), 'causeway-local-pods-'))
    cluster = new NodeCluster()
    cluster.put('pods', pod('web-1', first, '10.1.0.1'))
    cluster.put('pods', pod('web-2', second, '10.1.0.2'))
    cluster.put('pods', pod('web-3', UIDS.elsewhere, '10.2.0.1', 'edge-2'))
    cluster.put(
      'endpointslices',
      webSlice([sliceEndpoint('10.1.0.1', first), sliceEndpoint('10.1.0.2', second), ELSEWHERE]),
    )
    const addresses = [subsetAddress('10.1.0.1', first), subsetAddress('10.1.0.2', second)]
    cluster.put('endpoints', webEndpoints([{ addresses, ports: PORTS }]))
  })
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop()
    removeFolder(dataDir)
  })

  const asNode = (path: string, method = 'GET', body = '', contentType = strategic): Promise<Answered> =>
    world.http1({ path, method, ...keys(world.nodePair), headers: { 'content-type': contentType } }, body)
  const asReader = (path: string, method = 'GET', body = ''): Promise<Answered> =>
    world.http1({ path, method, headers: { authorization: 'Bearer reader', 'content-type': strategic } }, body)
  const podPath = (name: string, subresource = ''): string => `/api/v1/namespaces/default/pods/${name}${subresource}`
  const report = (name: string, patch: string): Promise<Answered> => asNode(podPath(name, '/status'), 'PATCH', patch)

  async function counted(outcome: string): Promise<number> {
    const metric = await registry.getSingleMetric('causeway_edge_local_pod_reports_total')?.get()
    return metric?.values.find(({ labels }) => labels['outcome'] === outcome)?.value ?? 0
  }

  /** What everybody on the node has read while there was a link. */
  async function read(): Promise<void> {
    for (const name of ['web-1', 'web-2']) expect((await asNode(podPath(name))).status).toBe(200)
    for (const path of [slices, endpoints]) expect((await asReader(path)).status).toBe(200)
    await rest()
  }

  async function cut(): Promise<void> {
    cluster.cut()
    await eventually(() => edge.reach.now.state === 'offline')
  }

  async function restore(): Promise<void> {
    cluster.restore()
    await eventually(() => edge.reach.now.state === 'online')
    await clock.advance(FEED_RESUME_SPREAD_MS)
  }

  async function addresses(): Promise<string[]> {
    const { status, body } = await asReader(slices)
    expect(status).toBe(200)
    const { items } = JSON.parse(body) as { items: { endpoints: { addresses: string[] }[] }[] }
    return items.flatMap((slice) => slice.endpoints.flatMap((endpoint) => endpoint.addresses))
  }

  /** The events of a watch as they come. */
  async function watch(path: string): Promise<{ readonly events: string[] }> {
    const asked = request({
      host: '127.0.0.1',
      port: world.port(),
      path,
      ca: certificatePem(world.ca.certificate),
      agent: new Agent(),
      headers: { authorization: 'Bearer reader' },
    })
    asked.on('error', () => {})
    asked.end()
    stops.unshift(() => void asked.destroy())
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    const events: string[] = []
    let rest = ''
    response.on('error', () => {})
    response.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) events.push(told(line))
    })
    return { events }
  }

  function told(line: string): string {
    const { type, object } = JSON.parse(line) as { type: string; object: KubeObject & { code?: number } }
    if (type === 'ERROR') return `ERROR ${object.code}`
    const found = JSON.stringify(object).match(/10\.\d+\.\d+\.\d+/g) ?? []
    return [type, object.metadata?.resourceVersion, ...found].join(' ')
  }

  const watching = `${slices}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`

  it('refuses what its kubelet says of a pod, and shows it to all who read addresses', async () => {
    await start()
    await read()
    const { events } = await watch(watching)
    await eventually(() => events.length === 2)
    const version = cluster.get('endpointslices', 'web-x1').metadata?.resourceVersion
    await cut()
    expect(await addresses()).toEqual(['10.1.0.1', '10.1.0.2', '10.2.0.1'])
    const refused = await report('web-1', statusPatch(first, '10.1.0.1', '10.1.0.9'))
    expect([refused.status, JSON.parse(refused.body)]).toMatchObject([503, { reason: 'ServiceUnavailable' }])
    expect(cluster.patches).toEqual([])
    expect(await addresses()).toEqual(['10.1.0.9', '10.1.0.2', '10.2.0.1'])
    await eventually(() => events.length === 3)
    expect(events.at(-1)).toBe(`MODIFIED ${version} 10.1.0.9 10.1.0.2 10.2.0.1`)
    await report('web-2', statusPatch(second, '10.1.0.2', '10.1.0.8', false))
    await eventually(() => events.length === 4)
    expect(events.at(-1)).toBe(`MODIFIED ${version} 10.1.0.9 10.1.0.8 10.2.0.1`)
    const { subsets } = (JSON.parse((await asReader(endpoints)).body) as { items: [{ subsets: object[] }] }).items[0]
    expect(subsets).toEqual([
      {
        addresses: [subsetAddress('10.1.0.9', first)],
        notReadyAddresses: [subsetAddress('10.1.0.8', second)],
        ports: PORTS,
      },
    ])
    // What is said of a pod is no change of the Pod: nothing is pretended.
    expect((await asNode(podPath('web-1'))).body).toContain('"podIP":"10.1.0.1"')
    expect(await counted('taken')).toBe(2)
  })

  it('lets the kubelet go on at once, and says when to come again as a date', async () => {
    await start()
    await read()
    await cut()
    const { headers } = await report('web-1', statusPatch(first, '10.1.0.1', '10.1.0.9'))
    expect(headers['retry-after']).toBe(new Date(clock.nowMs() + 10_000).toUTCString())
    const other = await asNode('/api/v1/namespaces/default/events', 'POST', '{}', 'application/json')
    expect([other.status, other.headers['retry-after']]).toEqual([503, '1'])
  })

  it('believes nobody but its kubelet, and that only about its own pods', async () => {
    await start()
    await read()
    expect((await asNode(podPath('web-3'))).status).toBe(200)
    await rest()
    await cut()
    const patch = statusPatch(first, '10.1.0.1', '10.6.6.6')
    const path = podPath('web-1', '/status')
    const refused = [
      await asReader(path, 'PATCH', patch),
      await asNode(podPath('web-1'), 'PATCH', patch),
      await asNode(path, 'PUT', patch),
      await asNode(`${path}?dryRun=All`, 'PATCH', patch),
      await asNode(path, 'PATCH', patch, 'application/json-patch+json'),
      await world.http1(
        { path, method: 'PATCH', headers: { 'content-type': strategic, 'user-agent': 'kubelet/v1.36' } },
        patch,
      ),
      await world.http1(
        {
          path,
          method: 'PATCH',
          ...keys(world.nodePair),
          headers: { 'content-type': strategic, 'impersonate-user': 'x' },
        },
        patch,
      ),
      await report('web-1', statusPatch(second, '10.1.0.1', '10.6.6.6')),
      await report('web-3', statusPatch(UIDS.elsewhere, '10.2.0.1', '10.6.6.6')),
      await report('web-9', statusPatch('unknown', '10.2.0.1', '10.6.6.6')),
      await report('web-1', 'no JSON'),
      await report('web-1', JSON.stringify({ status: { message: 'x'.repeat(4_000_000) } })),
    ]
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 503))
    expect(await addresses()).toEqual(['10.1.0.1', '10.1.0.2', '10.2.0.1'])
    expect([await counted('taken'), await counted('foreign'), await counted('unknown')]).toEqual([0, 2, 1])
  })

  it('ends watches that are resumed with what was shown before with 410', async () => {
    await start()
    await read()
    const { resourceVersion } = (JSON.parse((await asReader(slices)).body) as KubeObject).metadata ?? {}
    const resume = `${slices}?watch=1&resourceVersion=${resourceVersion}`
    await watch(resume)
    await cut()
    await report('web-1', statusPatch(first, '10.1.0.1', '10.1.0.9'))
    const stale = await watch(resume)
    await eventually(() => stale.events.length === 1)
    expect(stale.events).toEqual(['ERROR 410'])
    await addresses()
    const fresh = await watch(resume)
    await report('web-1', statusPatch(first, '10.1.0.1', '10.1.0.7'))
    await eventually(() => fresh.events.length === 1)
    expect(fresh.events[0]).toContain('10.1.0.7')
  })

  it('shows what the API server has a moment after the kubelet could tell it', async () => {
    await start()
    await read()
    const { events } = await watch(watching)
    await cut()
    await report('web-1', statusPatch(first, '10.1.0.1', '10.1.0.9'))
    await eventually(() => events.length === 3)
    await restore()
    expect(await addresses()).toEqual(['10.1.0.9', '10.1.0.2', '10.2.0.1'])
    expect((await report('web-1', statusPatch(first, '10.1.0.1', '10.1.0.9', false))).status).toBe(200)
    expect(cluster.patches).toEqual(['web-1'])
    // As the API server has the pod since then, though nobody has written the slice yet.
    await eventually(() => events.length === 4)
    expect((await asReader(slices)).body).toContain('"ready":false')
    cluster.put('endpointslices', webSlice([sliceEndpoint('10.1.0.9', first), ELSEWHERE]))
    await eventually(() => events.length === 5)
    await clock.advance(AGREED_LINGER_MS + COMPARE_MS)
    await eventually(() => events.length === 6)
    expect(edge.localPods.view.size).toBe(0)
    expect(await addresses()).toEqual(['10.1.0.9', '10.2.0.1'])
  })

  it('goes back to what the API server has after a minute with it', async () => {
    await start()
    await read()
    const { events } = await watch(watching)
    await cut()
    await report('web-1', statusPatch(first, '10.1.0.1', '10.1.0.9'))
    await eventually(() => events.length === 3)
    await restore()
    await clock.advance(MAX_ONLINE_MS - FEED_RESUME_SPREAD_MS - COMPARE_MS)
    expect(await addresses()).toEqual(['10.1.0.9', '10.1.0.2', '10.2.0.1'])
    await clock.advance(2 * COMPARE_MS)
    expect(await addresses()).toEqual(['10.1.0.1', '10.1.0.2', '10.2.0.1'])
    await eventually(() => events.some((event) => /^MODIFIED .* 10\.1\.0\.1 /.test(event)))
  })

  it('hears its kubelet from the first moment of a run that never had a link', async () => {
    cluster.cut()
    await start([], false)
    // From an earlier run, and older in one list than in the other.
    for (const [resourceVersion, ip, path] of [
      ['90', '10.1.0.0', podPath('web-1')],
      ['101', '10.1.0.1', '/api/v1/pods'],
    ] as const) {
      const object = { ...pod('web-1', first, ip), metadata: { ...pod('web-1', first, ip).metadata, resourceVersion } }
      const fieldSelector = path === '/api/v1/pods' ? 'spec.nodeName=edge-1' : 'metadata.name=web-1'
      const namespace = path === '/api/v1/pods' ? '' : 'default'
      const scope = {
        apiGroup: '',
        apiVersion: 'v1',
        resource: 'pods',
        namespace,
        labelSelector: '',
        fieldSelector,
        owner: '',
      }
      const objects = [new KeptObject('json', Buffer.from(JSON.stringify(object)))]
      edge.feeds.restore(scopeFrom(scope), { objects, resourceVersion, currentAtMs: 0 }, undefined)
    }
    const { status, headers } = await report('web-1', statusPatch(first, '10.1.0.1', '10.1.0.9'))
    expect([status, headers['retry-after']]).toEqual([503, new Date(clock.nowMs() + 10_000).toUTCString()])
    expect(edge.localPods.view.of(first)?.addresses).toEqual(['10.1.0.9'])
    expect(await counted('taken')).toBe(1)
  })

  it('shows nothing of this where the filter is disabled', async () => {
    await start(['localendpoints'])
    await read()
    await cut()
    expect((await report('web-1', statusPatch(first, '10.1.0.1', '10.1.0.9'))).status).toBe(503)
    expect(await addresses()).toEqual(['10.1.0.1', '10.1.0.2', '10.2.0.1'])
  })
})
