/**
 * Subresources against the real kube-apiserver: the same requests go to both servers, and both must answer alike in
 * status, headers that clients act on, and body, except for what is drawn or counted anew on every server.
 */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApiServer } from '../../src/apiserver/api-server.ts'
import { REPLACEABLE_CONTROLLERS } from '../../src/apiserver/controllers/replaceable.ts'
import { MemoryStore } from '../../src/apiserver/storage/memory-store.ts'
import { createRequest } from '../../src/identity/csr.ts'
import { decodeProtobuf, encodeProtobuf } from '../../src/kube/codec/object-codec.ts'
import { hasEnvelope } from '../../src/kube/envelope.ts'
import type { KubeObject } from '../../src/kube/objects.ts'
import type { RunningPart } from '../../src/process/lifecycle.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { HealthChecks } from '../../src/telemetry/health.ts'
import { removeFolder } from '../remove-folder.ts'
import { type ControlPlane, describeReal, startControlPlane } from './harness.ts'

const namespace = '/api/v1/namespaces/sub'
const apps = '/apis/apps/v1/namespaces/sub'
const policy = '/apis/policy/v1/namespaces/sub'
const csrs = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const merge = 'application/merge-patch+json'
const strategic = 'application/strategic-merge-patch+json'
const jsonPatch = 'application/json-patch+json'
const protobuf = 'application/vnd.kubernetes.protobuf'

const container = { name: 'c', image: 'i' }
const template = { metadata: { labels: { a: 'b', c: 'd' } }, spec: { containers: [container] } }

interface Server {
  readonly url: string
  readonly agent: Agent
  readonly token: string
}

interface Response {
  readonly status: number
  readonly retryAfter: unknown
  readonly warning: unknown
  readonly contentType: unknown
  readonly body: unknown
}

type Open = Record<string, unknown>

interface Sent {
  /** A function sees what the same server answered last: its uids and versions are its own. */
  readonly body?: object | Buffer | ((last: KubeObject) => object | Buffer)
  readonly type?: string
  readonly accept?: string
  /** Whom to play. */
  readonly as?: string
}

let plane: ControlPlane
let running: RunningPart
let folder: string
const servers: Server[] = []
const last = new Map<Server, KubeObject>()

async function startOurs(token: string): Promise<Server> {
  folder = await mkdtemp(join(tmpdir(), 'causeway-sub-'))
  const ours = new ApiServer({
    dataDir: folder,
    address: { host: '127.0.0.1', port: 0 },
    dnsNames: [],
    ipAddresses: [],
    clock: systemClock,
    logger: pino({ level: 'silent' }),
    health: new HealthChecks(systemClock),
    registry: new Registry(),
    tokens: { csv: `${token},admin,admin-uid,"system:masters"\n`, source: 'tokens.csv' },
    sharesStore: false,
    // As the real one is started for this suite: no controllers, and pods without accounts.
    disabledAdmissionPlugins: ['ServiceAccount'],
    skippedControllers: REPLACEABLE_CONTROLLERS,
    openStore: () => Promise.resolve(new MemoryStore(systemClock)),
  })
  running = await ours.start(new AbortController().signal, (cause) => {
    throw cause
  })
  return { url: ours.url, token, agent: new Agent({ connect: { rejectUnauthorized: false } }) }
}

async function send(server: Server, method: string, path: string, sent: Sent): Promise<Response> {
  const given = typeof sent.body === 'function' ? sent.body(last.get(server) ?? {}) : sent.body
  const isBytes = Buffer.isBuffer(given)
  const { statusCode, headers, body } = await request(server.url + path, {
    method: method as 'GET',
    dispatcher: server.agent,
    headers: {
      authorization: `Bearer ${server.token}`,
      'content-type': sent.type ?? (isBytes ? protobuf : 'application/json'),
      accept: sent.accept ?? 'application/json',
      ...(sent.as === undefined ? {} : { 'impersonate-user': sent.as }),
    },
    ...(given === undefined ? {} : { body: isBytes ? given : JSON.stringify(given) }),
  })
  const bytes = Buffer.from(await body.arrayBuffer())
  const value = parse(bytes)
  if (typeof value === 'object') last.set(server, structuredClone(value) as KubeObject)
  return {
    status: statusCode,
    // Ours tells the time with every 503, so that no client hammers.
    retryAfter: statusCode === 503 ? undefined : headers['retry-after'],
    warning: headers['warning'],
    contentType: headers['content-type'],
    body: normalized(value),
  }
}

function parse(bytes: Buffer): unknown {
  if (hasEnvelope(bytes)) return decodeProtobuf(bytes).object
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return bytes.toString('utf8')
  }
}

const drawn = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'managedFields',
  'continue',
  'description',
])
const times = new Set(['lastTransitionTime', 'lastUpdateTime', 'disruptedPods'])
/** What admission adds to pods is judged elsewhere. */
const admitted = new Set(['tolerations', 'priority', 'preemptionPolicy'])

function normalized(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalized)
  if (typeof value === 'string') {
    // The two servers are asked one after the other, perhaps on both sides of a full second.
    if (/^\d+s$/.test(value)) return '<age>'
    return value.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uid>').replace(/\((\d+)\)/g, '(<version>)')
  }
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([name]) => !drawn.has(name) && !admitted.has(name))
  return Object.fromEntries(
    entries.map(([name, field]) => [name, times.has(name) ? `<${typeof field}>` : normalized(field)]),
  )
}

/** Sends the request to both, expects the same answer, and gives it back. */
async function both(method: string, path: string, sent: Sent = {}): Promise<Response> {
  const [real, ours] = await Promise.all(servers.map((server) => send(server, method, path, sent)))
  expect.soft(ours, `${method} ${path}`).toEqual(real)
  return real as Response
}

/** For answers whose texts show Go's own picture of an object. */
async function bothRefuse(method: string, path: string, sent: Sent): Promise<void> {
  const [real, ours] = await Promise.all(servers.map((server) => send(server, method, path, sent)))
  const outline = ({ status, body }: Response): unknown => [status, (body as Open)['reason']]
  expect.soft(outline(ours as Response), `${method} ${path}`).toEqual(outline(real as Response))
}

/** Creates on both; what comes back is for other suites to judge. */
async function prepare(method: string, path: string, sent: Sent = {}): Promise<void> {
  for (const server of servers) {
    const { status, body } = await send(server, method, path, sent)
    expect(status, `${method} ${path} ${server.url}: ${JSON.stringify(body)}`).toBeLessThan(300)
  }
}

function named(apiVersion: string, kind: string, name: string, rest: object = {}): KubeObject {
  return { apiVersion, kind, metadata: { name }, ...rest }
}

function pod(name: string, spec: object = {}, metadata: object = {}): KubeObject {
  return named('v1', 'Pod', name, { metadata: { name, ...metadata }, spec: { containers: [container], ...spec } })
}

async function preparePod(name: string, spec: object = {}, metadata: object = {}): Promise<void> {
  await prepare('POST', `${namespace}/pods`, { body: pod(name, spec, metadata) })
}

async function preparePhase(name: string, status: object): Promise<void> {
  await prepare('PATCH', `${namespace}/pods/${name}/status`, { body: { status }, type: merge })
}

const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: null }] }

describeReal('subresources', () => {
  beforeAll(async () => {
    plane = await startControlPlane()
    const ca = await readFile(plane.caFile)
    servers.push({ url: plane.server, token: plane.adminToken, agent: new Agent({ connect: { ca } }) })
    servers.push(await startOurs(plane.adminToken))
    await prepare('POST', '/api/v1/namespaces', { body: named('v1', 'Namespace', 'sub') })
    await prepare('POST', '/api/v1/nodes', { body: named('v1', 'Node', 'n') })
  })

  afterAll(async () => {
    await running?.stop(AbortSignal.timeout(5_000))
    await Promise.all(servers.map(({ agent }) => agent.destroy()))
    await plane?.stop()
    removeFolder(folder)
  })

  describe('scale', () => {
    const selector = { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'c', operator: 'In', values: ['e', 'd'] }] }
    const workloads: [path: string, object: KubeObject][] = [
      [`${apps}/deployments`, named('apps/v1', 'Deployment', 'w', { spec: { replicas: 2, selector, template } })],
      [`${apps}/replicasets`, named('apps/v1', 'ReplicaSet', 'w', { spec: { selector, template } })],
      [
        `${apps}/statefulsets`,
        named('apps/v1', 'StatefulSet', 'w', { spec: { serviceName: 's', selector, template } }),
      ],
      [
        `${namespace}/replicationcontrollers`,
        named('v1', 'ReplicationController', 'w', { spec: { selector: { c: 'd', a: 'b' }, template } }),
      ],
    ]
    const scale = (replicas: number, metadata: object = { name: 'w' }): KubeObject => ({
      ...named('autoscaling/v1', 'Scale', 'w', { spec: { replicas } }),
      metadata,
    })

    it.each(workloads)('of %s', async (path, object) => {
      await prepare('POST', path, { body: object })
      const at = `${path}/w/scale`
      await both('GET', at)
      await both('GET', at, { accept: protobuf })
      await both('GET', at, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' })
      await both('GET', at)
      await both('PUT', at, { body: (seen) => ({ ...seen, spec: { replicas: 3 } }) })
      await both('PUT', at, { body: scale(4) })
      await both('PUT', at, { body: encodeProtobuf(scale(5)).bytes, accept: protobuf })
      await both('PATCH', at, { body: { spec: { replicas: 6 } }, type: merge })
      await both('PATCH', at, { body: { spec: { replicas: 7 } }, type: strategic })
      await both('PATCH', at, { body: [{ op: 'replace', path: '/spec/replicas', value: 8 }], type: jsonPatch })
      await both('PUT', `${at}?dryRun=All`, { body: scale(9) })
      const { body } = await both('GET', `${path}/w`)
      expect(body).toMatchObject({ metadata: { generation: expect.any(Number) }, spec: { replicas: 8 } })
    })

    it('refuses what is wrong', async () => {
      const at = `${apps}/deployments/w/scale`
      await both('PUT', at, { body: scale(-1) })
      await both('PATCH', at, { body: { spec: { replicas: -1 } }, type: merge })
      await both('PUT', at, { body: scale(1, {}) })
      await both('PUT', at, { body: scale(1, { name: 'v' }) })
      await both('PUT', at, { body: scale(1, { name: 'w', namespace: 'other' }) })
      await both('PUT', at, { body: scale(1, { name: 'w', resourceVersion: '1' }) })
      await both('PATCH', at, { body: { metadata: { resourceVersion: '1' }, spec: { replicas: 1 } }, type: merge })
      for (const method of ['GET', 'PUT', 'PATCH']) {
        await both(method, `${apps}/deployments/none/scale`, {
          ...(method === 'GET' ? {} : { body: scale(1, { name: 'none' }) }),
          type: method === 'PATCH' ? merge : 'application/json',
        })
      }
    })
  })

  it('finalizes namespaces', async () => {
    const at = '/api/v1/namespaces/gone'
    await prepare('POST', '/api/v1/namespaces', { body: named('v1', 'Namespace', 'gone') })
    await both('PUT', `${at}/finalize`, { body: named('v1', 'Namespace', 'other', { spec: { finalizers: [] } }) })
    await both('PUT', `${at}/finalize`, { body: named('v1', 'Namespace', 'gone', { spec: { finalizers: ['bad'] } }) })
    await both('PUT', `${at}/finalize`, {
      body: named('v1', 'Namespace', 'gone', { spec: { finalizers: ['kubernetes', 'x.io/y'] } }),
    })
    await both('DELETE', at)
    await both('PUT', `${at}/finalize`, {
      body: named('v1', 'Namespace', 'gone', { spec: { finalizers: ['x.io/y'] } }),
    })
    await both('PUT', `${at}/finalize`, { body: named('v1', 'Namespace', 'gone', { spec: {} }) })
    await both('GET', at)
    await both('PUT', `${at}/finalize`, { body: named('v1', 'Namespace', 'gone', { spec: {} }) })
  })

  it('approves and denies certificate signing requests', async () => {
    const csrRequest = await certificateRequest()
    const spec = { request: csrRequest, signerName: 'x.io/y', usages: ['client auth'] }
    const condition = (type: string): object => ({ type, status: 'True', reason: 'r', message: 'm' })
    for (const name of ['a', 'b', 'c']) {
      await prepare('POST', csrs, {
        body: named('certificates.k8s.io/v1', 'CertificateSigningRequest', name, { spec }),
      })
    }
    const withConditions = (...types: string[]): Sent => ({
      body: (seen) => ({ ...seen, status: { conditions: types.map(condition) } }),
    })
    await both('GET', `${csrs}/a/approval`)
    await both('PUT', `${csrs}/a`, withConditions('Approved'))
    await both('PUT', `${csrs}/a/status`, withConditions('Approved'))
    await both('GET', `${csrs}/a`)
    await both('PUT', `${csrs}/a/approval`, withConditions('Approved'))
    await both('PUT', `${csrs}/a/approval`, withConditions())
    await both('GET', `${csrs}/a`)
    await both('PUT', `${csrs}/a/approval`, withConditions('Approved', 'Denied'))
    const failed = { status: { conditions: [condition('Failed')] } }
    await both('PATCH', `${csrs}/b/approval`, { body: { status: { conditions: [condition('Denied')] } }, type: merge })
    await both('PATCH', `${csrs}/b/approval`, { body: { spec: { signerName: 'z.io/z' } }, type: merge })
    await both('PATCH', `${csrs}/c/status`, { body: failed, type: strategic })
    await both('PATCH', `${csrs}/c/approval`, { body: { status: { certificate: 'AAAA' } }, type: merge })
  })

  describe('eviction', () => {
    const evict = (name: string, deleteOptions?: object): Sent => ({
      body: named('policy/v1', 'Eviction', name, deleteOptions === undefined ? {} : { deleteOptions }),
    })
    const budget = (name: string, label: string, spec: object = {}): Sent => ({
      body: named('policy/v1', 'PodDisruptionBudget', name, {
        spec: { minAvailable: 1, selector: { matchLabels: { app: label } }, ...spec },
      }),
    })
    const budgetStatus = (name: string, status: object): Promise<void> =>
      prepare('PATCH', `${policy}/poddisruptionbudgets/${name}/status`, {
        body: { status: { observedGeneration: 1, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, ...status } },
        type: merge,
      })
    const at = (name: string): string => `${namespace}/pods/${name}/eviction`

    it('lets pods go that no budget guards', async () => {
      await preparePod('e-pending')
      await preparePod('e-running', { nodeName: 'n' })
      await preparePhase('e-running', ready)
      await both('POST', at('e-pending'), evict('other'))
      await both('POST', `${at('e-pending')}?dryRun=All`, { body: named('policy/v1beta1', 'Eviction', 'e-pending') })
      await both('POST', `${at('e-pending')}?dryRun=All`, { body: { metadata: { name: 'e-pending' } } })
      await both('POST', at('none'), evict('none'))
      await both('POST', `${at('e-pending')}?dryRun=All`, evict('e-pending'))
      await both('GET', `${namespace}/pods/e-pending`)
      await both('POST', at('e-pending'), evict('e-pending', { preconditions: { resourceVersion: '1' } }))
      await both('POST', at('e-pending'), evict('e-pending'))
      await both('GET', `${namespace}/pods/e-pending`)
      await both('POST', at('e-running'), evict('e-running', { gracePeriodSeconds: 7 }))
      await both('GET', `${namespace}/pods/e-running`)
      await both('POST', at('e-running'), evict('e-running', { gracePeriodSeconds: 0 }))
      await both('GET', `${namespace}/pods/e-running`)
      await both('DELETE', at('e-running'))
    })

    it('asks the budget', async () => {
      for (const name of ['b1', 'b2', 'b3']) {
        await preparePod(name, { nodeName: 'n' }, { labels: { app: 'b' } })
        await preparePhase(name, ready)
      }
      await prepare('POST', `${policy}/poddisruptionbudgets`, budget('b', 'b'))
      await both('POST', at('b1'), evict('b1'))
      await budgetStatus('b', { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1 })
      await both('POST', at('b1'), evict('b1'))
      await budgetStatus('b', { disruptionsAllowed: 0, currentHealthy: 3, desiredHealthy: 1 })
      await both('POST', at('b1'), evict('b1'))
      await budgetStatus('b', { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1 })
      await both('POST', `${at('b1')}?dryRun=All`, evict('b1'))
      await both('POST', at('b1'), evict('b1'))
      await both('GET', `${policy}/poddisruptionbudgets/b`)
      await both('GET', `${namespace}/pods/b1`)
      await both('POST', at('b2'), evict('b2'))
      const condition = {
        type: 'DisruptionAllowed',
        status: 'False',
        reason: 'SyncFailed',
        message: 'broken',
        lastTransitionTime: '2020-01-01T00:00:00Z',
      }
      await budgetStatus('b', { disruptionsAllowed: 0, conditions: [condition] })
      await both('POST', at('b2'), evict('b2'))
      await budgetStatus('b', { currentHealthy: 2, desiredHealthy: 1, conditions: [{ ...condition, reason: 'Why' }] })
      await both('POST', at('b2'), evict('b2'))
      await prepare('POST', `${policy}/poddisruptionbudgets`, budget('b-too', 'b'))
      await both('POST', at('b2'), evict('b2'))
    })

    it('spares unhealthy pods no eviction where the others are enough', async () => {
      for (const name of ['u1', 'u2']) {
        await preparePod(name, { nodeName: 'n' }, { labels: { app: name } })
        await preparePhase(name, { phase: 'Running' })
      }
      await prepare('POST', `${policy}/poddisruptionbudgets`, budget('u1', 'u1'))
      await budgetStatus('u1', { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 1 })
      await both('POST', at('u1'), evict('u1'))
      await budgetStatus('u1', { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1 })
      await both('POST', at('u1'), evict('u1'))
      await prepare(
        'POST',
        `${policy}/poddisruptionbudgets`,
        budget('u2', 'u2', { unhealthyPodEvictionPolicy: 'AlwaysAllow' }),
      )
      await both('POST', at('u2'), evict('u2'))
      await both('GET', `${namespace}/pods/u2`)
    })
  })

  describe('binding', () => {
    const bind = (name: string, target: object = { kind: 'Node', name: 'n' }, metadata: object = {}): Sent => ({
      body: named('v1', 'Binding', name, { metadata: { name, ...metadata }, target }),
    })

    it('puts pods on nodes', async () => {
      await preparePod('p1', {}, { annotations: { old: '1' } })
      await preparePod('p2')
      await preparePod('p3', { schedulingGates: [{ name: 'g.io/g' }] })
      const at = `${namespace}/pods/p1/binding`
      await both('POST', at, bind('other'))
      await both('POST', at, bind('p1', { kind: 'Pod' }))
      await both('POST', at, bind('p1', { name: '' }))
      await both('POST', at, bind('p1', undefined, { uid: 'bad' }))
      await both('POST', at, bind('p1', undefined, { namespace: 'other' }))
      await both('POST', `${at}?dryRun=All`, bind('p1'))
      await both('POST', at, bind('p1', undefined, { annotations: { new: '2' }, labels: { zone: 'z' } }))
      await both('GET', `${namespace}/pods/p1`)
      await both('POST', at, bind('p1'))
      await both('POST', `${namespace}/bindings`, bind('p2'))
      await both('GET', `${namespace}/pods/p2`)
      await both('POST', `${namespace}/bindings`, bind('p3'))
      await both('POST', `${namespace}/bindings`, bind('none'))
      await both('POST', `${namespace}/pods/none/binding`, bind('none'))
      await both('GET', `${namespace}/bindings`)
    })
  })

  it('adds ephemeral containers', async () => {
    await preparePod('eph')
    const at = `${namespace}/pods/eph/ephemeralcontainers`
    const added = { name: 'd', image: 'i' }
    await both('GET', at)
    await both('PATCH', at, { body: { spec: { ephemeralContainers: [added] } }, type: strategic })
    await both('PATCH', at, { body: { metadata: { labels: { x: 'y' } }, spec: { priority: 7 } }, type: merge })
    await bothRefuse('PATCH', at, {
      body: { spec: { ephemeralContainers: [{ ...added, image: 'j' }] } },
      type: strategic,
    })
    await both('PATCH', at, { body: { spec: { ephemeralContainers: [] } }, type: merge })
    await both('PATCH', at, {
      body: { spec: { ephemeralContainers: [added, { name: 'c', image: 'i' }] } },
      type: merge,
    })
    await both('GET', `${namespace}/pods/none/ephemeralcontainers`)
    await both('PATCH', `${namespace}/pods/none/ephemeralcontainers`, { body: {}, type: merge })
  })

  it('resizes pods', async () => {
    const resources = { requests: { cpu: '100m', memory: '1Gi' }, limits: { cpu: '200m', memory: '1Gi' } }
    await preparePod('size', { containers: [{ ...container, resources }] })
    const at = `${namespace}/pods/size/resize`
    const resize = (cpu: string, more: object = {}): Sent => ({
      body: { spec: { containers: [{ name: 'c', resources: { requests: { cpu } }, ...more }] } },
      type: strategic,
    })
    await both('GET', at)
    await both('PATCH', at, resize('150m'))
    await both('PATCH', at, resize('160m', { image: 'other' }))
    await both('PATCH', at, resize('300m'))
    await bothRefuse('PATCH', at, { body: { spec: { containers: [] } }, type: merge })
    await both('PATCH', `${namespace}/pods/none/resize`, resize('1'))
  })

  it('leads nowhere from a pod without a node', async () => {
    await preparePod('lost', { containers: [container, { name: 'second', image: 'i' }] })
    await preparePod('alone')
    const service = named('v1', 'Service', 'svc', { spec: { clusterIP: 'None', ports: [{ name: 'web', port: 80 }] } })
    for (const subresource of ['exec', 'attach']) {
      await both('GET', `${namespace}/pods/lost/${subresource}?command=ls`)
      await both('POST', `${namespace}/pods/lost/${subresource}?command=ls&container=x`)
      await both('GET', `${namespace}/pods/alone/${subresource}?command=ls`)
      await both('GET', `${namespace}/pods/none/${subresource}?command=ls`)
    }
    await both('GET', `${namespace}/pods/alone/log`)
    await both('GET', `${namespace}/pods/lost/log`)
    await both('GET', `${namespace}/pods/none/log`)
    await both('GET', `${namespace}/pods/alone/log?tailLines=-1&limitBytes=0&sinceSeconds=0`)
    await both('GET', `${namespace}/pods/alone/log?sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z`)
    await both('GET', `${namespace}/pods/alone/portforward?ports=80`)
    await both('GET', `${namespace}/pods/alone/proxy/x`)
    await both('GET', `${namespace}/pods/a:b:c:d/proxy/x`)
    await both('GET', `${namespace}/services/none/proxy/`)
    await prepare('POST', `${namespace}/services`, { body: service })
    await both('GET', `${namespace}/services/svc/proxy/`)
    await both('GET', `${namespace}/services/svc:81/proxy/`)
    await both('GET', `${namespace}/services/svc:80/proxy/`)
    await prepare('POST', `${namespace}/endpoints`, { body: named('v1', 'Endpoints', 'svc') })
    await both('GET', `${namespace}/services/svc/proxy/`)
    await both('GET', `${namespace}/services/svc:80/proxy/`)
    await both('GET', `${namespace}/services/none:80/proxy/`)
    await both('GET', `${namespace}/services/https:none/proxy/`)
    await both('GET', `${namespace}/services/ftp:none:80/proxy/`)
    await both('GET', '/api/v1/nodes/none/proxy/metrics')
  })

  it('asks for the right to create before a GET opens a stream', async () => {
    const subresources = ['exec', 'attach', 'portforward', 'log']
    const role = {
      rules: [{ apiGroups: [''], resources: subresources.map((subresource) => `pods/${subresource}`), verbs: ['get'] }],
    }
    const subjects = [{ kind: 'User', name: 'reader', apiGroup: 'rbac.authorization.k8s.io' }]
    const roleRef = { kind: 'Role', name: 'reader', apiGroup: 'rbac.authorization.k8s.io' }
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/sub'
    const version = 'rbac.authorization.k8s.io/v1'
    await prepare('POST', `${rbac}/roles`, { body: named(version, 'Role', 'reader', role) })
    await prepare('POST', `${rbac}/rolebindings`, {
      body: named(version, 'RoleBinding', 'reader', { subjects, roleRef }),
    })
    // A server believes in a binding a moment after it was made.
    const readLog = (server: Server): Promise<Response> =>
      send(server, 'GET', `${namespace}/pods/alone/log`, { as: 'reader' })
    for (const server of servers) await expect.poll(async () => (await readLog(server)).status).not.toBe(403)
    for (const subresource of subresources) {
      await both('GET', `${namespace}/pods/alone/${subresource}`, { as: 'reader' })
    }
  })

  it('says so where it has no way to a node', async () => {
    await preparePod('placed', { nodeName: 'n' })
    const ours = servers[1] as Server
    const { status, body } = await send(ours, 'GET', `${namespace}/pods/placed/log`, {})
    const message = 'this server has no connection to node n: no tunnel to its nodes is set up'
    expect([status, body]).toEqual([501, expect.objectContaining({ status: 'Failure', message })])
  })

  it('knows the state of the store', async () => {
    await both('GET', '/api/v1/componentstatuses/etcd-0')
    await both('GET', '/api/v1/componentstatuses/none')
    await both('GET', '/api/v1/componentstatuses?fieldSelector=metadata.name%3Detcd-0')
    await both('GET', '/api/v1/componentstatuses?labelSelector=a%3Db')
  })
})

/** Any well-formed request will do; nobody signs it. */
async function certificateRequest(): Promise<string> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = await createRequest({ subject: [{ type: 'CN', value: 'x' }] }, privateKey)
  return Buffer.from(pem).toString('base64')
}
