import { once } from 'node:events'
import { type ClientHttp2Session, constants } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { PassThrough, Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { FilterRequest } from '../../../src/edge/filters/filter-plan.ts'
import { UpstreamError, type UpstreamRequest } from '../../../src/edge/upstream/upstream.ts'
import { certificatePem } from '../../../src/identity/certificate.ts'
import { nodeSubject } from '../../../src/identity/node-name.ts'
import { streamOf } from '../../worlds/byte-sources.ts'
import {
  answer,
  askHttp2,
  type EndpointWorld,
  FakeUpstream,
  issuePair,
  keys,
  NODE,
  startEndpoint,
  text,
} from '../../worlds/endpoint-world.ts'

const json = [['content-type', 'application/json']] as const

describe('the endpoint passes on', () => {
  let world: EndpointWorld
  let session: ClientHttp2Session
  let asked: FilterRequest[]
  let filters: { choose: (request: FilterRequest) => Promise<undefined> }
  const fresh = new FakeUpstream()

  beforeAll(async () => {
    filters = {
      choose: (request) => {
        asked.push(request)
        return Promise.resolve(undefined)
      },
    }
    world = await startEndpoint({ filters })
    session = world.http2()
  })

  beforeEach(() => {
    asked = []
    world.upstream.requests.length = 0
    world.upstream.handle = fresh.handle
    world.upstream.handleUpgrade = fresh.handleUpgrade
  })

  afterAll(async () => {
    session.destroy()
    await world.stop()
  })

  it('status, headers and body as they come, over both versions of HTTP', async () => {
    const headers = [
      ['content-type', 'application/json'],
      ['warning', '299 - "one"'],
      ['warning', '299 - "two"'],
      ['audit-id', 'a'],
      ['x-kubernetes-pf-flowschema-uid', 'u'],
      ['cache-control', 'no-cache, private'],
      ['etag', '"e"'],
      ['date', 'Sun, 15 Nov 2026 12:00:00 GMT'],
      ['content-length', '4'],
    ] as const
    world.upstream.handle = () => answer(409, headers, 'body')
    const one = await world.http1({ path: '/api/v1/pods?limit=1' })
    const two = await askHttp2(session, { ':path': '/api/v1/pods?limit=1' })
    expect(one).toMatchObject({ status: 409, body: 'body' })
    expect(two).toMatchObject({ headers: { ':status': 409 }, body: 'body' })
    for (const [name, value] of headers.filter(([each]) => each !== 'warning')) {
      expect([name, one.headers[name]]).toEqual([name, value])
      expect([name, two.headers[name]]).toEqual([name, value])
    }
    expect(one.headers['warning']).toBe('299 - "one", 299 - "two"')
    expect(two.headers['warning']).toBe('299 - "one", 299 - "two"')
    expect(world.upstream.last).toMatchObject({ method: 'GET', target: '/api/v1/pods?limit=1', body: undefined })
  })

  it('headers of the request, but not those of its connection, nor identities of a front proxy', async () => {
    await world.http1({
      path: '/api',
      headers: {
        accept: ['application/json', 'text/plain'],
        connection: 'keep-alive, x-mine',
        'x-mine': 'v',
        'x-remote-user': 'admin',
        'x-remote-extra-scopes': 'all',
        'impersonate-user': 'jane',
        'user-agent': 'test',
        te: 'trailers, deflate',
      },
    })
    const sent = world.upstream.last.headers.map((pair) => pair.join(': '))
    expect(sent.toSorted()).toEqual([
      'accept: application/json',
      'accept: text/plain',
      'impersonate-user: jane',
      'te: trailers',
      'user-agent: test',
    ])
  })

  it.each([
    ['GET', '0', undefined],
    ['DELETE', '7', '{"x":1}'],
    ['POST', undefined, 'body'],
  ])('%s with content-length %s and body %s', async (method, length, body) => {
    world.upstream.handle = async ({ body: sent }) =>
      answer(200, json, sent === undefined ? 'none' : await text(streamOf(sent)))
    const headers = length === undefined ? {} : { 'content-length': length }
    expect(await world.http1({ method, path: '/x', headers }, body)).toMatchObject({ body: body ?? 'none' })
    const stream = session.request({ ':method': method, ':path': '/x', ...headers }, { endStream: body === undefined })
    if (body !== undefined) stream.end(body)
    expect(await text(stream)).toBe(body ?? 'none')
  })

  it('a body in chunks with trailers, and trailers of the answer that were announced', async () => {
    let trailers: unknown
    world.upstream.handle = async (request) => {
      const sent = await text(streamOf(request.body))
      trailers = request.trailers?.()
      return answer(200, [['trailer', 'x-sum']], sent, [['x-sum', '7']])
    }
    const request = httpsRequest({
      host: '127.0.0.1',
      port: world.port(),
      ca: certificatePem(world.ca.certificate),
      path: '/x',
      method: 'POST',
      headers: { trailer: 'x-end' },
    })
    request.write('one')
    request.addTrailers({ 'x-end': 'yes' })
    request.end('two')
    const [response] = await once(request, 'response')
    expect(await text(response)).toBe('onetwo')
    expect(response.trailers).toEqual({ 'x-sum': '7' })
    expect(trailers).toEqual([['x-end', 'yes']])
    const stream = session.request({ ':method': 'POST', ':path': '/x' })
    const received = once(stream, 'trailers')
    stream.end('three')
    expect(await text(stream)).toBe('three')
    expect((await received)[0]).toMatchObject({ 'x-sum': '7' })
  })

  it('HEAD without a body and with the length of one', async () => {
    world.upstream.handle = () => answer(200, [['content-length', '100']], '')
    const one = await world.http1({ method: 'HEAD', path: '/x' })
    expect([one.status, one.headers['content-length'], one.body]).toEqual([200, '100', ''])
    const two = await askHttp2(session, { ':method': 'HEAD', ':path': '/x' })
    expect([two.headers[':status'], two.headers['content-length'], two.body]).toEqual([200, '100', ''])
  })

  it('asks for a body when the client waits to be asked', async () => {
    world.upstream.handle = async ({ body, headers }) => {
      expect(headers.some(([name]) => name === 'expect')).toBe(false)
      return answer(201, json, await text(streamOf(body)))
    }
    const request = httpsRequest({
      host: '127.0.0.1',
      port: world.port(),
      ca: certificatePem(world.ca.certificate),
      path: '/x',
      method: 'POST',
      headers: { expect: '100-continue', 'content-length': 4 },
    })
    request.flushHeaders()
    await once(request, 'continue')
    request.end('late')
    const [response] = await once(request, 'response')
    expect(await text(response)).toBe('late')
    const stream = session.request({ ':method': 'POST', ':path': '/x', expect: '100-continue' })
    await once(stream, 'continue')
    stream.end('later')
    expect(await text(stream)).toBe('later')
  })

  it('events of a watch one by one, and the end of the client at once', async () => {
    const body = new PassThrough()
    let signal: UpstreamRequest['signal'] | undefined
    world.upstream.handle = (request) => {
      signal = request.signal
      return answer(200, json, body)
    }
    const stream = session.request({ ':path': '/api/v1/pods?watch=true' })
    stream.on('error', () => {})
    await once(stream, 'response')
    for (const event of ['one', 'two']) {
      body.write(event)
      expect(String((await once(stream, 'data'))[0])).toBe(event)
    }
    const status = { clients: 1, requests: { short: 0, long: 1, upgrade: 0 } }
    await expect.poll(() => world.endpoint.status).toMatchObject(status)
    const closed = once(body, 'close')
    stream.close(constants.NGHTTP2_CANCEL)
    await closed
    await expect.poll(() => signal?.aborted).toBe(true)
    await expect.poll(() => world.endpoint.status.requests).toEqual({ short: 0, long: 0, upgrade: 0 })
  })

  it('a client of HTTP/1.1 that leaves before the answer', async () => {
    const gone = new Promise((resolve) => {
      world.upstream.handle = ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            resolve(undefined)
            reject(signal.reason)
          })
          request.destroy()
        })
    })
    const request = httpsRequest({ host: '127.0.0.1', port: world.port(), ca: certificatePem(world.ca.certificate) })
    request.on('error', () => {})
    request.end()
    await gone
    await expect.poll(() => world.endpoint.status.requests.short).toBe(0)
  })

  it('an answer that breaks off as one that breaks off', async () => {
    const broken = (): Readable =>
      Readable.from(
        (async function* () {
          yield Buffer.from('half')
          await Promise.resolve()
          throw new UpstreamError('broken', 'gone')
        })(),
      )
    world.upstream.handle = () => answer(200, json, broken())
    await expect(world.http1({ path: '/x' })).rejects.toThrow()
    const stream = session.request({ ':path': '/x' })
    await expect(text(stream)).rejects.toThrow('NGHTTP2_INTERNAL_ERROR')
  })

  it.each(['', '{"type":"ADDED"}\n'])(
    'a watch that breaks off between two events, after %j, in good order',
    async (said) => {
      const body = new PassThrough()
      world.upstream.handle = () => answer(200, json, body)
      const stream = session.request({ ':path': '/api/v1/pods?watch=1' })
      await once(stream, 'response')
      const watched = text(stream)
      const heard = said === '' ? undefined : once(stream, 'data')
      body.write(said)
      await heard
      body.destroy(new UpstreamError('broken', 'gone'))
      expect(await watched).toBe(said)
    },
  )

  it('a watch that breaks off within an event as cut off', async () => {
    let body = new PassThrough()
    world.upstream.handle = () => answer(200, json, body)
    const stream = session.request({ ':path': '/api/v1/pods?watch=1' })
    await once(stream, 'response')
    const cut = expect(text(stream)).rejects.toThrow('NGHTTP2_INTERNAL_ERROR')
    const heard = once(stream, 'data')
    body.write('half an event')
    await heard
    body.destroy(new UpstreamError('broken', 'gone'))
    await cut
    body = new PassThrough()
    body.write('event')
    const ca = certificatePem(world.ca.certificate)
    const request = httpsRequest({ host: '127.0.0.1', port: world.port(), ca, path: '/api/v1/pods?watch=1' })
    request.end()
    const [response] = await once(request, 'response')
    await once(response, 'data')
    const one = expect(once(response, 'end')).rejects.toThrow('aborted')
    body.destroy(new UpstreamError('broken', 'gone'))
    await one
  })

  it('large bodies no faster than the slower side takes them', async () => {
    let produced = 0
    const chunk = Buffer.alloc(64 * 1024)
    world.upstream.handle = () =>
      answer(
        200,
        json,
        new Readable({
          read() {
            produced += 1
            this.push(produced > 1_000 ? null : chunk)
          },
        }),
      )
    const stream = session.request({ ':path': '/x' })
    await once(stream, 'response')
    stream.pause()
    const other = world.http2()
    for (let round = 0; round < 20; round += 1) {
      world.upstream.handle = fresh.handle
      await askHttp2(other, { ':path': '/ping' })
    }
    expect(produced).toBeLessThan(500)
    let bytes = 0
    stream.resume()
    stream.on('data', (data: Buffer) => {
      bytes += data.length
    })
    await once(stream, 'end')
    expect(bytes).toBe(1_000 * chunk.length)
    other.destroy()
  })

  it('an upload no faster than the API server takes it, and answers it before its end if it does', async () => {
    let answerNow = (): void => {}
    let body: Readable | undefined
    world.upstream.handle = (request) => {
      body = streamOf(request.body)
      body.read(0)
      return new Promise((resolve) => {
        answerNow = () => resolve(answer(413, json, 'too large'))
      })
    }
    const stream = session.request({ ':method': 'POST', ':path': '/x' })
    stream.on('error', () => {})
    await expect.poll(() => body).toBeDefined()
    const chunk = Buffer.alloc(64 * 1024)
    for (let sent = 0; sent < 100; sent += 1) stream.write(chunk)
    world.upstream.handle = fresh.handle
    for (let round = 0; round < 20; round += 1) await askHttp2(session, { ':path': '/ping' })
    expect(body?.readableLength ?? 0).toBeLessThan(1024 * 1024)
    answerNow()
    body?.destroy()
    expect(await text(stream)).toBe('too large')
    expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR)
  })

  it.each([
    ['offline', 503, 'ServiceUnavailable', '1'],
    ['unreachable', 503, 'ServiceUnavailable', '1'],
    ['overloaded', 503, 'ServiceUnavailable', '1'],
    ['timeout', 504, 'Timeout', '1'],
    ['broken', 502, 'BadGateway', '1'],
  ] as const)('a failure of the way up (%s) as a Status', async (kind, code, reason, retryAfter) => {
    world.upstream.handle = () => Promise.reject(new UpstreamError(kind, 'the tide is in'))
    const { status, headers, body } = await world.http1({ path: '/api/v1/pods' })
    expect([status, headers['retry-after'], headers['content-type']]).toEqual([code, retryAfter, 'application/json'])
    expect(JSON.parse(body)).toMatchObject({
      kind: 'Status',
      reason,
      code,
      message: expect.stringContaining('says why'),
    })
    // Clients repeat what has a Retry-After; a write that may have been done must not be repeated by itself.
    const write = await world.http1({ method: 'POST', path: '/api/v1/pods' }, '{}')
    expect(write.headers['retry-after']).toBe(kind === 'broken' ? undefined : retryAfter)
  })

  it('why there is no way up only to callers who have shown who they are', async () => {
    const headers = { authorization: 'Bearer known-here' }
    await world.http1({ path: '/api/v1/pods', headers })
    world.upstream.handle = () =>
      Promise.reject(new UpstreamError('offline', 'https://hub.example:443: the tide is in'))
    const messages: string[] = []
    for (const options of [{ headers }, keys(world.nodePair), {}, { headers: { authorization: 'Bearer new-here' } }])
      messages.push(JSON.parse((await world.http1({ path: '/api/v1/pods', ...options })).body).message)
    expect(messages.map((message) => message.includes('hub.example'))).toEqual([true, true, false, false])
    expect(messages[2]).toBe(messages[3])
    expect(messages[3]).toContain('cannot be reached from this node')
  })

  it('a head that cannot be sent as a Status that says so', async () => {
    world.upstream.handle = () => answer(200, [['x-odd', '\u0100']], 'body')
    expect((await askHttp2(session, { ':path': '/x' })).headers[':status']).toBe(502)
    const { status, body } = await world.http1({ path: '/x' })
    expect([status, JSON.parse(body).reason]).toEqual([502, 'BadGateway'])
  })

  it('tells what it has done in numbers, and asks for filters where they may apply', async () => {
    await world.http1({ path: '/api/v1/services', headers: { 'user-agent': 'kube-proxy/v1.36' } })
    await world.http1({ path: '/version' })
    await world.http1({ path: '/api/v1/services', method: 'HEAD' })
    await world.http1({ path: '/apis/made.up/v1/things' })
    expect(asked.map(({ info, isNode, userAgent }) => [info.verb, isNode, userAgent])).toEqual([
      ['list', false, 'kube-proxy/v1.36'],
      ['list', false, ''],
    ])
    const numbers = () => world.registry.metrics()
    await expect.poll(numbers).toMatch(/requests_total\{verb="list",group="core",client="anonymous",code="2xx"\} \d/)
    await expect.poll(numbers).toMatch(/requests_total\{verb="list",group="other",client="anonymous",code="2xx"\} 1/)
    await expect.poll(numbers).toMatch(/bytes_total\{direction="down"\} \d/)
  })

  it('takes a new certificate without dropping connections', async () => {
    const before = world.serving
    world.serving = await issuePair(world.ca, nodeSubject(NODE), 'serverAuth')
    world.endpoint.certificateChanged()
    const socket = await world.raw()
    expect(socket.getPeerX509Certificate()?.fingerprint256).toBe(world.serving.chain[0].x509.fingerprint256)
    expect(world.serving.chain[0].fingerprint).not.toBe(before?.chain[0].fingerprint)
    socket.destroy()
    expect((await askHttp2(session, { ':path': '/still' })).body).toBe('/still')
  })
})
