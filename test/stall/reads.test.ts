import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectShortTurns } from './limit.ts'
import { MeteredServer, type Sent } from './metered-server.ts'
import { type Seed, seedStore } from './seed-store.ts'
import { many, namespaceSeed, RBAC_GROUP, seed } from './seeds.ts'

const manyObjects = 20_000
const manyKeys = 45_000
const server = new MeteredServer()

beforeAll(async () => {
  await seedStore(server.folder, seeds())
  await server.start()
})
afterAll(() => server.stop())

function configMap(namespace: string, name: string, data: object): Seed {
  const metadata = { name, namespace, labels: { app: 'x' } }
  return seed(`core/configmaps/${namespace}/`, 'v1', 'ConfigMap', metadata, { data })
}

function clusterRole(name: string, metadata: object, rest: object): Seed {
  return seed(`${RBAC_GROUP}/clusterroles/`, `${RBAC_GROUP}/v1`, 'ClusterRole', { name, ...metadata }, rest)
}

function* seeds(): Generator<Seed> {
  for (const name of ['many', 'large', 'doomed', 'counted']) yield namespaceSeed(name)
  for (let index = 0; index < manyObjects; index++) yield configMap('many', `c${index}`, { a: `${index}` })
  for (let index = 0; index < manyObjects; index++) yield configMap('doomed', `c${index}`, {})
  const data = Object.fromEntries(many(manyKeys, (index) => [`key-number-${index}`, '01234567']))
  for (let index = 0; index < 5; index++) yield configMap('large', `c${index}`, data)
  const containers = many(4_000, (index) => ({ name: `c${index}`, image: 'i' }))
  const pod = { spec: { containers, nodeName: 'n' }, status: { phase: 'Running' } }
  yield seed('core/pods/large/', 'v1', 'Pod', { name: 'p', namespace: 'large' }, pod)
  const small = { spec: { containers: containers.slice(0, 2) }, status: { phase: 'Running' } }
  for (let index = 0; index < 3_000; index++) {
    yield seed('core/pods/counted/', 'v1', 'Pod', { name: `p${index}`, namespace: 'counted' }, small)
  }
  const quota = { spec: { hard: { pods: '10000' } }, status: {} }
  yield seed('core/resourcequotas/counted/', 'v1', 'ResourceQuota', { name: 'q', namespace: 'counted' }, quota)
  const rules = many(10_000, (index) => ({ verbs: ['get'], apiGroups: [''], resources: [`r${index}`] }))
  yield clusterRole('large', { labels: { part: 'of-sum' } }, { rules })
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { part: 'of-sum' } }] }
  yield clusterRole('sum', {}, { aggregationRule, rules: null })
  const roleRef = { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: 'large' }
  for (let index = 0; index < 5_000; index++) {
    const subjects = [{ kind: 'Group', apiGroup: RBAC_GROUP, name: `g${index % 400}` }]
    const metadata = { name: `b${index}` }
    yield seed(`${RBAC_GROUP}/clusterrolebindings/`, `${RBAC_GROUP}/v1`, 'ClusterRoleBinding', metadata, {
      subjects,
      roleRef,
    })
  }
}

const protobuf = 'application/vnd.kubernetes.protobuf'
const meta = 'g=meta.k8s.io;v=v1'
const table = `application/json;as=Table;${meta}`
const representations: [name: string, accept: string, query: string][] = [
  ['JSON', 'application/json', ''],
  ['indented JSON', 'application/json', 'pretty=true'],
  ['protobuf', protobuf, ''],
  ['a Table', table, ''],
  ['a Table without objects', table, 'includeObject=None'],
  ['a Table with objects', table, 'includeObject=Object'],
  ['bare metadata', `application/json;as=PartialObjectMetadataList;${meta}`, ''],
  ['bare metadata in protobuf', `${protobuf};as=PartialObjectMetadataList;${meta}`, ''],
]
const yaml: (typeof representations)[number] = ['YAML', 'application/yaml', '']

const mapsOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`

async function expectServed(name: string, sent: Partial<Sent> & { path: string }, status = 200): Promise<void> {
  const measured = await expectShortTurns(server, name, { method: 'GET', ...sent })
  expect([name, measured.status, measured.answer.slice(0, status === measured.status ? 0 : 300)]).toEqual([
    name,
    status,
    '',
  ])
}

describe.each([...representations, yaml])('as %s', (form, accept, query) => {
  it.each([
    [`${manyObjects} objects`, mapsOf('many'), 200],
    ['large objects', mapsOf('large'), 200],
    [`an object with ${manyKeys} keys`, `${mapsOf('large')}/c1`, 200],
    ['a pod with 4,000 containers', '/api/v1/namespaces/large/pods/p', 200],
  ])('%s stall nobody', async (what, path, status) => {
    const isOne = !path.endsWith('/configmaps')
    const asked = isOne ? accept.replace('PartialObjectMetadataList', 'PartialObjectMetadata') : accept
    for (const headers of [{ accept: asked }, { accept: asked, 'accept-encoding': 'gzip' }]) {
      await expectServed(`${what} as ${form}`, { path: `${path}?${query}`, headers }, status)
    }
  })
})

describe.each(representations.filter(([name]) => name !== 'indented JSON'))('a watch of %s', (form, accept, query) => {
  it.each(['many', 'large'])('begins with the objects of %s and stalls nobody', async (namespace) => {
    const path = `${mapsOf(namespace)}?watch=true&timeoutSeconds=2&${query}`
    await expectServed(`a watch of ${namespace} as ${form}`, { path, headers: { accept } })
  })

  it('hears of a large object among a hundred others and stalls nobody', async () => {
    const path = `${mapsOf('large')}?watch=true&timeoutSeconds=5&fieldSelector=metadata.name%3Dc1&${query}`
    const watches = many(100, () => server.ask({ method: 'GET', path, headers: { accept } }))
    const headers = { 'content-type': 'application/merge-patch+json' }
    const body = JSON.stringify({ metadata: { labels: { turn: `${form.length}-${process.hrtime()[1]}` } } })
    await expectServed(`a change told as ${form}`, { method: 'PATCH', path: `${mapsOf('large')}/c1`, headers, body })
    for (const { status } of await Promise.all(watches)) expect(status).toBe(200)
  })
})

describe('a selection', () => {
  const notEqual = (name: string): string => many(1_000, (index) => `${name}!=v${index}`).join(',')
  const selectors: [name: string, query: string][] = [
    ['1,000 labels', `labelSelector=${encodeURIComponent(notEqual('app'))}`],
    ['1,000 fields', `fieldSelector=${encodeURIComponent(notEqual('metadata.name'))}`],
    [
      '4,000 values',
      `labelSelector=${encodeURIComponent(`app in (${many(4_000, (index) => `v${index}`).join(',')})`)}`,
    ],
  ]

  it.each(selectors)('by %s stalls nobody', async (name, query) => {
    await expectServed(`a list by ${name}`, { path: `${mapsOf('many')}?${query}` })
    await expectServed(`a watch by ${name}`, { path: `${mapsOf('many')}?watch=true&timeoutSeconds=2&${query}` })
  })

  it('by many watchers stalls nobody', async () => {
    const [, query = ''] = selectors[1] ?? []
    const path = `${mapsOf('many')}?watch=true&timeoutSeconds=10&resourceVersion=${await revision()}&${query}`
    const watches = many(300, () => server.ask({ method: 'GET', path }))
    const headers = { 'content-type': 'application/merge-patch+json' }
    const patch = { method: 'PATCH', path: `${mapsOf('many')}/c1`, headers, body: '{"data":{"b":"c"}}' }
    await expectServed('a change for many selections', patch)
    await Promise.all(watches)
  })
})

async function revision(): Promise<string> {
  const { answer } = await server.ask({ method: 'GET', path: `${mapsOf('many')}?limit=1` })
  return (JSON.parse(answer) as { metadata: { resourceVersion: string } }).metadata.resourceVersion
}

it('reads of the past stall nobody', async () => {
  const { answer } = await server.ask({ method: 'GET', path: `${mapsOf('many')}?limit=1` })
  const { metadata } = JSON.parse(answer) as { metadata: { resourceVersion: string; continue: string } }
  const headers = { 'content-type': 'application/merge-patch+json' }
  for (const name of ['c1', 'c2', 'c3']) {
    await server.ask({
      method: 'PATCH',
      path: `${mapsOf('many')}/${name}`,
      headers,
      body: `{"data":{"now":"${name}"}}`,
    })
  }
  const exact = `resourceVersionMatch=Exact&resourceVersion=${metadata.resourceVersion}`
  await expectServed('a list of the past', { path: `${mapsOf('many')}?${exact}` })
  await expectServed('a selection of the past', { path: `${mapsOf('many')}?${exact}&labelSelector=app%3Dx` })
  await expectServed('a page of the past', { path: `${mapsOf('many')}?limit=500&continue=${metadata.continue}` })
})

it.each([
  ['the root of v3', '/openapi/v3', 'application/json'],
  ['v2', '/openapi/v2', 'application/json'],
  ['v2 in protobuf', '/openapi/v2', 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'],
  ['discovery', '/apis', 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'],
  ['metrics', '/metrics', '*/*'],
])('the first request for %s stalls nobody', async (name, path, accept) => {
  await expectServed(name, { path, headers: { accept } })
})

describe('a large policy', () => {
  const groups = many(400, (index) => `g${index}`)
  const asSomebody = { 'impersonate-user': 'somebody', 'impersonate-group': groups }

  it('is asked without stalling anybody', async () => {
    await expectServed('a refusal', { path: mapsOf('default'), headers: asSomebody }, 403)
    const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews'
    const body = JSON.stringify({ spec: { namespace: 'default' } })
    await expectServed('a listing of rules', { method: 'POST', path, headers: asSomebody, body }, 201)
  })

  it('is gathered without stalling anybody', async () => {
    const headers = { 'content-type': 'application/merge-patch+json' }
    const body = JSON.stringify({ metadata: { annotations: { at: `${process.hrtime()[1]}` } } })
    await expectServed('a change', {
      method: 'PATCH',
      path: `/apis/${RBAC_GROUP}/v1/clusterroles/large`,
      headers,
      body,
    })
    await expectServed('what follows', { path: `${mapsOf('default')}?watch=true&timeoutSeconds=3` })
  })
})

it('a namespace is emptied without stalling anybody', async () => {
  await expectServed('its deletion', { method: 'DELETE', path: '/api/v1/namespaces/doomed' })
  await expectServed('what follows', { path: `${mapsOf('default')}?watch=true&timeoutSeconds=5` })
})

it('a quota of many objects is counted without stalling anybody', async () => {
  const body = JSON.stringify({ metadata: { name: 'x' }, spec: { containers: [{ name: 'c', image: 'i' }] } })
  await expectServed('a create', { method: 'POST', path: '/api/v1/namespaces/counted/pods?dryRun=All', body }, 201)
  await expectServed('what follows', { path: `${mapsOf('default')}?watch=true&timeoutSeconds=3` })
})
