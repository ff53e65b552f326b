/** An edge that gives out what it has kept: whatever one reader asks for, the others do not wait for it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectShortTurnsDuring } from './limit.ts'
import { type EdgeAnswer, MeteredEdge } from './metered-edge.ts'
import type { Seed } from './seed-store.ts'
import { coreSeed, many, namespaceSeed } from './seeds.ts'

const podCount = 5_000
const namespace = 'many'
const pods = `/api/v1/namespaces/${namespace}/pods`
const json = 'application/json'
const table = 'application/json;as=Table;g=meta.k8s.io;v=v1'
const metadata = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
const watchList =
  'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=2'

const edge = new MeteredEdge()

/** About a kilobyte each. */
function* seeds(): Generator<Seed> {
  yield namespaceSeed(namespace)
  const env = many(16, (index) => ({ name: `VARIABLE_${index}`, value: `value-of-variable-${index}` }))
  for (let index = 0; index < podCount; index++) {
    const containers = [{ name: 'main', image: `registry.example.com/image:${index}`, env }]
    const spec = { containers, nodeName: `node-${index % 10}`, restartPolicy: 'Always' }
    const status = {
      phase: 'Running',
      podIP: '10.0.0.1',
      containerStatuses: [{ name: 'main', ready: true, restartCount: 1 }],
    }
    const labels = { app: `app-${index % 100}`, tier: 'web' }
    yield coreSeed('pods', 'Pod', namespace, { name: `p${index}`, labels }, { spec, status })
  }
}

beforeAll(async () => {
  await edge.open(seeds())
  // From here on there is a feed, which takes protobuf from the API server, and follows.
  expect(await edge.follow(`${pods}?watch=true&resourceVersion=0`, json)).toBe(200)
})
afterAll(() => edge.stop())

async function asked(name: string, path: string, accept: string, status = 200): Promise<EdgeAnswer> {
  const { result, longestTurnMs } = await expectShortTurnsDuring(edge, name, () => edge.ask(path, accept))
  expect([name, longestTurnMs, result.status, result.status === status ? '' : String(result.body)]).toEqual([
    ...[name, longestTurnMs, status, ''],
  ])
  return result
}

const itemsIn = ({ body }: EdgeAnswer): unknown[] => (JSON.parse(body.toString('utf8')) as { items: unknown[] }).items

describe('an edge with 5,000 pods', () => {
  it('gives a list out of its feed while it has a link', async () => {
    expect(itemsIn(await asked('a list out of protobuf', `${pods}?resourceVersion=0`, json))).toHaveLength(podCount)
  })

  it('learns what its reader may, as the API server says', async () => {
    for (const query of ['', '?fieldSelector=spec.nodeName%3Dnode-3']) await edge.ask(`${pods}${query}`, json)
    await edge.untilReadersAreKnown()
    await edge.cutOff()
  })

  it.each([
    ['JSON', json, ''],
    ['protobuf', 'application/vnd.kubernetes.protobuf', ''],
    ['indented JSON', json, 'pretty=true'],
    ['YAML', 'application/yaml', ''],
    ['a Table', table, ''],
    ['a Table with objects', table, 'includeObject=Object'],
    ['bare metadata', metadata, ''],
    ['a page', json, 'limit=500'],
  ])('gives it without a link as %s', async (name, accept, query) => {
    const { warning, body } = await asked(`offline as ${name}`, `${pods}?${query}`, accept)
    expect(warning).toContain('cut off')
    expect(body.length).toBeGreaterThan(100_000)
  })

  it('finds what a field selector asks for', async () => {
    const answer = await asked('offline with a field selector', `${pods}?fieldSelector=spec.nodeName%3Dnode-3`, json)
    expect(itemsIn(answer)).toHaveLength(podCount / 10)
  })

  it('begins a watch with it', async () => {
    const { body } = await asked('an offline watch with initial events', `${pods}?${watchList}`, json)
    expect(body.toString('utf8').match(/"type":"ADDED"/g)).toHaveLength(podCount)
  })
})
