import { once } from 'node:events'
import { Agent } from 'node:https'
import { type AddressInfo, createServer, Socket } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { LISTEN_RETRY_MS } from '../../../src/edge/endpoint/endpoint.ts'
import type { AnswerHead, FilteredBody, FilterPlan } from '../../../src/edge/filters/filter-plan.ts'
import { UpstreamError } from '../../../src/edge/upstream/upstream.ts'
import { TCP_KEEPALIVE_MS } from '../../../src/http/server/limits.ts'
import { tooManyRequests } from '../../../src/kube/status/availability-errors.ts'
import { ManualClock, systemClock } from '../../../src/runtime/clock.ts'
import { sourceOf, streamOf } from '../../worlds/byte-sources.ts'
import { answer, askHttp2, type EndpointWorld, startEndpoint, text } from '../../worlds/endpoint-world.ts'

const json = [['content-type', 'application/json']] as const

describe('the endpoint with filters', () => {
  const heads: AnswerHead[] = []
  let run: (body: Readable) => Promise<FilteredBody>
  let world: EndpointWorld

  beforeAll(async () => {
    const plan: FilterPlan = {
      names: ['test'],
      begin: (head) => {
        heads.push(head)
        return head.status === 200 ? { run: (body) => run(streamOf(body)) } : undefined
      },
    }
    world = await startEndpoint({
      filters: {
        choose: async (request) => {
          const user = await request.identify()
          return request.isNode || user === 'jane' ? plan : undefined
        },
      },
    })
    world.upstream.handle = ({ method, target }) => {
      if (target.endsWith('/tokenreviews'))
        return answer(201, json, '{"status":{"authenticated":true,"user":{"username":"jane"}}}')
      if (target === '/api/v1/pods/x') return answer(404, json, 'no')
      return answer(200, [...json, ['content-length', '4'], ['etag', 'e']], method === 'GET' ? 'seen' : '')
    }
  })

  beforeEach(() => {
    heads.length = 0
    world.upstream.requests.length = 0
  })

  afterAll(() => world.stop())

  const ask = async (path: string) =>
    await world.http1({ path, headers: { authorization: 'Bearer t', 'accept-encoding': 'gzip' } })

  it('asks for a plain answer and sends what the filter makes of it', async () => {
    run = async (body) => ({
      status: 200,
      contentEncoding: 'gzip',
      contentLength: undefined,
      body: sourceOf(Readable.from([Buffer.from(`${await text(body)}, changed`)])),
    })
    const filtered = await ask('/api/v1/services')
    expect(filtered.body).toBe('seen, changed')
    expect(filtered.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding', etag: 'e' })
    expect(filtered.headers['content-length']).toBeUndefined()
    expect(world.upstream.last.headers.filter(([name]) => name === 'accept-encoding')).toEqual([
      ['accept-encoding', 'identity'],
    ])
    expect(heads).toEqual([
      { status: 200, contentType: 'application/json', contentEncoding: '', acceptEncoding: 'gzip' },
    ])
    expect(world.upstream.requests.map(({ pool }) => pool)).toEqual(['node', 'open'])
  })

  it('passes on what the filter leaves alone, and answers for one that gives up', async () => {
    expect(await ask('/api/v1/pods/x')).toMatchObject({ status: 404, body: 'no' })
    run = () => Promise.reject(tooManyRequests('memory is short', 1))
    expect(await ask('/api/v1/services')).toMatchObject({ status: 429, headers: { 'retry-after': '1' } })
    run = () => Promise.reject(new UpstreamError('broken', 'cut off'))
    expect(await ask('/api/v1/services')).toMatchObject({ status: 502 })
  })
})

describe('an endpoint without a certificate', () => {
  it('keeps its port closed, says so, and opens when there is one', async () => {
    let pair: EndpointWorld['serving']
    const world = await startEndpoint({ certificate: () => pair })
    expect(world.endpoint.health()).toMatchObject({
      ok: false,
      reason: expect.stringContaining('no serving certificate'),
    })
    expect(world.port()).toBe(0)
    pair = world.serving
    world.endpoint.certificateChanged()
    await expect.poll(() => world.endpoint.health()).toEqual({ ok: true })
    expect((await world.http1({ path: '/x' })).body).toBe('/x')
    await world.stop()
  })

  it('waits for requests when it stops, ends watches between two events, and cuts what would look complete', async () => {
    const world = await startEndpoint()
    const held: (() => void)[] = []
    const bodies: PassThrough[] = []
    world.upstream.handle = ({ target }) => {
      if (target === '/slow') return new Promise((resolve) => held.push(() => resolve(answer(200, json, 'done'))))
      const body = new PassThrough()
      body.write(target.includes('half') ? '{"type":"ADDED"}\n{"type":' : '{"type":"ADDED"}\n')
      bodies.push(body)
      return answer(200, json, body)
    }
    const session = world.http2()
    const half = expect(text(session.request({ ':path': '/api/v1/namespaces/half/pods?watch=1' }))).rejects.toThrow()
    const watch = text(session.request({ ':path': '/api/v1/pods?watch=1' }))
    const byHttp1 = world.http1({ path: '/api/v1/pods?watch=1', agent: new Agent({ keepAlive: true }) })
    const log = session.request({ ':path': '/api/v1/namespaces/n/pods/p/log?follow=1' })
    const cut = expect(text(log)).rejects.toThrow('NGHTTP2_INTERNAL_ERROR')
    const slow = askHttp2(session, { ':path': '/slow' })
    await expect.poll(() => [held.length, world.endpoint.status.requests.long]).toEqual([1, 4])
    // What was said has been passed on.
    await expect.poll(() => bodies.map(({ readableLength }) => readableLength)).toEqual([0, 0, 0, 0])
    const stopped = world.drain()
    expect(await watch).toBe('{"type":"ADDED"}\n')
    expect((await byHttp1).body).toBe('{"type":"ADDED"}\n')
    await Promise.all([cut, half])
    held[0]?.()
    expect((await slow).body).toBe('done')
    await stopped
  })

  it('refuses to start where another process listens, and waits for an address that is not there yet', async () => {
    const first = await startEndpoint()
    await expect(startEndpoint({ port: first.port() })).rejects.toThrow('another process already listens there')
    const other = await startEndpoint({ addresses: ['127.0.0.1', '203.0.113.7'] })
    expect(other.endpoint.health()).toMatchObject({ ok: false, reason: expect.stringContaining('203.0.113.7') })
    expect((await other.http1({ path: '/x' })).status).toBe(200)
    await Promise.all([first.stop(), other.stop()])
  })

  it('serves an address as soon as it can be had', async () => {
    // An address that no other test uses: nobody takes the port in between.
    const host = '127.0.0.77'
    const taken = createServer().listen(0, host)
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const clock = new ManualClock(systemClock.nowMs())
    let pair: EndpointWorld['serving']
    const world = await startEndpoint({ addresses: [host], port, clock, certificate: () => pair })
    pair = world.serving
    world.endpoint.certificateChanged()
    await expect.poll(() => world.endpoint.status.addresses[0]?.problem).toContain(host)
    taken.close()
    await once(taken, 'close')
    await clock.advance(LISTEN_RETRY_MS)
    await expect.poll(() => world.endpoint.health()).toEqual({ ok: true })
    expect(world.endpoint.status.addresses).toEqual([{ host, port, isOpen: true, problem: undefined }])
    await world.stop()
  })

  it('is well without an address that others may add, and says that it is missing', async () => {
    const addresses = ['203.0.113.7', '127.0.0.1']
    const world = await startEndpoint({ addresses, mayBeMissing: ['203.0.113.7'] })
    expect(world.endpoint.health()).toEqual({ ok: true })
    expect(world.endpoint.status.addresses.map(({ isOpen, problem }) => [isOpen, problem])).toEqual([
      [false, expect.stringContaining('does not have that address')],
      [true, undefined],
    ])
    await world.stop()
    const taken = createServer().listen(0, '127.0.0.2')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const excused = { addresses: ['127.0.0.2', '127.0.0.1'], mayBeMissing: ['127.0.0.2'], port }
    await expect(startEndpoint(excused)).rejects.toThrow('another process already listens there')
    taken.close()
  })
})

describe('connections of the endpoint', () => {
  it('are probed while they are silent', async () => {
    const keepAlive = vi.spyOn(Socket.prototype, 'setKeepAlive')
    const world = await startEndpoint()
    await world.http1({ path: '/x' })
    expect(keepAlive).toHaveBeenCalledWith(true, TCP_KEEPALIVE_MS)
    keepAlive.mockRestore()
    await world.stop()
  })
})
