import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectShortTurns, recordedTurn } from './limit.ts'
import { MeteredServer } from './metered-server.ts'
import { record } from './record.ts'

const core = '/api/v1/namespaces/default'
const server = new MeteredServer()

beforeAll(async () => {
  await server.start()
  const account = await server.ask(post(`${core}/serviceaccounts`, { metadata: { name: 'default' } }))
  expect([201, 409]).toContain(account.status)
})
afterAll(() => server.stop())

function post(path: string, body: object | string): { method: string; path: string; body: string } {
  return { method: 'POST', path, body: typeof body === 'string' ? body : JSON.stringify(body) }
}

function many<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

function pod(spec: object, metadata: object = {}): object {
  return { metadata: { name: 'x', ...metadata }, spec: { containers: [{ name: 'c', image: 'i' }], ...spec } }
}

const owners = (count: number): object[] =>
  many(count, (index) => ({ apiVersion: 'v1', kind: 'Pod', name: 'o', uid: `${index}`, controller: true }))
const dry = '?dryRun=All'
const pods = `${core}/pods${dry}`
const configMaps = `${core}/configmaps`
const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
const jobs = `/apis/batch/v1/namespaces/default/jobs${dry}`
const csrs = `/apis/certificates.k8s.io/v1/certificatesigningrequests${dry}`

describe('a body', () => {
  it.each<[string, string, object | string, status: number]>([
    [
      'duplicate keys below a long one',
      reviews,
      `{"${'a'.repeat(100_000)}":{${many(5_000, () => '"b":1').join(',')}}}`,
      422,
    ],
    ['duplicate keys without end', configMaps, `{"a":{${many(40_000, () => '"b":1').join(',')}}}`, 422],
    [
      'an Event with 4,000 controllers',
      `${core}/events${dry}`,
      { metadata: { name: 'x', ownerReferences: owners(4_000) } },
      422,
    ],
    ['a Pod with 8,000 controllers', pods, pod({}, { ownerReferences: owners(8_000) }), 422],
    [
      'an exponent of 20 million',
      pods,
      pod({ containers: [{ name: 'c', image: 'i', resources: { limits: { cpu: '1e20000000' } } }] }),
      400,
    ],
    [
      'a quantity of a million digits',
      pods,
      pod({ containers: [{ name: 'c', image: 'i', resources: { limits: { cpu: '9'.repeat(1_000_000) } } }] }),
      400,
    ],
    [
      '4,000 tolerations in reverse',
      pods,
      pod({ tolerations: many(4_000, (index) => ({ key: `k${4_000 - index}`, operator: 'Exists' })) }),
      201,
    ],
    [
      '40,000 exit codes',
      jobs,
      {
        metadata: { name: 'x' },
        spec: {
          template: pod({ restartPolicy: 'Never' }),
          podFailurePolicy: {
            rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: many(40_000, (index) => index + 1) } }],
          },
        },
      },
      422,
    ],
    [
      '40,000 usages of a certificate',
      csrs,
      {
        metadata: { name: 'x' },
        spec: { request: '', signerName: 'example.com/a', usages: many(40_000, (index) => `u${index}`) },
      },
      422,
    ],
    [
      'mounts times devices',
      pods,
      pod({
        containers: [
          {
            name: 'c',
            image: 'i',
            volumeMounts: many(8_000, (index) => ({ name: `v${index}`, mountPath: `/m${index}` })),
            volumeDevices: many(8_000, (index) => ({ name: `d${index}`, devicePath: `/d${index}` })),
          },
        ],
      }),
      422,
    ],
    [
      '10,000 topology constraints',
      pods,
      pod({
        topologySpreadConstraints: many(10_000, (index) => ({
          maxSkew: 1,
          topologyKey: `k${index}`,
          whenUnsatisfiable: 'DoNotSchedule',
        })),
      }),
      201,
    ],
    ['8,000 containers', pods, pod({ containers: many(8_000, (index) => ({ name: `c${index}`, image: 'i' })) }), 201],
    ['an integer of three megabytes', pods, `{"spec":{"priority":${'1'.repeat(3_000_000)}}}`, 400],
    ['nested lists of three megabytes', pods, `{"spec":{"a":[${many(900_000, () => '[]').join(',')}]}}`, 413],
    ['brackets of three megabytes', pods, `{"spec":${'['.repeat(3_000_000)}`, 400],
    [
      'a quota of 15,000 growing exponents',
      `${core}/resourcequotas${dry}`,
      {
        metadata: { name: 'x' },
        spec: { hard: Object.fromEntries(many(15_000, (index) => [`example.com/r${index}`, `1e${index % 100}`])) },
      },
      201,
    ],
    [
      '40,000 keys',
      `${configMaps}${dry}`,
      { metadata: { name: 'x' }, data: Object.fromEntries(many(40_000, (index) => [`k${index}`, ''])) },
      201,
    ],
    ['a name of three megabytes', `${configMaps}${dry}`, { metadata: { name: 'a'.repeat(3_000_000) } }, 422],
    [
      'an unknown field of three megabytes',
      `${configMaps}${dry}`,
      { metadata: { name: 'x' }, ['a'.repeat(3_000_000)]: 1 },
      201,
    ],
    [
      'an escape in each of many characters',
      `${configMaps}${dry}`,
      { metadata: { name: 'x' }, data: { a: '<>&"'.repeat(80_000) } },
      201,
    ],
  ])('with %s stalls nobody', async (name, path, body, status) => {
    const sent = post(path, body)
    const measured = await expectShortTurns(server, name, sent)
    record({ [name]: recordedTurn(sent, measured) })
    expect([measured.status, measured.answer]).toEqual([status, expect.not.stringMatching(/too much work/)])
    if (status >= 400) expect(measured.answerBytes).toBeLessThan(512 * 1024)
  })

  it.each([
    ['commas', `a: [${','.repeat(120_000)}]`],
    ['keys', many(9_000, (index) => `k${index}: x\n`).join('')],
    ['anchors', many(9_000, (index) => `k${index}: &a${index} x\n`).join('')],
    ['aliases', `a: &a [${many(500, () => 'x').join(',')}]\nb: [${many(90, () => '*a').join(',')}]\n`],
    ['lines without end', many(60_000, () => '-\n').join('')],
  ])('in YAML of %s stalls nobody', async (name, body) => {
    const headers = { 'content-type': 'application/yaml' }
    const sent = { method: 'POST', path: `${configMaps}${dry}`, headers, body }
    record({ [`YAML of ${name}`]: recordedTurn(sent, await expectShortTurns(server, name, sent)) })
  })
})

it('a question in long YAML stalls nobody', async () => {
  const body = many(9_000, (index) => `k${index}: &a${index} x\n`).join('')
  const sent = {
    method: 'POST',
    path: reviews,
    headers: { 'content-type': 'application/yaml' },
    body: body.slice(0, 120_000),
  }
  const measured = await expectShortTurns(server, 'a question', sent)
  expect(measured.status).toBe(413)
  record({ 'a question in YAML': recordedTurn(sent, measured) })
})

describe('a patch', () => {
  const largeMap = Object.fromEntries(many(20_000, (index) => [`key-${index}`, 'value']))

  beforeAll(async () => {
    const made = await server.ask(post(configMaps, { metadata: { name: 'large' }, data: largeMap }))
    expect(made.status).toBe(201)
    const env = many(9_000, (index) => ({ name: `n${index}`, value: 'v' }))
    const containers = [{ name: 'c', image: 'i', env }]
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers } }
    const deployment = { metadata: { name: 'large' }, spec: { selector: { matchLabels: { a: 'b' } }, template } }
    expect((await server.ask(post('/apis/apps/v1/namespaces/default/deployments', deployment))).status).toBe(201)
    expect(
      (await server.ask(post(configMaps, { metadata: { name: 'small' }, data: { a: 'x'.repeat(1_000) } }))).status,
    ).toBe(201)
  })

  const kinds = {
    json: 'application/json-patch+json',
    merge: 'application/merge-patch+json',
    strategic: 'application/strategic-merge-patch+json',
  }
  const deployments = '/apis/apps/v1/namespaces/default/deployments'
  const changedEnv = many(9_000, (index) => ({ name: `n${9_000 - index}`, value: 'w' }))

  it.each<[string, keyof typeof kinds, string, unknown, statuses: number[]]>([
    [
      'copies of copies',
      'json',
      `${configMaps}/small`,
      many(30, (index) => ({ op: 'copy', from: '/data', path: `/data/${index}` })),
      [422, 413, 400],
    ],
    [
      '10,000 tests',
      'json',
      `${configMaps}/large`,
      many(10_000, () => ({ op: 'test', path: '/data/key-1', value: 'value' })),
      [200],
    ],
    [
      '10,000 inserts at the front',
      'json',
      `${deployments}/large`,
      many(9_000, () => ({ op: 'add', path: '/spec/template/spec/containers/0/env/0', value: { name: 'a' } })),
      [200, 422],
    ],
    [
      '20,000 changed keys',
      'merge',
      `${configMaps}/large`,
      { data: Object.fromEntries(Object.keys(largeMap).map((key) => [key, 'other'])) },
      [200],
    ],
    [
      '20,000 deleted keys',
      'strategic',
      `${configMaps}/large`,
      { data: Object.fromEntries(Object.keys(largeMap).map((key) => [key, null])) },
      [200],
    ],
    [
      '9,000 merged items',
      'strategic',
      `${deployments}/large`,
      { spec: { template: { spec: { containers: [{ name: 'c', env: changedEnv }] } } } },
      [200],
    ],
    [
      '9,000 items in another order',
      'strategic',
      `${deployments}/large`,
      {
        spec: {
          template: {
            spec: {
              containers: [
                { name: 'c', '$setElementOrder/env': changedEnv.map(({ name }) => ({ name })), env: changedEnv },
              ],
            },
          },
        },
      },
      [200, 400, 422],
    ],
  ])('with %s stalls nobody', async (name, kind, path, patch, statuses) => {
    const sent = {
      method: 'PATCH',
      path: `${path}${dry}`,
      headers: { 'content-type': kinds[kind] },
      body: JSON.stringify(patch),
    }
    const measured = await expectShortTurns(server, name, sent)
    const { status, answer } = measured
    record({ [`a patch of ${name}`]: recordedTurn(sent, measured) })
    expect([statuses.includes(status), status, answer.slice(0, 200)]).toEqual([
      true,
      expect.any(Number),
      expect.not.stringMatching(/too much work/),
    ])
  })
})

describe('a small body of many values', () => {
  const empty = (count: number): string => `[${Array.from({ length: count }, () => '{}').join(',')}]`
  const apps = '/apis/apps/v1/namespaces/default'

  it.each([
    ['containers of a Pod', pods, `{"metadata":{"name":"x"},"spec":{"containers":${empty(20_000)}}}`],
    ['volumes of a Pod', pods, `{"metadata":{"name":"x"},"spec":{"volumes":${empty(20_000)}}}`],
    [
      'claims of a StatefulSet',
      `${apps}/statefulsets${dry}`,
      `{"metadata":{"name":"x"},"spec":{"volumeClaimTemplates":${empty(20_000)}}}`,
    ],
    [
      'containers of a Deployment',
      `${apps}/deployments${dry}`,
      `{"metadata":{"name":"x"},"spec":{"template":{"spec":{"containers":${empty(20_000)}}}}}`,
    ],
    ['ports of a Service', `${core}/services${dry}`, `{"metadata":{"name":"x"},"spec":{"ports":${empty(20_000)}}}`],
  ])('such as empty %s stalls nobody', async (name, path, body) => {
    const sent = post(path, body)
    const measured = await expectShortTurns(server, name, sent)
    // Wrong, or with its defaults too large.
    expect([413, 422]).toContain(measured.status)
    record({ [`empty ${name}`]: recordedTurn(sent, measured) })
  })
})
