/** Answers that last, at a real kube-apiserver and at the endpoint of an edge, and what becomes of them when one side goes. */
import { readFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { askRole } from '../../src/cli/control-client.ts'
import { protobufCodec } from '../../src/kube/client/protobuf-codec.ts'
import { JsonLineDecoder, LengthDelimitedDecoder } from '../../src/kube/watch/frames.ts'
import { kubectl } from './control-plane.ts'
import { type ClientOptions, type Question, TransparencyClient, type Version } from './endpoint-transparency-client.ts'
import { EndpointWorld, NODE } from './endpoint-transparency-edge.ts'
import { prepareFixtures } from './endpoint-transparency-fixtures.ts'
import { describeReal } from './harness.ts'

type Credentials = Pick<ClientOptions, 'token' | 'certificate'>

const versions: readonly Version[] = ['1.1', '2']
/** What nobody ends lasts for minutes. */
const soon = { timeout: 60_000 }
const maxRounds = 6
const newLine = 0x0a
const configMaps = '/api/v1/namespaces/shared/configmaps'
const ofNode = `/api/v1/pods?fieldSelector=spec.nodeName%3D${NODE}`
const types = [
  'application/json',
  'application/vnd.kubernetes.protobuf;stream=watch',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  'application/vnd.kubernetes.protobuf;stream=watch;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
]

let world: EndpointWorld
let token: string
let version: string
let ca: string

describeReal('what lasts', () => {
  beforeAll(async () => {
    // A watch that feeds share outlasts each of its readers, and the link.
    world = await EndpointWorld.start({}, '--feeds', 'off')
    ;({ token, version } = await prepareFixtures(world.plane))
    ca = readFileSync(world.plane.caFile, 'utf8')
    const here = ['--namespace=shared']
    await kubectl(world.plane, ['patch', 'configmap', 'item-1', '--patch={"data":{"text":"changed"}}', ...here])
    await kubectl(world.plane, ['delete', 'configmap', 'item-2', ...here])
    await kubectl(world.plane, ['create', 'configmap', 'item-new', ...here])
    await kubectl(world.plane, ['label', 'pod', 'one', 'changed=true', ...here])
  })
  afterAll(async () => {
    await world?.stop()
  })

  describe.each(versions)('over HTTP/%s', (http) => {
    it('is the same from its first byte to its end', async () => {
      const [byToken, byNode] = [{ token }, { certificate: world.nodeCertificate() }]
      const asked = [
        ...streamsOf(configMaps).map((question) => [byToken, question] as const),
        ...streamsOf(ofNode).map((question) => [byNode, question] as const),
      ]
      const compared = asked.map(async ([credentials, question]) => {
        const ways = [world.plane.server, world.endpoint].map((server) => client(server, http, credentials))
        const what = `${question.path} ${String(question.headers?.['accept'])}`
        for (let round = 1; ; round++) {
          const [expected, answer] = await Promise.all(ways.map((way) => framesOf(way, question)))
          expect.soft(answer?.events, what).toEqual(expected?.events)
          // A busy API server leaves the last bookmark out now and then.
          if (answer?.bookmark !== expected?.bookmark && round < maxRounds) continue
          expect.soft(answer?.bookmark, what).toBe(expected?.bookmark)
          return
        }
      })
      await Promise.all(compared)
    })

    it('ends at the API server when the client leaves', async () => {
      const before = await openWatches()
      for (const credentials of [{ token }, { certificate: world.nodeCertificate() }]) {
        const through = client(world.endpoint, http, credentials)
        const opened = [1, 2, 3].map(() => through.open({ path: `${ofNode}&watch=1` }))
        const watches = await Promise.all(opened)
        expect(watches.map(({ status }) => status)).toEqual([200, 200, 200])
        await expect.poll(openWatches, soon).toBe(before + 3)
        for (const watch of watches) watch.leave()
        await expect.poll(openWatches, soon).toBe(before)
      }
    })

    it('is not carried out when its client leaves in the middle of what it sends', async () => {
      const through = client(world.endpoint, http, { token })
      const names = Array.from({ length: 10 }, (_, index) => `half-${http.at(-1)}-${index}`)
      for (const name of names) {
        // All of it makes sense without the rest, and nothing says how long it is to be.
        const body = `metadata: {name: ${name}}\n`
        const headers = { 'content-type': 'application/yaml' }
        const leave = await through.sendHalf({ method: 'POST', path: configMaps, headers, body })
        await expect.poll(requestsUnderWay, soon).toBeGreaterThan(0)
        leave()
        await expect.poll(requestsUnderWay, soon).toBe(0)
      }
      const list = await client(world.plane.server, '2', { token }).ask({ path: configMaps })
      expect(list.body.toString()).not.toContain('half-')
    })
  })

  it('ends between two events where the API server goes, which is asked again as soon as it is back', async () => {
    const through = client(world.endpoint, '2', { token })
    const body = await quietWatch(through)
    const end = endOf(body)
    await world.plane.killApiServer()
    expect(await end).toBe('in good order')
    await expectRefusal(through)
    await world.plane.startApiServer()
    expect((await through.ask({ path: `${configMaps}/item-7` })).status).toBe(200)
  })

  it('ends between two events where the link is cut, and clients come through again when it is back', async () => {
    const asked = versions.map((http) => client(world.endpoint, http, { token }))
    const bodies = await Promise.all(asked.map(quietWatch))
    const getOne = await preparedKubectl()
    const ends = bodies.map(endOf)
    await world.killHub()
    expect(await Promise.all(ends)).toEqual(['in good order', 'in good order'])
    const waiting = getOne()
    await world.startHub()
    expect(await waiting).toBe('configmap/item-7\n')
    for (const way of asked) expect((await way.ask({ path: `${configMaps}/item-7` })).status).toBe(200)
  })

  it('cannot begin without the link, and says so', async () => {
    const getOne = await preparedKubectl()
    await world.killHub()
    const refused = getOne().catch((error: Error) => error.message)
    for (const http of versions) await expectRefusal(client(world.endpoint, http, { token }))
    const [, sentence, ...others] = (await refused).trim().split('\n')
    expect(sentence).toMatch(
      /^Error from server \(ServiceUnavailable\): this node is cut off from its API server since /,
    )
    expect(others).toEqual([])
  })
}, ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'])

/** In the words of an API server, with the advice to come again. */
async function expectRefusal(way: TransparencyClient): Promise<void> {
  const { status, headers, body } = await way.ask({ path: configMaps })
  expect([status, JSON.parse(body.toString())]).toMatchObject([503, { kind: 'Status', reason: 'ServiceUnavailable' }])
  expect(Object.fromEntries(headers)).toMatchObject({ 'retry-after': '1', 'content-type': 'application/json' })
}

/** A command that knows the API already, so that it asks for nothing but one object. */
async function preparedKubectl(): Promise<() => Promise<string>> {
  const kubeconfigFile = world.writeKubeconfig(token)
  const args = ['get', 'configmap/item-7', '--output=name', `--cache-dir=${world.cluster.path('cache')}`]
  const getOne = (): Promise<string> => kubectl({ kubeconfigFile }, args)
  expect(await getOne()).toBe('configmap/item-7\n')
  return getOne
}

/** Each ends by itself after a while, in which a busy API server can tell everything. */
function streamsOf(path: string): Question[] {
  const base = `${path}${path.includes('?') ? '&' : '?'}watch=1`
  const changes = `${base}&resourceVersion=${version}&timeoutSeconds=8`
  const list = `${base}&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=8`
  // Two seconds before the end there is a bookmark.
  const marked = `${base}&resourceVersion=${version}&allowWatchBookmarks=true&timeoutSeconds=8`
  const inAll = (target: string): Question[] =>
    types.map((accept) => ({ path: target, headers: { accept, 'accept-encoding': 'gzip' } }))
  return [...inAll(changes), ...inAll(list), ...inAll(marked), { path: `${base}&resourceVersion=1&timeoutSeconds=1` }]
}

interface Told {
  readonly events: readonly string[]
  /** The first of them. */
  readonly bookmark: string | undefined
}

/** Status, type and events; without what a bookmark says about the moment, and without ages. */
async function framesOf(way: TransparencyClient, question: Question): Promise<Told> {
  const { status, headers, body } = await way.ask(question)
  const type = headers.find(([name]) => name === 'content-type')?.[1] ?? ''
  const isProtobuf = type.includes('protobuf')
  const decoder = isProtobuf ? new LengthDelimitedDecoder() : new JsonLineDecoder()
  const frames = decoder.push(body).map((frame) => lasting(Buffer.from(frame), isProtobuf))
  expect(decoder.end()).toBeUndefined()
  // How many bookmarks there are depends on the moment too.
  const events = frames.filter((text) => !isBookmark(text))
  return { events: [`${status} ${type}`, ...events], bookmark: frames.find(isBookmark) }
}

function isBookmark(text: string): boolean {
  return text.includes('BOOKMARK')
}

/** A version takes more bytes at one time than at another, and protobuf counts them. */
function lasting(frame: Buffer, isProtobuf: boolean): string {
  const text = frame.toString('latin1')
  if (!isBookmark(text)) return text.replaceAll(/"(\d+[dhms])+"/g, 'AGE')
  return (isProtobuf ? JSON.stringify(protobufCodec.decodeEvent(frame)) : text).replaceAll(/\d+/g, 'N')
}

function client(server: string, http: Version, credentials: Credentials): TransparencyClient {
  const made = new TransparencyClient({ server, ca, version: http, ...credentials })
  onTestFinished(() => made.close())
  return made
}

/** Of pods, by everybody. */
async function openWatches(): Promise<number> {
  const metrics = await kubectl(world.plane, ['get', '--raw', '/metrics'])
  const found = metrics.matchAll(/^apiserver_longrunning_requests{[^}]*resource="pods"[^}]*verb="WATCH"[^}]*} (\d+)$/gm)
  return [...found].reduce((sum, [, count]) => sum + Number(count), 0)
}

async function requestsUnderWay(): Promise<number> {
  const status = await askRole(world.cluster.path(NODE), '/v1/status')
  return (status as { edge: { endpoint: { requests: { short: number } } } }).edge.endpoint.requests.short
}

/** Of one object, up to the end of its first event: nothing more is under way. */
async function quietWatch(way: TransparencyClient): Promise<Readable> {
  const { body } = await way.open({ path: `${configMaps}?watch=1&fieldSelector=metadata.name%3Ditem-7` })
  await new Promise<void>((resolve, reject) => {
    body.on('data', (chunk: Buffer) => {
      if (chunk.at(-1) === newLine) resolve()
    })
    body.once('error', reject)
  })
  return body
}

async function endOf(body: Readable): Promise<string> {
  body.resume()
  return await finished(body, { writable: false }).then(
    () => 'in good order',
    (error: Error) => error.message,
  )
}
