import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { writeEnvelope } from '../envelope.ts'
import type { KubeObject } from '../objects.ts'
import { isConflict, isExpired, isNotFound } from '../status/predicates.ts'
import { ApiError } from '../status/status.ts'
import { type BodyCodec, jsonCodec } from './body-codec.ts'
import { DEFAULT_MAX_RETRIES, KubeClient, type KubeClientOptions, MAX_RETRY_DELAY_MS } from './client.ts'
import type { ConnectionConfig } from './connection.ts'
import { configMaps, pods, serviceAccounts, tokenRequests } from './kinds.ts'
import { protobufCodec } from './protobuf-codec.ts'
import type { Transport, TransportRequest, TransportResponse, UpgradeResult } from './transport.ts'
import { TransportError } from './transport-error.ts'
import { WatchStream } from './watch-stream.ts'

const connection: ConnectionConfig = {
  source: 'test',
  server: 'https://api/base',
  namespace: 'default',
  tls: { skipVerify: false },
  credentials: { type: 'token', token: { data: Buffer.from('secret') } },
}

interface Answer {
  status?: number
  headers?: Record<string, string>
  /** An object is sent as JSON; pieces of text as the chunks of a stream. */
  body?: object | string[]
}

/** Plays answers in order and keeps what was asked. */
class ScriptedTransport implements Transport {
  readonly requests: TransportRequest[] = []
  readonly #answers: Answer[]

  constructor(answers: Answer[]) {
    this.#answers = answers
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    this.requests.push(request)
    const { status = 200, headers = {}, body = {} } = this.#answers.shift() ?? {}
    const chunks = Array.isArray(body) ? body : [JSON.stringify(body)]
    const type = { 'content-type': 'application/json' }
    return { status, headers: { ...type, ...headers }, body: Readable.from(chunks.map((chunk) => Buffer.from(chunk))) }
  }

  async upgrade(request: Omit<TransportRequest, 'body'>): Promise<UpgradeResult> {
    return { type: 'declined', response: await this.request(request) }
  }

  async close(): Promise<void> {}

  get asked(): string[] {
    return this.requests.map(({ method, path }) => `${method} ${path}`)
  }

  header(name: string, index = 0): string[] {
    return (this.requests[index]?.headers ?? []).filter(([key]) => key === name).map(([, value]) => value)
  }

  sent(index = 0): unknown {
    return JSON.parse(Buffer.from(this.requests[index]?.body as Uint8Array).toString())
  }
}

function setUp(
  answers: Answer[],
  options: KubeClientOptions = {},
): { client: KubeClient; transport: ScriptedTransport } {
  const transport = new ScriptedTransport(answers)
  return { client: new KubeClient(connection, { transport, ...options }), transport }
}

const failure = (code: number, reason: string, extra: object = {}): Answer => ({
  status: code,
  body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: reason, ...extra },
})

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
}

describe('verbs', () => {
  it('asks for the right paths, under the base path of the server', async () => {
    const list = { body: { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: [] } }
    const { client, transport } = setUp([{}, list, {}, {}, {}, {}, {}, {}])
    const inNs = client.resource(pods).in('ns')
    await inNs.get('a', { resourceVersion: '0' })
    await client.resource(pods).list({ labelSelector: 'a=b', limit: 5 })
    await inNs.create({ metadata: { name: 'a' } }, { dryRun: 'All' })
    await inNs.update({ metadata: { name: 'a' } })
    await inNs.delete('a', { gracePeriodSeconds: 0 })
    await inNs.deleteCollection({ fieldSelector: 'spec.nodeName=n' })
    await inNs.patch('a', { type: 'apply', object: {}, fieldManager: 'me', force: true })
    await client
      .resource(serviceAccounts)
      .in('ns')
      .subresource('sa', tokenRequests)
      .create({ spec: { audiences: [] } })
    expect(transport.asked).toEqual([
      'GET /base/api/v1/namespaces/ns/pods/a?resourceVersion=0',
      'GET /base/api/v1/pods?labelSelector=a%3Db&limit=5',
      'POST /base/api/v1/namespaces/ns/pods?dryRun=All',
      'PUT /base/api/v1/namespaces/ns/pods/a',
      'DELETE /base/api/v1/namespaces/ns/pods/a',
      'DELETE /base/api/v1/namespaces/ns/pods?fieldSelector=spec.nodeName%3Dn',
      'PATCH /base/api/v1/namespaces/ns/pods/a?fieldManager=me&force=true',
      'POST /base/api/v1/namespaces/ns/serviceaccounts/sa/token',
    ])
    expect(transport.sent(2)).toEqual({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } })
    expect(transport.sent(4)).toEqual({ apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 })
    expect(transport.sent(7)).toMatchObject({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' })
  })

  it('sends its identity and what it understands; a caller may say otherwise', async () => {
    const { client, transport } = setUp([{}, {}], { userAgent: 'test' })
    await client.resource(pods).in('ns').get('a', {}, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' })
    expect(transport.header('authorization')).toEqual(['Bearer secret'])
    expect(transport.header('user-agent')).toEqual(['test'])
    expect(transport.header('accept')).toEqual(['application/json;as=Table;g=meta.k8s.io;v=v1'])
    await client.raw({ method: 'GET', path: '/version', headers: [['Authorization', 'Bearer other']] })
    expect(transport.header('authorization', 1)).toEqual([])
    expect(transport.header('Authorization', 1)).toEqual(['Bearer other'])
  })

  it.each([
    [{ type: 'json', operations: [{ op: 'remove', path: '/data' }] } as const, 'application/json-patch+json'],
    [{ type: 'merge', patch: { data: null } } as const, 'application/merge-patch+json'],
    [{ type: 'strategic', patch: { data: {} } } as const, 'application/strategic-merge-patch+json'],
    [{ type: 'apply', object: {}, fieldManager: 'me' } as const, 'application/apply-patch+yaml'],
  ])('names the type of a %o patch', async (patch, contentType) => {
    const { client, transport } = setUp([{}])
    await client.resource(configMaps).in('ns').patch('a', patch)
    expect(transport.header('content-type')).toEqual([contentType])
  })

  it('patches with integers that a number cannot hold', async () => {
    const { client, transport } = setUp([{}])
    const patch = { type: 'merge', patch: { spec: { activeDeadlineSeconds: 9007199254740993n } } } as const
    await client.resource(pods).in('ns').patch('a', patch)
    const sent = Buffer.from(transport.requests[0]?.body as Uint8Array).toString()
    expect(sent).toBe('{"spec":{"activeDeadlineSeconds":9007199254740993}}')
  })

  it('refuses to guess where an object belongs', async () => {
    const { client, transport } = setUp([])
    const all = client.resource(configMaps)
    expect(String(await failureOf(all.create({ metadata: { name: 'a' } })))).toContain('needs a namespace')
    expect(String(await failureOf(all.in('x').create({ metadata: { namespace: 'y' } })))).toContain(
      'belongs to namespace y',
    )
    expect(String(await failureOf(all.in('x').update({ metadata: {} })))).toContain('without a name')
    expect(transport.requests).toEqual([])
  })

  it('gives list items the kind that the wire leaves away, and takes null for empty', async () => {
    const list = { kind: 'ConfigMapList', apiVersion: 'v1', metadata: {}, items: [{ metadata: { name: 'a' } }] }
    const { client } = setUp([{ body: list }, { body: { ...list, items: null } }, { body: { kind: 'Pod' } }])
    const maps = client.resource(configMaps)
    expect((await maps.list()).items).toEqual([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }])
    expect((await maps.list()).items).toEqual([])
    expect(String(await failureOf(maps.list()))).toContain('expected a list, got Pod')
  })
})

describe('pages', () => {
  const page = (names: string[], token?: string): Answer => ({
    body: { metadata: { resourceVersion: '5', continue: token }, items: names.map((name) => ({ metadata: { name } })) },
  })

  it('follow the continuation, which fixes the version by itself', async () => {
    const { client, transport } = setUp([page(['a'], 'more'), page(['b'])])
    const all = await client.resource(pods).listAll({ resourceVersion: '5', labelSelector: 'x' })
    expect(all.items.map((item) => item.metadata?.name)).toEqual(['a', 'b'])
    expect(transport.asked).toEqual([
      'GET /base/api/v1/pods?limit=500&resourceVersion=5&labelSelector=x',
      'GET /base/api/v1/pods?limit=500&labelSelector=x&continue=more',
    ])
  })

  it('are read again in one piece when they expire on the way', async () => {
    const { client, transport } = setUp([page(['a'], 'more'), failure(410, 'Expired'), page(['a', 'b'])])
    expect((await client.resource(pods).listAll()).items).toHaveLength(2)
    expect(transport.asked.at(-1)).toBe('GET /base/api/v1/pods')
  })

  it('show their expiry to who reads them one by one, with the token to go on', async () => {
    const { client } = setUp([page(['a'], 'more'), failure(410, 'Expired', { metadata: { continue: 'newer' } })])
    const pages = client.resource(pods).pages()
    await pages.next()
    const error = await failureOf(pages.next())
    expect(error).toSatisfy(isExpired)
    expect((error as ApiError).status.metadata.continue).toBe('newer')
  })
})

describe('answers that are no success', () => {
  it('become API errors', async () => {
    const { client } = setUp([failure(404, 'NotFound'), failure(409, 'Conflict')])
    expect(await failureOf(client.resource(pods).in('ns').get('a'))).toSatisfy(isNotFound)
    expect(await failureOf(client.upgrade({ method: 'GET', path: '/x' }, 'websocket'))).toSatisfy(isConflict)
  })

  it('are believed although they come under the code of a success', async () => {
    const { client } = setUp([
      { ...failure(404, 'NotFound'), status: 200 },
      { ...failure(0, ''), status: 200 },
    ])
    expect(await failureOf(client.resource(pods).in('ns').get('a'))).toSatisfy(isNotFound)
    const unnamed = await failureOf(client.resource(pods).in('ns').get('a'))
    expect(unnamed).toMatchObject({ name: 'ApiError', code: 500, message: expect.stringContaining('(get pods a)') })
  })

  it('are not followed when they redirect', async () => {
    const { client, transport } = setUp([{ status: 302, headers: { location: '/elsewhere' } }])
    const error = await failureOf(client.fetch({ method: 'GET', path: '/x' }))
    expect(error).toBeInstanceOf(TransportError)
    expect(String(error)).toContain('GET /x: status 302; redirects are not followed')
    expect(transport.requests).toHaveLength(1)
  })

  it.each([429, 503])('%i is waited out when the server says how long', async (code) => {
    const clock = new ManualClock()
    const busy = { ...failure(code, 'Busy'), headers: { 'retry-after': '2' } }
    const { client, transport } = setUp([busy, busy, {}], { clock })
    const done = client
      .resource(pods)
      .in('ns')
      .create({ metadata: { name: 'a' } })
    await clock.advance(1_999)
    expect(transport.requests).toHaveLength(1)
    await clock.advance(2_001)
    await done
    expect(transport.requests).toHaveLength(3)
    expect(transport.sent(2)).toEqual(transport.sent(0))
  })

  it('are final without that word, after enough tries, or when the wait is too long', async () => {
    const clock = new ManualClock()
    const busy = (seconds: number): Answer => ({ ...failure(429, 'Busy'), headers: { 'retry-after': String(seconds) } })
    const plain = setUp([failure(503, 'ServiceUnavailable')], { clock })
    expect(await failureOf(plain.client.fetch({ method: 'GET', path: '/x' }))).toBeInstanceOf(ApiError)
    const long = setUp([busy(MAX_RETRY_DELAY_MS / 1000 + 1)], { clock })
    expect(await failureOf(long.client.fetch({ method: 'GET', path: '/x' }))).toBeInstanceOf(ApiError)
    const endless = setUp(
      Array.from({ length: 99 }, () => busy(1)),
      { clock },
    )
    const pending = failureOf(endless.client.fetch({ method: 'GET', path: '/x' }))
    await clock.advance(60_000)
    expect(await pending).toBeInstanceOf(ApiError)
    expect(endless.transport.requests).toHaveLength(1 + DEFAULT_MAX_RETRIES)
  })

  it('are read within the limit for bodies', async () => {
    const { client } = setUp([{ body: { long: 'x'.repeat(100) } }], { maxBodyBytes: 50 })
    expect(await failureOf(client.fetch({ method: 'GET', path: '/x' }))).toMatchObject({ code: 'too-large' })
  })
})

describe('codecs', () => {
  /** Writes pods only, as reversed JSON. */
  const reversed: BodyCodec = {
    ...jsonCodec,
    mediaType: 'application/reversed',
    encodes: (object) => object.kind === 'Pod',
    encode: (object) => Buffer.from(jsonCodec.encode(object)).reverse(),
    decode: (body, contentType) => jsonCodec.decode(Buffer.from(body).reverse(), contentType),
  }

  it('write what they can and read what the server chose', async () => {
    const pod: KubeObject = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } }
    const body = [Buffer.from(reversed.encode(pod)).toString()]
    const { client, transport } = setUp([{ headers: { 'content-type': 'application/reversed' }, body }, {}], {
      codec: reversed,
    })
    expect(
      await client
        .resource(pods)
        .in('ns')
        .create({ metadata: { name: 'a' } }),
    ).toEqual(pod)
    expect(transport.header('content-type')).toEqual(['application/reversed'])
    expect(transport.header('accept')).toEqual(['application/reversed,application/json'])
    await client
      .resource(configMaps)
      .in('ns')
      .create({ metadata: { name: 'a' } })
    expect(transport.header('content-type', 1)).toEqual(['application/json'])
  })

  it('refuse to send an object that lost fields when it was read', async () => {
    const bytes = writeEnvelope('v1', 'ConfigMap', (writer) => writer.stringField(999, 'new'))
    const lossy = protobufCodec.decode(bytes, protobufCodec.mediaType)
    for (const options of [{}, { codec: protobufCodec }]) {
      const { client, transport } = setUp([], options)
      const update = client
        .resource(configMaps)
        .in('ns')
        .update({ ...lossy, metadata: { name: 'a' } })
      expect(String(await failureOf(update))).toContain(
        'ConfigMap a was read without ConfigMap field 999, which sending it would delete',
      )
      expect(transport.requests).toEqual([])
    }
  })

  it('name an encoding that they cannot read', async () => {
    const zipped: Answer = { headers: { 'content-encoding': 'gzip' }, body: ['\u001f'] }
    const { client } = setUp([zipped, zipped, { ...zipped, status: 500 }])
    const complaint = 'the server answered in content-encoding gzip'
    expect(String(await failureOf(client.resource(pods).in('ns').get('a')))).toContain(complaint)
    expect(String(await failureOf(client.resource(pods).watch()))).toContain(complaint)
    const error = await failureOf(client.resource(pods).in('ns').get('a'))
    expect(String(error)).toContain('an error on the server ("content-encoding gzip")')
  })

  it('do not guess', async () => {
    const { client } = setUp([{ headers: { 'content-type': 'text/html' } }, { body: ['{'] }, { body: ['[]'] }])
    const read = () => failureOf(client.resource(pods).in('ns').get('a'))
    expect(String(await read())).toContain('the server answered with text/html; this client reads application/json')
    expect(String(await read())).toContain('the answer: not JSON')
    expect(String(await read())).toContain('JSON but not an object')
  })
})

describe('watches', () => {
  async function collect(
    chunks: string[],
    options: KubeClientOptions = {},
  ): Promise<{ events: string[]; error: unknown }> {
    const { client } = setUp([{ body: chunks }], options)
    const events: string[] = []
    const read = async () => {
      for await (const { type, object } of await client.resource(pods).watch())
        events.push(`${type} ${object.metadata?.name}`)
    }
    return { events, error: await failureOf(read()) }
  }

  const line = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`
  const a = line('ADDED', { metadata: { name: 'a' } })

  it('ask with a limit on silence that follows the timeout', async () => {
    const { client, transport } = setUp([{ body: [] }, { body: [] }])
    await client.resource(pods).watch({ timeoutSeconds: 60, allowWatchBookmarks: true })
    await client.resource(pods).watch()
    expect(transport.asked[0]).toBe('GET /base/api/v1/pods?timeoutSeconds=60&allowWatchBookmarks=true&watch=true')
    expect(transport.requests.map(({ bodyTimeoutMs }) => bodyTimeoutMs)).toEqual([90_000, 0])
  })

  it('end quietly between events, however they were cut', async () => {
    expect(await collect([a.slice(0, 7), a.slice(7) + a])).toEqual({ events: ['ADDED a', 'ADDED a'], error: undefined })
  })

  it.each([
    [
      'an ERROR event',
      line('ERROR', { kind: 'Status', status: 'Failure', code: 410, message: 'old' }),
      'ApiError: old',
    ],
    ['an ERROR event without Status', line('ERROR', {}), 'BodyDecodeError: an ERROR event carries no Status'],
    ['an unknown type', line('WHAT', {}), 'BodyDecodeError: unknown watch event type "WHAT"'],
    ['no object', '{"type":"ADDED"}\n', 'BodyDecodeError: a watch event has no object'],
    ['no type', '{"object":{}}\n', 'BodyDecodeError: a watch event has no type'],
    ['no JSON', '{"type":\n', 'BodyDecodeError: a watch event: not JSON'],
    ['half an event', '{"type":', 'WatchFrameError: watch stream ended inside an event'],
    ['too large an event', `${'x'.repeat(200)}\n`, 'WatchFrameError: watch event of more than 100 bytes'],
  ])('deliver what came before %s, and then fail', async (_what, bad, message) => {
    const { events, error } = await collect([a + bad], { maxWatchEventBytes: 100 })
    expect(events).toEqual(['ADDED a'])
    expect(String(error)).toContain(message)
  })

  it('explain an ERROR event that does not explain itself', async () => {
    const { error } = await collect([line('ERROR', { kind: 'Status', status: 'Failure', code: 429 })])
    expect(String(error)).toContain('too many requests')
  })

  it('end quietly when they are closed during a read, even inside an event', async () => {
    const body = new Readable({ read: () => undefined })
    const watch = new WatchStream(body, jsonCodec, 1000)
    const events = watch[Symbol.asyncIterator]()
    body.push(`${a}{"type":`)
    expect((await events.next()).value).toMatchObject({ type: 'ADDED' })
    const next = events.next()
    watch.close()
    expect(await next).toEqual({ done: true, value: undefined })
  })

  it('deliver nothing after they were closed', async () => {
    const watch = new WatchStream(Readable.from([Buffer.from(a + a)]), jsonCodec, 1000)
    const events = watch[Symbol.asyncIterator]()
    await events.next()
    watch.close()
    expect(await events.next()).toEqual({ done: true, value: undefined })
  })

  it('become an error when they are refused', async () => {
    const { client } = setUp([failure(410, 'Expired')])
    expect(await failureOf(client.resource(pods).watch())).toSatisfy(isExpired)
  })
})
