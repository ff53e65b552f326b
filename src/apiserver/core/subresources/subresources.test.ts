import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { inlineMaker } from '../../../../test/worlds/inline-maker.ts'
import { RequestHeaders } from '../../../http/server/exchange.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { type ResourceRequest, readRequest } from '../../../kube/request-info.ts'
import { ApiError } from '../../../kube/status/status.ts'
import { ManualClock } from '../../../runtime/clock.ts'
import { strategyOf } from '../../kinds/registry.ts'
import { storedResource } from '../../objects/resource.ts'
import { ALLOWED, type Authorizer, NO_OPINION, NO_RULES } from '../../request/authorizer.ts'
import type { RequestContext } from '../../request/handler.ts'
import { anonymousUser } from '../../request/user.ts'
import { MemoryStore } from '../../storage/memory-store.ts'
import { Admission } from '../admission.ts'
import { ObjectCache } from '../object-cache.ts'
import { Reader } from '../read.ts'
import { createObject } from '../write/create.ts'
import { updateObject } from '../write/update.ts'
import { Writer } from '../write/writer.ts'
import type { Destination } from './node-connector.ts'
import { Subresources } from './subresources.ts'

const everything: Authorizer = { authorize: () => ALLOWED, rulesFor: () => NO_RULES }
const pods = '/api/v1/namespaces/ns/pods'

const own = { dryRun: false, warnings: new Set<string>(), bodyBytes: 0, hasDefaults: false }

describe('Subresources', () => {
  const clock = new ManualClock()
  let store: MemoryStore
  let writer: Writer
  let reader: Reader
  let connections: Destination[]
  let stop: AbortController
  let running: Promise<void>

  beforeEach(async () => {
    store = new MemoryStore(clock)
    const cache = new ObjectCache(store, pino({ level: 'silent' }))
    await cache.load()
    stop = new AbortController()
    running = cache.run(stop.signal, () => Promise.resolve())
    const strategies = {
      strategyOf: (resource: { apiVersion: string; kind: string }) => strategyOf(resource.apiVersion, resource.kind),
    }
    writer = new Writer({
      store,
      cache,
      clock,
      admission: new Admission([]),
      allocators: [],
      maker: inlineMaker,
      ...strategies,
    })
    reader = new Reader(store, cache, clock)
    connections = []
  })

  afterEach(async () => {
    stop.abort()
    await running
    await store.close()
  })

  function contextOf(method: string, target: string, body?: object) {
    const { info: read, query } = readRequest({ method, path: target })
    const info = read as ResourceRequest
    const sent: { status?: number; body?: KubeObject } = {}
    const exchange = {
      headers: new RequestHeaders([['content-type', 'application/json']]),
      readBody: () => Promise.resolve(Buffer.from(JSON.stringify(body ?? {}))),
      respond: (status: number, _headers: object, answer: Buffer) => {
        Object.assign(sent, { status, body: JSON.parse(answer.toString() || 'null') as KubeObject })
      },
    }
    const signal = new AbortController().signal
    const turn = (): undefined => undefined
    const shared = { turn, responseHeaders: {}, warnings: new Set<string>(), query, user: anonymousUser, signal }
    return { context: { exchange, info, ...shared } as unknown as RequestContext, info, sent }
  }

  async function ask(method: string, target: string, body?: object, authorizer = everything, hasNodes = true) {
    const nodes = {
      connect: (_context: RequestContext, destination: Destination) => {
        connections.push(destination)
        return Promise.resolve()
      },
    }
    const parts = { reader, writer, clock, authorizer }
    const subresources = new Subresources({ ...parts, nodes: hasNodes ? nodes : undefined })
    const { context, info, sent } = contextOf(method, target, body)
    const handled = await subresources.handle(context, info)
    return { handled, ...sent }
  }

  const failure = async (answer: Promise<unknown>): Promise<[number, string]> => {
    const error: unknown = await answer.then(
      () => new Error('was answered'),
      (cause: unknown) => cause,
    )
    if (!(error instanceof ApiError)) throw error
    return [error.code, error.message]
  }

  async function create(group: string, version: string, resource: string, object: KubeObject): Promise<void> {
    const found = storedResource(group, version, resource)
    if (found === undefined) throw new Error(`no ${resource}`)
    const request = {
      resource: found,
      subresource: '',
      namespace: found.namespaced ? 'ns' : '',
      name: '',
      user: anonymousUser,
    }
    const signal = new AbortController().signal
    const typed = { kind: found.kind, apiVersion: found.apiVersion, ...object }
    await createObject(writer, typed, { ...request, ...own, signal })
  }

  const createPod = (name: string, spec: object = {}, labels: Record<string, string> = {}): Promise<void> =>
    create('', 'v1', 'pods', { metadata: { name, labels }, spec: { containers: [{ name: 'c', image: 'i' }], ...spec } })

  const createNode = (name: string): Promise<void> => create('', 'v1', 'nodes', { metadata: { name } })

  it('leaves to others what is not its own', async () => {
    for (const target of [pods, `${pods}/p`, `${pods}/p/status`, `${pods}/p/resize`, '/apis/apps/v1/daemonsets']) {
      expect(await ask('GET', target)).toEqual({ handled: false })
    }
  })

  it('refuses methods that a subresource does not have', async () => {
    const text = 'the server does not allow this method on the requested resource'
    expect(await failure(ask('DELETE', `${pods}/p/eviction`))).toEqual([405, text])
    expect(await failure(ask('GET', '/api/v1/namespaces/ns/bindings'))).toEqual([405, text])
  })

  it('binds a pod once, however many schedulers try', async () => {
    await createPod('p')
    const bind = (node: string) => ask('POST', `${pods}/p/binding`, { metadata: { name: 'p' }, target: { name: node } })
    const outcomes = await Promise.allSettled(['a', 'b', 'c', 'd'].map(bind))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const refusals = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as ApiError] : []))
    for (const { code, message } of refusals) {
      expect(code).toBe(409)
      expect(message).toMatch(
        /^Operation cannot be fulfilled on pods\/binding "p": pod p is already assigned to node "[abcd]"$/,
      )
    }
  })

  it('takes no more from a disruption budget than it allows', async () => {
    const names = ['p1', 'p2', 'p3', 'p4']
    for (const name of names) await createPod(name, { nodeName: 'n' }, { app: 'x' })
    for (const name of names)
      await setStatus('', 'v1', 'pods', name, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] })
    const spec = { minAvailable: 2, selector: { matchLabels: { app: 'x' } } }
    await create('policy', 'v1', 'poddisruptionbudgets', { metadata: { name: 'b' }, spec })
    const counts = {
      observedGeneration: 1,
      disruptionsAllowed: 2,
      currentHealthy: 4,
      desiredHealthy: 2,
      expectedPods: 4,
    }
    await setStatus('policy', 'v1', 'poddisruptionbudgets', 'b', counts)
    const answers = await Promise.all(
      names.map((name) => ask('POST', `${pods}/${name}/eviction`, { metadata: { name } })),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(2)
    const left = await stored('policy', 'v1', 'poddisruptionbudgets', 'b')
    expect(left['status']).toMatchObject({ disruptionsAllowed: 0, conditions: [{ reason: 'InsufficientPods' }] })
    const going = await Promise.all(names.map((name) => stored('', 'v1', 'pods', name)))
    expect(going.filter(({ metadata }) => metadata?.deletionTimestamp !== undefined)).toHaveLength(2)
  })

  it('leads to the kubelet in its own words', async () => {
    await createNode('n')
    await createPod('p', { nodeName: 'n' })
    await ask('POST', `${pods}/p/exec?command=ls&command=-l&stdin=true&stderr=false&tty=1`)
    await ask('GET', `${pods}/p/log?follow=true&previous=false&tailLines=5`)
    await ask('POST', `${pods}/p/portforward?ports=80`)
    await ask('GET', '/api/v1/nodes/n/proxy/metrics?x=y')
    expect(connections.map((to) => (to.to === 'kubelet' ? [to.node, to.path, to.query] : to))).toEqual([
      ['n', '/exec/ns/p/c', 'input=1&output=1&tty=1&command=ls&command=-l'],
      ['n', '/containerLogs/ns/p/c', 'follow=true&tailLines=5'],
      ['n', '/portForward/ns/p', 'port=80'],
      ['n', '/metrics', 'x=y'],
    ])
  })

  it('leads to the address of a pod', async () => {
    await createPod('p', { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 8080 }] }] })
    await setStatus('', 'v1', 'pods', 'p', { phase: 'Running', podIPs: [{ ip: '10.1.2.3' }] })
    await ask('GET', `${pods}/p/proxy/a/b`)
    await ask('GET', `${pods}/https:p:443/proxy/`)
    expect(connections).toMatchObject([
      { to: 'address', scheme: 'http', host: '10.1.2.3', port: '8080', path: '/a/b' },
      { to: 'address', scheme: 'https', host: '10.1.2.3', port: '443', path: '/' },
    ])
  })

  it.each(['', '127.0.0.1', '169.254.0.1', '224.0.0.1', '0.0.0.0', '::1', 'fe80::1', 'ff02::1'])(
    'never proxies to the address %o',
    async (ip) => {
      await createPod('p')
      await setStatus('', 'v1', 'pods', 'p', { phase: 'Running', ...(ip === '' ? {} : { podIPs: [{ ip }] }) })
      expect(await failure(ask('GET', `${pods}/p/proxy/`))).toEqual([400, 'address not allowed'])
      expect(connections).toEqual([])
    },
  )

  it('opens no stream for whoever may only read', async () => {
    await createNode('n')
    await createPod('p', { nodeName: 'n' })
    const reads: Authorizer = {
      ...everything,
      authorize: ({ verb }) => (verb === 'get' ? ALLOWED : NO_OPINION),
    }
    for (const subresource of ['exec', 'attach', 'portforward']) {
      const [code] = await failure(ask('GET', `${pods}/p/${subresource}`, undefined, reads))
      expect(code).toBe(403)
    }
    expect(connections).toEqual([])
  })

  it('claims health only for what it knows', async () => {
    const { body } = await ask('GET', '/api/v1/componentstatuses')
    expect(body?.['items']).toEqual([
      { metadata: { name: 'etcd-0' }, conditions: [{ type: 'Healthy', status: 'True', message: 'ok' }] },
      { metadata: { name: 'controller-manager' } },
      { metadata: { name: 'scheduler' } },
    ])
  })

  it('says that it has no way to a node', async () => {
    await createNode('n')
    await createPod('p', { nodeName: 'n' })
    const message = 'this server has no connection to node n: no tunnel to its nodes is set up'
    expect(await failure(ask('GET', `${pods}/p/log`, undefined, everything, false))).toEqual([501, message])
  })

  async function stored(group: string, version: string, resource: string, name: string): Promise<KubeObject> {
    const found = storedResource(group, version, resource)
    if (found === undefined) throw new Error(`no ${resource}`)
    const { context } = contextOf('GET', `${pods}/${name}`)
    return (await reader.get(found, 'ns', name, context)).object()
  }

  async function setStatus(
    group: string,
    version: string,
    resource: string,
    name: string,
    status: object,
  ): Promise<void> {
    const found = storedResource(group, version, resource)
    if (found === undefined) throw new Error(`no ${resource}`)
    const request = { resource: found, subresource: 'status', namespace: 'ns', name, user: anonymousUser }
    const signal = new AbortController().signal
    await updateObject(writer, { ...request, ...own, signal }, (current) => ({
      ...current.object(),
      status,
    }))
  }
})
