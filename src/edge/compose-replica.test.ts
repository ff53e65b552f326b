import { pino } from 'pino'
import { Registry } from 'prom-client'
import { describe, expect, it, vi } from 'vitest'
import { removeFolder } from '../../test/remove-folder.ts'
import { makeDataDir } from '../../test/worlds/keeping-world.ts'
import { loudNet } from '../../test/worlds/loud-net.ts'
import { BytesSource } from '../http/body/bytes-source.ts'
import { parseRequestInfo } from '../kube/request-info.ts'
import type { RunningPart } from '../process/lifecycle.ts'
import { systemClock } from '../runtime/clock.ts'
import { type ComposeReplicaOptions, composeReplica, type EdgeReplica } from './compose-replica.ts'
import { scopeOf } from './feeds/collection-scope.ts'
import { KeptObject } from './feeds/kept-object.ts'
import { networkError } from './hub/hub-error.ts'
import { type Upstream, UpstreamError } from './upstream/upstream.ts'

interface RunOptions extends Partial<Pick<ComposeReplicaOptions, 'upstream' | 'hasNodePair'>> {
  readonly isLinkUp?: boolean
  /** What a hub says that the API server serves itself; no hub is there without it. */
  readonly local?: readonly string[]
}

const noHub = networkError('unreachable', 'nobody is there')
const failure = new UpstreamError('offline', 'nobody is there')

/** A run of an edge that reaches nobody, unless it is told otherwise. */
async function run(
  dataDir: string,
  work: (replica: EdgeReplica) => void | Promise<void>,
  { isLinkUp = false, local, ...options }: RunOptions = {},
): Promise<void> {
  const replica = composeReplica({
    node: 'edge-1',
    dataDir,
    upstream: upstreamOf(() => Promise.reject(failure)),
    links: {
      isUp: isLinkUp,
      refusal: undefined,
      whyDown: 'a test says so',
      shortestRttMs: undefined,
      onChange: () => () => {},
    },
    client: { localGroupVersions: () => (local === undefined ? Promise.reject(noHub) : Promise.resolve(local)) },
    hasNodePair: () => false,
    kubeProxyToken: () => undefined,
    isKubeProxy: () => false,
    clock: systemClock,
    random: () => 0.5,
    logger: pino({ level: 'silent' }),
    net: loudNet(),
    registry: new Registry(),
    ...options,
  })
  const { signal } = new AbortController()
  const running: RunningPart[] = []
  for (const part of replica.parts) running.push(await part.start(signal, (cause) => expect.unreachable(String(cause))))
  await work(replica)
  for (const part of running.toReversed()) await part.stop(signal)
}

function upstreamOf(request: Upstream['request']): Upstream {
  return { status: { pools: [], upgrades: 0 }, request, upgrade: () => Promise.reject(failure) }
}

/** An API server that takes nobody's credential. */
const rejecting = upstreamOf(() =>
  Promise.resolve({ status: 401, headers: [], body: new BytesSource(Buffer.alloc(0)), trailers: () => [] }),
)

describe('a replica', () => {
  it('outlives a run that ends as soon as it has begun', async () => {
    const info = parseRequestInfo({ method: 'GET', path: '/api/v1/namespaces/default/configmaps', query: '' })
    const scope = scopeOf(info as Parameters<typeof scopeOf>[0])
    const metadata = { name: 'a', namespace: 'default', uid: 'u', resourceVersion: '5' }
    const object = new KeptObject(
      'json',
      Buffer.from(JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata })),
    )
    const dataDir = makeDataDir()
    await run(dataDir, ({ feeds }) => {
      feeds.ensure(scope, 'somebody')?.adopt({ objects: [object], resourceVersion: '7' })
    })
    // What it says of itself is reason enough to write everything down anew.
    await run(dataDir, ({ keeping }) => keeping.putRecord('states', 'news', Buffer.from('1'), { secret: false }))
    await run(dataDir, ({ feeds }) => {
      expect(feeds.find(scope)).toMatchObject({ version: '7' })
      expect([...(feeds.find(scope)?.objects.keys() ?? [])]).toEqual(['default/a'])
    })
    removeFolder(dataDir)
  })

  it('that the API server has refused is not served, and ends its readers, also in the next run', async () => {
    const dataDir = makeDataDir()
    const info = parseRequestInfo({ method: 'GET', path: '/api/v1/namespaces/default/configmaps', query: '' })
    const scope = scopeOf(info as Parameters<typeof scopeOf>[0])
    const ended: string[] = []
    const isRefused = async (replica: EdgeReplica): Promise<void> => {
      const sponsor = { pool: 'node', authorization: undefined } as const
      replica.feeds.ensure(scope, '')?.join({ sponsor, lost: ({ message }) => ended.push(message) })
      await vi.waitFor(
        () => expect(replica.reach.now).toMatchObject({ state: 'refused', refusedBy: 'api-server' }),
        30_000,
      )
    }
    await run(dataDir, isRefused, { upstream: rejecting, hasNodePair: () => true, isLinkUp: true })
    expect(ended).toEqual(['the API server does not take the certificate of this node (401)'])
    await run(dataDir, ({ reach }) => expect(reach.now).toMatchObject({ state: 'refused', refusedBy: 'api-server' }))
    removeFolder(dataDir)
  })

  it('has of custom resources what all share, as long as it is known that they may', async () => {
    const info = parseRequestInfo({ method: 'GET', path: '/apis/example.com/v1/gadgets', query: '' })
    const scope = scopeOf(info as Parameters<typeof scopeOf>[0])
    const own = scopeOf(info as Parameters<typeof scopeOf>[0], 'somebody')
    const dataDir = makeDataDir()
    const seen: (string | undefined)[][] = []
    const look = ({ feeds }: EdgeReplica): void => {
      seen.push([scope, own].map((each) => feeds.find(each)?.version))
    }
    const adopt = ({ feeds }: EdgeReplica): void => {
      for (const each of [scope, own]) feeds.ensure(each, 'somebody')?.adopt({ objects: [], resourceVersion: '7' })
    }
    await run(dataDir, () => {}, { local: ['example.com/v1'] })
    await run(dataDir, adopt)
    await run(dataDir, look)
    // As if what the hub said were lost.
    await run(dataDir, ({ keeping }) => keeping.deleteRecord('states', 'api-groups'))
    await run(dataDir, look)
    expect(seen).toEqual([
      ['7', '7'],
      [undefined, '7'],
    ])
    removeFolder(dataDir)
  })
})
