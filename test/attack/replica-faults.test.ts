/**
 * Every step by which the replica of an edge answers, or keeps what passes, throws in turn, over both versions of HTTP: the client
 * gets an answer or an error or is cut off, the process stands, and nobody else notices.
 */
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, describe, expect, it, type MockInstance, vi } from 'vitest'
import type { EdgeReplica } from '../../src/edge/compose-replica.ts'
import { describeScope } from '../../src/edge/feeds/collection-scope.ts'
import type { Feed } from '../../src/edge/feeds/feed.ts'
import { certificatePem } from '../../src/identity/certificate.ts'
import type { RunningPart } from '../../src/process/lifecycle.ts'
import { startInOrder } from '../../src/process/part-group.ts'
import { SafetyNet } from '../../src/process/safety-net.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { removeFolder } from '../remove-folder.ts'
import { type EndpointWorld, NODE, startEndpoint } from '../worlds/endpoint-world.ts'
import { makeDataDir } from '../worlds/keeping-world.ts'
import { LeapingClock } from '../worlds/leaping-clock.ts'
import { NodeCluster, replicaAt } from '../worlds/node-cluster.ts'
import { ask, bearer } from './endpoint-asking.ts'
import { type Asked, type FaultClient, http1Client, http2Client } from './fault-clients.ts'
import { Escapes, Fault } from './faults.ts'
import { until, Watched } from './replica-world.ts'

const headers = bearer('reader')
const services: Asked = { path: '/api/v1/services', headers }
const service: Asked = { path: '/api/v1/namespaces/default/services/web', headers }
const watching: Asked = { path: '/api/v1/services?watch=1&timeoutSeconds=1', headers }
/** Of what nobody has read. */
const table: Asked = {
  path: '/api/v1/pods',
  headers: { ...headers, accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
}
const endpoints: Asked = { path: '/api/v1/endpoints', headers }
const largeBytes = 5_000_000
const patience = { timeout: 10_000 }

let edge: EdgeReplica
let world: EndpointWorld
let cluster: NodeCluster
let running: RunningPart
let escapes: Escapes
let clients: FaultClient[]
let neighbour: FaultClient
const clock = new LeapingClock()
const dataDir = makeDataDir()

function fails(): never {
  throw new Fault('a step of the replica failed')
}

function feed(): Feed {
  const [found] = [...edge.feeds.all].filter(({ scope }) => describeScope(scope) === 'services')
  if (found === undefined) throw new Error('nothing is kept')
  return found
}

/** Fails once, and does its work again afterwards. */
type Arm = () => MockInstance

const arms = {
  'the search for a feed': () => vi.spyOn(edge.feeds, 'covering').mockImplementationOnce(fails),
  'a feed by its key': () => vi.spyOn(edge.feeds, 'find').mockImplementationOnce(fails),
  'the making of a feed': () => vi.spyOn(edge.feeds, 'ensure').mockImplementationOnce(fails),
  'a feed when it is listed': () => vi.spyOn(feed(), 'objects', 'get').mockImplementationOnce(fails),
  'a feed when it is joined': () => vi.spyOn(feed(), 'join').mockImplementationOnce(fails),
  'a feed when it takes a list': () => vi.spyOn(feed(), 'adopt').mockImplementationOnce(fails),
  'who reads': () => vi.spyOn(edge.readers, 'recognise').mockImplementationOnce(fails),
  'whether one may': () => vi.spyOn(edge.readers, 'admit').mockImplementationOnce(fails),
  'what is learnt of a reader': () => vi.spyOn(edge.readers, 'learn').mockImplementationOnce(fails),
  'the state of the link': () => vi.spyOn(edge.reach, 'answered').mockImplementationOnce(fails),
  'keeping a change': () => vi.spyOn(edge.keeping, 'changeFeed').mockImplementationOnce(fails),
} satisfies Record<string, Arm>

const online: [step: keyof typeof arms, what: string, asked: Asked][] = [
  // Before anybody watches: a feed that is followed takes nothing from answers that pass.
  ['a feed when it takes a list', 'a list', services],
  ['keeping a change', 'a list', services],
  ['a feed by its key', 'a list', services],
  ['what is learnt of a reader', 'a list', services],
  ['the state of the link', 'a list', services],
  ['the making of a feed', 'a Table', table],
  ['the making of a feed', 'a watch', watching],
  ['a feed when it is joined', 'a watch', watching],
  ['whether one may', 'a watch', watching],
  // What is too large to be read while it passes is fetched aside when it has.
  ['the making of a feed', 'a list that is large', endpoints],
]

const offline: [step: keyof typeof arms, what: string, asked: Asked][] = [
  ['the search for a feed', 'a list', services],
  ['the search for a feed', 'an object', service],
  ['a feed when it is listed', 'a list', services],
  ['a feed when it is listed', 'an object', service],
  ['a feed when it is joined', 'a watch', watching],
  ['who reads', 'a list', services],
]

beforeAll(async () => {
  const registry = new Registry()
  const net = new SafetyNet({ clock: systemClock, logger: pino({ level: 'silent' }), registry })
  cluster = new NodeCluster()
  cluster.put('services', {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: { name: 'web', namespace: 'default', uid: 'w' },
  })
  const annotations = { large: 'x'.repeat(largeBytes) }
  cluster.put('endpoints', { kind: 'Endpoints', apiVersion: 'v1', metadata: { name: 'web', uid: 'e', annotations } })
  edge = replicaAt(cluster, { node: NODE, dataDir, clock: net.timers(clock), net, registry })
  running = await startInOrder(edge.parts, new AbortController().signal, (cause) => expect(cause).toBeUndefined())
  escapes = new Escapes()
  world = await startEndpoint({ net, upstream: cluster, replica: edge.replica })
  const tls = { port: world.port(), ca: certificatePem(world.ca.certificate) }
  clients = [http1Client(tls), http2Client(tls)]
  neighbour = http2Client(tls)
  await reaches('online')
  expect(await neighbour.ask(services)).toBe(200)
  await vi.waitFor(() => expect(feed().isComplete).toBe(true))
})
afterEach(() => {
  escapes.errors.length = 0
})
afterAll(async () => {
  for (const client of [...clients, neighbour]) client.close()
  await world.stop()
  await running.stop(AbortSignal.abort())
  escapes.release()
  removeFolder(dataDir)
})

async function reaches(state: string): Promise<void> {
  await vi.waitFor(() => expect(edge.reach.now.state).toBe(state), patience)
}

/** So that there is something new to keep. */
function change(): void {
  cluster.put('services', cluster.get('services', 'web'))
}

async function expectStands(step: keyof typeof arms, asked: Asked): Promise<void> {
  for (const client of clients) {
    change()
    const armed = arms[step]()
    const outcome = await client.ask(asked)
    await vi.waitFor(() => expect(armed).toHaveBeenCalled(), patience)
    armed.mockRestore()
    expect(['cut', 200, 500, 502, 503], `${client.name}: ${outcome}`).toContain(outcome)
    await escapes.expectNone()
    expect([await client.ask(services), await neighbour.ask(services)]).toEqual([200, 200])
    expect(await neighbour.ask(service)).toBe(200)
  }
}

describe('the replica stands when a step of it throws while there is a link:', () => {
  it.each(online)('%s, for %s', async (step, _what, asked) => {
    await expectStands(step, asked)
  })

  it('keeping a change that others watch', async () => {
    const session = world.http2()
    const watch = await Watched.begin(
      session.request({ ':path': '/api/v1/services?watch=1&resourceVersion=0', ...headers }),
    )
    await vi.waitFor(() => expect(watch.told).toContain('ADDED web'))
    const armed = arms['keeping a change']()
    change()
    await vi.waitFor(() => expect(armed).toHaveBeenCalled(), patience)
    armed.mockRestore()
    // After a defect a feed may wait for a while; this cluster tells of what changes from then on.
    await until('it goes on', () => {
      clock.leap(1_000)
      cluster.put('services', { ...cluster.get('services', 'web'), metadata: { name: 'later', namespace: 'default' } })
      return watch.told.some((event) => event.endsWith(' later'))
    })
    expect(watch.isOver).toBe(false)
    await escapes.expectNone()
    expect((await ask(session, { ':path': '/api/v1/services', ...headers })).body).toContain('later')
    session.destroy()
  })
})

describe('the replica stands when a step of it throws while there is none:', () => {
  beforeAll(async () => {
    cluster.cut()
    await reaches('offline')
  })

  it.each(offline)('%s, for %s', async (step, _what, asked) => {
    await expectStands(step, asked)
  })
})
