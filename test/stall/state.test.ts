import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectShortTurns, recordedTurn } from './limit.ts'
import { type Measured, MeteredServer, type Sent } from './metered-server.ts'
import { record } from './record.ts'
import { type Seed, seedStore } from './seed-store.ts'
import { coreSeed, many, mapOf, namespaceSeed, seed } from './seeds.ts'

const server = new MeteredServer()

beforeAll(async () => {
  await seedStore(server.folder, seeds())
  await server.start()
})
afterAll(() => server.stop())

const namespaces = [
  'strict',
  'narrow',
  'quotas',
  'wide-quota',
  'ranges',
  'wide-range',
  'claims',
  'pods',
  'large-pods',
  'maps',
  'doomed',
  'large',
]
const extended = 'requests.example.com/r'
const container = { name: 'c', image: 'i' }
const limits = mapOf(200, 'example.com/r', '1')
const status = { phase: 'Running' }

function* seeds(): Generator<Seed> {
  for (const name of namespaces) {
    yield namespaceSeed(name, name === 'strict' ? { 'pod-security.kubernetes.io/enforce': 'restricted' } : {})
    yield coreSeed('serviceaccounts', 'ServiceAccount', name, { name: 'default' }, {})
  }
  yield* quotaSeeds()
  yield* rangeSeeds()
  yield* podSeeds()
  for (const [namespace, count] of [['maps', 20_000] as const, ['doomed', 5_000] as const]) {
    for (let index = 0; index < count; index++) {
      yield coreSeed('configmaps', 'ConfigMap', namespace, { name: `c${index}` }, { data: { a: 'b' } })
    }
  }
  yield* largeSeeds()
}

function* quotaSeeds(): Generator<Seed> {
  const hard = { ...mapOf(200, extended, '1000'), pods: '1000', configmaps: '1000' }
  for (let index = 0; index < 500; index++) {
    yield coreSeed('resourcequotas', 'ResourceQuota', 'quotas', { name: `q${index}` }, { spec: { hard }, status: {} })
  }
  for (let index = 0; index < 20; index++) {
    const wide = { ...mapOf(15_000, extended, '1000'), pods: '1000' }
    const rest = { spec: { hard: wide }, status: {} }
    yield coreSeed('resourcequotas', 'ResourceQuota', 'wide-quota', { name: `q${index}` }, rest)
  }
  for (const namespace of ['quotas', 'wide-quota']) {
    for (let index = 0; index < 100; index++) {
      const spec = { containers: [{ ...container, resources: { limits, requests: limits } }] }
      yield coreSeed('pods', 'Pod', namespace, { name: `p${index}` }, { spec, status })
    }
  }
}

function* rangeSeeds(): Generator<Seed> {
  const whole = { limits: [{ type: 'Pod', max: { 'example.com/r0-0': '9' } }] }
  yield coreSeed('limitranges', 'LimitRange', 'narrow', { name: 'l' }, { spec: whole })
  const narrow = { spec: { hard: { 'requests.example.com/r1-1': '9' } }, status: {} }
  yield coreSeed('resourcequotas', 'ResourceQuota', 'narrow', { name: 'q' }, narrow)
  const max = mapOf(480, 'example.com/r', '2')
  const spec = {
    limits: [
      { type: 'Container', max },
      { type: 'PersistentVolumeClaim', max },
    ],
  }
  for (const namespace of ['ranges', 'claims']) {
    for (let index = 0; index < 400; index++) {
      yield coreSeed('limitranges', 'LimitRange', namespace, { name: `l${index}` }, { spec })
    }
  }
  const wide = { limits: many(100, () => ({ type: 'Container', max: mapOf(400, 'example.com/r', '2') })) }
  for (let index = 0; index < 40; index++) {
    yield coreSeed('limitranges', 'LimitRange', 'wide-range', { name: `l${index}` }, { spec: wide })
  }
}

function* podSeeds(): Generator<Seed> {
  const volumes = many(8, (index) => ({ name: `v${index}`, hostPath: { path: `/x${index}` } }))
  for (let index = 0; index < 5_000; index++) {
    const containers = [{ ...container, name: `c${index % 7}`, securityContext: { privileged: true } }]
    const spec = { hostNetwork: true, containers, volumes: volumes.slice(index % 9) }
    yield coreSeed('pods', 'Pod', 'pods', { name: `p${index}`, labels: { a: 'b' } }, { spec, status })
  }
  for (let index = 0; index < 200; index++) {
    const spec = { containers: many(1_000, (each) => ({ ...container, name: `c${each}` })) }
    yield coreSeed('pods', 'Pod', 'large-pods', { name: `p${index}` }, { spec, status })
  }
}

function* largeSeeds(): Generator<Seed> {
  const containers = many(9_500, (index) => ({
    name: `c${index}`,
    image: 'i',
    resources: {},
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: 'Always',
  }))
  const spec = { containers }
  yield coreSeed('pods', 'Pod', 'large', { name: 'p' }, { spec, status })
  yield coreSeed('pods', 'Pod', 'large', { name: 'bound' }, { spec: { ...spec, nodeName: 'n' }, status })
  yield coreSeed('pods', 'Pod', 'large', { name: 'held', finalizers: ['example.com/x'] }, { spec, status })
  const metadata = { name: 'd', namespace: 'large' }
  const template = { metadata: { labels: { a: 'b' } }, spec }
  const deployment = { spec: { selector: { matchLabels: { a: 'b' } }, replicas: 1, template }, status: {} }
  yield seed('apps/deployments/large/', 'apps/v1', 'Deployment', metadata, deployment)
  const data = mapOf(45_000, 'key-number-', '01234567')
  yield coreSeed('configmaps', 'ConfigMap', 'large', { name: 'c' }, { data })
  for (let index = 0; index < 2_000; index++) {
    const selector = { matchLabels: mapOf(100, `x${index}-`, 'y') }
    const rest = { spec: { minAvailable: 1, selector }, status: {} }
    const own = { name: `b${index}`, namespace: 'large' }
    yield seed('policy/poddisruptionbudgets/large/', 'policy/v1', 'PodDisruptionBudget', own, rest)
  }
}

async function expectServed(name: string, sent: Sent, statuses: readonly number[]): Promise<Measured> {
  const measured = await expectShortTurns(server, name, sent)
  record({ [name]: recordedTurn(sent, measured) })
  expect([name, measured.status, measured.answer.slice(0, 300)]).toEqual([
    name,
    expect.toSatisfy((status: number) => statuses.includes(status)),
    expect.any(String),
  ])
  return measured
}

function create(namespace: string, resource: string, body: object, query = '?dryRun=All'): Sent {
  return { method: 'POST', path: `/api/v1/namespaces/${namespace}/${resource}${query}`, body: JSON.stringify(body) }
}

function podOf(containers: object[]): object {
  return { metadata: { name: 'x' }, spec: { containers } }
}

/** What controllers do after it. */
function aWhile(): Promise<Measured> {
  const path = '/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=3'
  return expectShortTurns(server, 'what follows', { method: 'GET', path })
}

describe('quotas', () => {
  it.each(['quotas', 'wide-quota'])(
    'many and wide ones are counted without stalling anybody: %s',
    async (namespace) => {
      const wide = podOf([{ ...container, resources: { limits } }])
      await expectServed(`a pod among ${namespace}`, create(namespace, 'pods', wide), [201])
      await expectServed(
        `a map among ${namespace}`,
        create(namespace, 'configmaps', { metadata: { name: 'x' } }),
        [201],
      )
      const made = many(8, (index) =>
        server.ask(create(namespace, 'pods', { ...wide, metadata: { name: `made-${index}` } }, '')),
      )
      await aWhile()
      for (const { status } of await Promise.all(made)) expect(status).toBe(201)
      await aWhile()
    },
  )
})

describe('a pod of many resources', () => {
  const few = many(800, (index) => ({
    ...container,
    name: `c${index}`,
    resources: { limits: mapOf(25, `example.com/r${index}-`, '1') },
  }))
  it.each([
    ['containers', { containers: few }],
    [
      'sidecars',
      { containers: [container], initContainers: few.map((each) => ({ ...each, restartPolicy: 'Always' })) },
    ],
  ])('in its %s is summed up without stalling anybody', async (name, spec) => {
    const body = { metadata: { name: 'x' }, spec }
    await expectServed(`a pod of many resources in ${name}`, create('narrow', 'pods', body), [201])
  })
})

describe('limit ranges', () => {
  it.each(['ranges', 'wide-range'])(
    'many and wide ones are checked without stalling anybody: %s',
    async (namespace) => {
      const one = podOf([{ ...container, resources: { limits: { 'example.com/r0': '1' } } }])
      await expectServed(`a pod in ${namespace}`, create(namespace, 'pods', one), [403])
      const all = podOf(many(100, (index) => ({ ...container, name: `c${index}`, resources: { limits } })))
      await expectServed(`a wide pod in ${namespace}`, create(namespace, 'pods', all), [403])
    },
  )

  it('are checked for claims without stalling anybody', async () => {
    const requests = { storage: '1Gi', ...mapOf(480, 'example.com/r', '1') }
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests } }
    const body = { metadata: { name: 'x' }, spec }
    await expectServed('a claim', create('claims', 'persistentvolumeclaims', body), [201, 403, 422])
  })
})

describe('the security of pods that are there', () => {
  it.each(['pods', 'large-pods'])('is checked without stalling anybody: %s', async (namespace) => {
    const headers = { 'content-type': 'application/merge-patch+json' }
    const body = JSON.stringify({ metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } })
    const path = `/api/v1/namespaces/${namespace}?dryRun=All`
    await expectServed(`a stricter namespace of ${namespace}`, { method: 'PATCH', path, headers, body }, [200])
  })

  it('and of one with 8,000 containers stalls nobody', async () => {
    const body = podOf(many(8_000, (index) => ({ ...container, name: `c${index}` })))
    const { answerBytes } = await expectServed('an insecure pod', create('strict', 'pods', body), [403])
    expect(answerBytes).toBeLessThan(512 * 1024)
  })
})

describe('a collection is deleted', () => {
  it.each([
    ['20,000 maps, to try', '/api/v1/namespaces/maps/configmaps?dryRun=All'],
    ['5,000 pods, to try', '/api/v1/namespaces/pods/pods?dryRun=All'],
    ['200 large pods, to try', '/api/v1/namespaces/large-pods/pods?dryRun=All'],
    ['5,000 maps', '/api/v1/namespaces/doomed/configmaps'],
    ['5,000 pods', '/api/v1/namespaces/pods/pods'],
    ['200 large pods', '/api/v1/namespaces/large-pods/pods'],
  ])('without stalling anybody: %s', async (name, path) => {
    await expectServed(`the deletion of ${name}`, { method: 'DELETE', path }, [200])
  })
})

describe('a large object', () => {
  const core = '/api/v1/namespaces/large'
  const scale = '/apis/apps/v1/namespaces/large/deployments/d/scale'
  const json = (value: object): string => JSON.stringify(value)
  it.each<[string, Sent, number[]]>([
    ['its scale is read', { method: 'GET', path: scale }, [200]],
    [
      'it is scaled',
      { method: 'PUT', path: `${scale}?dryRun=All`, body: json({ metadata: { name: 'd' }, spec: { replicas: 2 } }) },
      [200],
    ],
    [
      'its scale is patched',
      {
        method: 'PATCH',
        path: `${scale}?dryRun=All`,
        headers: { 'content-type': 'application/merge-patch+json' },
        body: json({ spec: { replicas: 3 } }),
      },
      [200],
    ],
    [
      'it is bound',
      {
        method: 'POST',
        path: `${core}/pods/p/binding?dryRun=All`,
        body: json({ metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } }),
      },
      [201],
    ],
    [
      'it is evicted',
      { method: 'POST', path: `${core}/pods/p/eviction?dryRun=All`, body: json({ metadata: { name: 'p' } }) },
      [201],
    ],
    ['its log is read', { method: 'GET', path: `${core}/pods/bound/log?container=c7` }, [404, 500, 502, 503]],
    ['it is deleted', { method: 'DELETE', path: `${core}/pods/p?dryRun=All` }, [200]],
    ['it is marked', { method: 'DELETE', path: `${core}/pods/held?dryRun=All` }, [200]],
    ['a map is deleted', { method: 'DELETE', path: `${core}/configmaps/c?dryRun=All` }, [200]],
    [
      'its status is patched',
      {
        method: 'PATCH',
        path: `${core}/pods/p/status?dryRun=All`,
        headers: { 'content-type': 'application/merge-patch+json' },
        body: json({ status: { phase: 'Failed' } }),
      },
      [200],
    ],
  ])('stalls nobody where %s', async (name, sent, statuses) => {
    await expectServed(`a large object: ${name}`, sent, statuses)
  })
})
