/** Who shares what of custom resources: an endpoint, two pods that read by it, and a hub that says what the API server serves. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { GROUPS_REFRESH_MS } from '../../../src/edge/api-groups/local-groups.ts'
import { composeReplica, type EdgeReplica } from '../../../src/edge/compose-replica.ts'
import { HubError, networkError } from '../../../src/edge/hub/hub-error.ts'
import { certificatePem } from '../../../src/identity/certificate.ts'
import { startInOrder } from '../../../src/process/part-group.ts'
import { ManualClock } from '../../../src/runtime/clock.ts'
import { removeFolder } from '../../remove-folder.ts'
import { type Answered, type EndpointWorld, keys, NODE, startEndpoint } from '../../worlds/endpoint-world.ts'
import { makeDataDir } from '../../worlds/keeping-world.ts'
import { loudNet } from '../../worlds/loud-net.ts'
import { NodeCluster } from '../../worlds/node-cluster.ts'
import { eventually, rest } from '../../worlds/object-server.ts'

const gadgets = '/apis/example.com/v1/gadgets'
const readings = '/apis/metrics.example.com/v1/readings'
const streaming = '?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan'

interface Watching {
  readonly events: string[]
  /** How it ended, once it has. */
  end: 'whole' | 'broken' | undefined
}

describe('custom resources', () => {
  let clock: ManualClock
  let cluster: NodeCluster
  let edge: EdgeReplica
  let world: EndpointWorld
  let registry: Registry
  let dataDir: string
  let told: readonly string[] | Error
  const stops: (() => Promise<void> | void)[] = []

  async function start(): Promise<void> {
    registry = new Registry()
    edge = composeReplica({
      node: NODE,
      upstream: cluster,
      links: cluster.link,
      client: { localGroupVersions: async () => (told instanceof Error ? await Promise.reject(told) : told) },
      dataDir,
      hasNodePair: () => true,
      kubeProxyToken: () => undefined,
      isKubeProxy: () => false,
      clock,
      random: () => 0.5,
      logger: pino({ level: 'silent' }),
      net: loudNet(),
      registry,
    })
    const running = await startInOrder(edge.parts, new AbortController().signal, (cause) =>
      expect(cause).toBeUndefined(),
    )
    world = await startEndpoint({ upstream: cluster, replica: edge.replica })
    stops.push(
      () => world.stop(),
      () => running.stop(AbortSignal.abort()),
    )
    await eventually(() => edge.reach.now.state === (cluster.link.isUp ? 'online' : 'offline'))
    await rest()
  }

  async function stop(): Promise<void> {
    for (const each of stops.splice(0)) await each()
  }

  beforeEach(() => {
    clock = new ManualClock()
    dataDir = makeDataDir()
    cluster = new NodeCluster()
    told = ['example.com/v1', 'v1']
    cluster.put('gadgets', { apiVersion: 'example.com/v1', kind: 'Gadget', metadata: { name: 'first', uid: 'g1' } })
    const reading = { name: 'first', uid: 'r1' }
    cluster.put('readings', { apiVersion: 'metrics.example.com/v1', kind: 'Reading', metadata: reading })
  })
  afterEach(async () => {
    await stop()
    removeFolder(dataDir)
  })

  async function watch(path: string, token: string): Promise<Watching> {
    const ca = certificatePem(world.ca.certificate)
    const headers = { authorization: `Bearer ${token}` }
    const asked = request({ host: '127.0.0.1', port: world.port(), path, ca, agent: new Agent(), headers })
    asked.on('error', () => {})
    asked.end()
    stops.unshift(() => void asked.destroy())
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    const watching: Watching = { events: [], end: undefined }
    let text = ''
    response.on('data', (chunk: Buffer) => {
      const lines = (text + chunk.toString()).split('\n')
      text = lines.pop() ?? ''
      for (const line of lines) {
        const { type, object } = JSON.parse(line) as { type: string; object: { metadata: { name?: string } } }
        watching.events.push([type, object.metadata.name].join(' ').trim())
      }
    })
    response.on('end', () => {
      watching.end = 'whole'
    })
    response.on('error', () => {
      watching.end = 'broken'
    })
    await eventually(() => watching.events.includes('BOOKMARK'))
    return watching
  }

  const asPod = (path: string, token: string): Promise<Answered> =>
    world.http1({ path, headers: { authorization: `Bearer ${token}` } })
  const asNode = (path: string): Promise<Answered> => world.http1({ path, ...keys(world.nodePair) })

  async function upstreamWatches(): Promise<number> {
    const metric = await registry.getSingleMetric('causeway_edge_feed_upstream_watches')?.get()
    return metric?.values[0]?.value ?? -1
  }

  it('of the API server itself are watched once for all readers, and those of another server for each', async () => {
    await start()
    const [a, b] = [await watch(gadgets + streaming, 'a'), await watch(gadgets + streaming, 'b')]
    await rest()
    expect([cluster.openWatches('gadgets'), await upstreamWatches()]).toEqual([1, 1])
    cluster.put('gadgets', { apiVersion: 'example.com/v1', kind: 'Gadget', metadata: { name: 'second', uid: 'g2' } })
    await eventually(() => [a, b].every(({ events }) => events.includes('ADDED second')))

    await watch(readings + streaming, 'a')
    await watch(readings + streaming, 'b')
    await rest()
    expect([cluster.openWatches('readings'), await upstreamWatches()]).toEqual([2, 3])
  })

  it.each([
    ['another server has the group', ['v1']],
    ['the hub does not know any more', new HubError('refusal', 'hub-lacks-rights', 'no', { retryable: true })],
  ])('are not shared any more when %s: readers end well and come back apart', async (_, next) => {
    await start()
    const watches = [await watch(gadgets + streaming, 'a'), await watch(gadgets + streaming, 'b')]
    told = next
    await clock.advance(GROUPS_REFRESH_MS)
    await eventually(() => watches.every(({ end }) => end !== undefined))
    expect(watches.map(({ end }) => end)).toEqual(['whole', 'whole'])
    expect(edge.feeds.size).toBe(0)
    await watch(gadgets + streaming, 'a')
    await watch(gadgets + streaming, 'b')
    await rest()
    expect(cluster.openWatches('gadgets')).toBe(2)
  })

  it('go on to be watched for each reader that had come before they were shared', async () => {
    told = []
    await start()
    const before = await watch(gadgets + streaming, 'a')
    told = ['example.com/v1']
    await clock.advance(GROUPS_REFRESH_MS)
    await rest()
    await watch(gadgets + streaming, 'b')
    await watch(gadgets + streaming, 'c')
    await rest()
    expect([before.end, cluster.openWatches('gadgets')]).toEqual([undefined, 2])
  })

  it('that somebody has read before they were shared are there for them without a link', async () => {
    told = []
    await start()
    // Of the first answer to each it is not known whose it would be, so b has none of its own.
    for (const token of ['a', 'b', 'a']) expect((await asPod(gadgets, token)).status).toBe(200)
    told = ['example.com/v1']
    await clock.advance(GROUPS_REFRESH_MS)
    await rest()
    cluster.cut()
    await eventually(() => edge.reach.now.state === 'offline')
    expect((await asPod(gadgets, 'a')).status).toBe(200)
    const other = await asPod(gadgets, 'b')
    expect([other.status, other.body]).toEqual([503, expect.stringContaining('have not been kept here')])
  })

  it('have their lists called as the API server calls them, also after a start without a link', async () => {
    await start()
    await watch(gadgets + streaming, 'a')
    const online = JSON.parse((await asNode(`${gadgets}?resourceVersion=0`)).body) as { kind: string }
    expect(online.kind).toBe('Toolbox')
    await rest()
    const fromFeed = JSON.parse((await asNode(`${gadgets}?resourceVersion=0`)).body) as { kind: string }
    expect(fromFeed.kind).toBe('Toolbox')
    await stop()

    cluster.cut()
    told = networkError('unreachable', 'nobody is there')
    await start()
    const offline = await asNode(gadgets)
    expect(offline.status).toBe(200)
    expect(offline.headers['warning']).toContain(
      'this node is cut off from its API server; gadgets are as they were at',
    )
    const { kind, items } = JSON.parse(offline.body) as { kind: string; items: { metadata: { name: string } }[] }
    expect([kind, items.map(({ metadata }) => metadata.name)]).toEqual(['Toolbox', ['first']])
  })
})
