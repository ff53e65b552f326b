import { pino } from 'pino'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { removeFolder } from '../../test/remove-folder.ts'
import { makeDataDir } from '../../test/worlds/keeping-world.ts'
import { loudNet } from '../../test/worlds/loud-net.ts'
import { parseRequestInfo } from '../kube/request-info.ts'
import type { RunningPart } from '../process/lifecycle.ts'
import { systemClock } from '../runtime/clock.ts'
import { composeReplica, type EdgeReplica } from './compose-replica.ts'
import { scopeOf } from './feeds/collection-scope.ts'
import { KeptObject } from './feeds/kept-object.ts'
import { UpstreamError } from './upstream/upstream.ts'

/** A run of an edge that reaches nobody. */
async function run(dataDir: string, work: (replica: EdgeReplica) => void): Promise<void> {
  const failure = new UpstreamError('offline', 'nobody is there')
  const replica = composeReplica({
    node: 'edge-1',
    dataDir,
    upstream: {
      status: { pools: [], upgrades: 0 },
      request: () => Promise.reject(failure),
      upgrade: () => Promise.reject(failure),
    },
    links: {
      isUp: false,
      refusal: undefined,
      whyDown: 'a test says so',
      shortestRttMs: undefined,
      onChange: () => () => {},
    },
    hasNodePair: () => false,
    kubeProxyToken: () => undefined,
    isKubeProxy: () => false,
    clock: systemClock,
    random: () => 0.5,
    logger: pino({ level: 'silent' }),
    net: loudNet(),
    registry: new Registry(),
  })
  const { signal } = new AbortController()
  const running: RunningPart[] = []
  for (const part of replica.parts) running.push(await part.start(signal, (cause) => expect.unreachable(String(cause))))
  work(replica)
  for (const part of running.toReversed()) await part.stop(signal)
}

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
})
