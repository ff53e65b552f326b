import { once } from 'node:events'
import { constants } from 'node:http2'
import { Agent, request as httpsRequest } from 'node:https'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { REQUEST_STALL_MS } from '../../src/edge/endpoint/request-progress.ts'
import type { RequestBody } from '../../src/http/body/streamed-body.ts'
import { IDLE_CONNECTION_MS, MAX_REQUEST_HEADER_BYTES, MAX_UNANSWERED_PINGS } from '../../src/http/server/limits.ts'
import { certificatePem } from '../../src/identity/certificate.ts'
import { nodeSubject } from '../../src/identity/node-name.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { streamOf } from '../worlds/byte-sources.ts'
import {
  answer,
  askHttp2,
  type EndpointWorld,
  FakeUpstream,
  issuePair,
  keys,
  startEndpoint,
  text,
} from '../worlds/endpoint-world.ts'

describe('attacks on the endpoint', () => {
  let world: EndpointWorld

  beforeAll(async () => {
    world = await startEndpoint()
  })

  beforeEach(() => {
    world.upstream.requests.length = 0
    world.upstream.handle = new FakeUpstream().handle
  })

  afterAll(() => world.stop())

  /** Everything the server sends for these bytes, until it closes. */
  async function say(bytes: string): Promise<string> {
    const socket = await world.raw()
    socket.on('error', () => {})
    socket.write(bytes)
    let said = ''
    socket.on('data', (chunk) => {
      said += String(chunk)
    })
    // Unlike `once`, whatever error it closes with: who still sends when the connection is closed hears a reset.
    if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
    return said
  }

  const head = (line: string, ...headers: string[]): string =>
    [line, 'Host: kubernetes', 'Connection: close', ...headers, '', ''].join('\r\n')

  it.each(['https://evil.example/api/v1/secrets', 'http://127.0.0.1/api', '*', 'api/v1', '/api#frag', '/a\u0080'])(
    'a target that is no plain path: %s',
    async (target) => {
      const said = await say(head(`OPTIONS ${target} HTTP/1.1`))
      expect(said).toMatch(/^HTTP\/1.1 400 /)
      expect(world.upstream.requests).toEqual([])
    },
  )

  it.each([
    '//api/v1/secrets',
    '/api/v1/%2e%2e/secrets',
    '/api/../apis',
    '/api/v1/namespaces/a%2Fb/pods',
    '/?&watch=true',
  ])('a target that only an API server may judge: %s', async (target) => {
    expect(await say(head(`GET ${target} HTTP/1.1`))).toMatch(/^HTTP\/1.1 200 /)
    expect(world.upstream.last.target).toBe(target)
  })

  it('an authority of the attacker’s choice', async () => {
    const session = world.http2()
    await askHttp2(session, { ':path': '/x', ':authority': 'evil.example', host: 'evil.example' })
    expect(world.upstream.last.headers.filter(([name]) => name === 'host' || name.startsWith(':'))).toEqual([])
    const tunnel = session.request({ ':method': 'CONNECT', ':authority': 'evil.example:443' })
    tunnel.on('error', () => {})
    const [answered] = await once(tunnel, 'response')
    expect(answered[':status']).toBe(400)
    session.destroy()
    expect(await say('CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n')).toBe('')
    expect(world.upstream.requests).toHaveLength(1)
  })

  const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n'

  it.each([
    ['length and encoding', `Content-Length: 4\r\nTransfer-Encoding: chunked`, `0\r\n\r\n${smuggled}`],
    ['two lengths', 'Content-Length: 0\r\nContent-Length: 42', smuggled],
    ['a length that is none', 'Content-Length: +5', `hello${smuggled}`],
    ['an encoding that is none', 'Transfer-Encoding: xchunked', `0\r\n\r\n${smuggled}`],
    ['an encoding in disguise', 'Transfer-Encoding : chunked', `0\r\n\r\n${smuggled}`],
    ['a folded header', 'X-A: b\r\n Transfer-Encoding: chunked\r\nContent-Length: 0, 5', smuggled],
  ])('a request hidden in another by %s', async (_name, headers, rest) => {
    const said = await say(`POST /x HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${rest}`)
    expect(said).toMatch(/^HTTP\/1.1 400 /)
    expect(world.upstream.requests.map(({ target }) => target)).not.toContain('/smuggled')
  })

  it('a chunk whose size is a lie ends the request upstream too', async () => {
    const failed = new Promise((resolve) => {
      world.upstream.handle = async ({ body }) => {
        await text(streamOf(body)).catch(resolve)
        throw new Error('no body')
      }
    })
    await say('POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n')
    expect(await failed).toBeInstanceOf(Error)
  })

  it.each(['X-A: b\rX-Remote-User: admin', 'X-A: b\nX-Remote-User: admin', 'X-A: b\0c', 'X Remote-User: admin'])(
    'a header that would be two: %j',
    async (line) => {
      await say(head('GET /x HTTP/1.1', line))
      const sent = world.upstream.requests.flatMap(({ headers }) => headers)
      expect(sent.filter(([name, value]) => name.includes('remote') || /[\0\r\n]/.test(value))).toEqual([])
    },
  )

  it('two Authorization headers', async () => {
    const said = await say(head('GET /x HTTP/1.1', 'Authorization: Bearer a', 'Authorization: Bearer b'))
    expect(said).toMatch(/^HTTP\/1.1 400 /)
    expect(world.upstream.requests).toEqual([])
  })

  it('headers without end', async () => {
    const said = await say(head('GET /x HTTP/1.1', `X-A: ${'v'.repeat(2 * MAX_REQUEST_HEADER_BYTES)}`))
    expect(['', 'HTTP/1.1 431 Request Header Fields Too Large']).toContain(said.split('\r\n')[0])
    const session = world.http2()
    session.on('error', () => {})
    const stream = session.request({ ':path': '/x', 'x-a': 'v'.repeat(2 * MAX_REQUEST_HEADER_BYTES) })
    await expect(once(stream, 'response')).rejects.toThrow()
    session.destroy()
    expect(world.upstream.requests).toEqual([])
  })

  it('a large body of a caller who is refused anyway', async () => {
    const pair = await issuePair(world.ca, nodeSubject('edge-2'), 'clientAuth')
    // One that asked for the connection to be closed is read from for a moment only, and might hear a reset.
    const agent = new Agent({ keepAlive: true })
    const asked = { path: '/x', method: 'POST', agent, ...keys(pair) }
    expect((await world.http1(asked, 'x'.repeat(1024 * 1024))).status).toBe(401)
    agent.destroy()
    expect(world.upstream.requests).toEqual([])
  })

  it('a connection for each request, as the JavaScript client has it', async () => {
    for (let round = 0; round < 20; round += 1) {
      const asked = Array.from({ length: 10 }, () =>
        world.http1({ path: '/x', headers: { connection: 'close', authorization: 'Bearer js' } }),
      )
      for (const { status, headers } of await Promise.all(asked))
        expect([status, headers.connection]).toEqual([200, 'close'])
    }
    await expect.poll(() => world.endpoint.status.connections).toBe(0)
  })
})

describe('streams that are reset as fast as they are opened', () => {
  it('cost others nothing, and take their session with them', async () => {
    const clock = new ManualClock()
    const world = await startEndpoint({ clock })
    const [pod, attacker] = [world.http2(), world.http2()]
    attacker.on('error', () => {})
    await askHttp2(pod, { ':path': '/x', authorization: 'Bearer good' })
    world.upstream.handle = (request) =>
      request.target === '/x'
        ? answer(200, [], 'fine')
        : new Promise((_, reject) => request.signal.addEventListener('abort', () => reject(request.signal.reason)))
    // One that stays, and must go with its session.
    attacker.request({ ':path': '/api/v1/pods?watch=1' }).on('error', () => {})
    for (let count = 0; count < 2_000 && !attacker.destroyed && !attacker.closed; count += 1) {
      const stream = attacker.request({ ':path': '/slow' })
      stream.on('error', () => {})
      stream.close(constants.NGHTTP2_CANCEL)
      if (count % 100 > 0) continue
      const asked = await askHttp2(pod, { ':path': '/x', authorization: 'Bearer good' })
      expect(asked.headers[':status']).toBe(200)
    }
    await expect.poll(() => attacker.destroyed).toBe(true)
    // Where Node has gone deaf on the session, the pings of the pod are answered and those of the attacker are not.
    for (let ping = 0; ping <= MAX_UNANSWERED_PINGS + 1; ping += 1) await clock.advance(IDLE_CONNECTION_MS)
    await expect.poll(() => world.endpoint.status.requests).toEqual({ short: 0, long: 0, upgrade: 0 })
    await expect.poll(() => world.endpoint.status.connections).toBe(0)
    pod.destroy()
    await world.stop()
  })
})

describe('bodies that stop', () => {
  it('are given up after a while without a byte, and never while they move', async () => {
    const clock = new ManualClock()
    const world = await startEndpoint({ clock })
    world.upstream.handle = async ({ body }) => answer(200, [], await text(streamOf(body)))
    const session = world.http2()
    const two = session.request({ ':path': '/x', ':method': 'POST' })
    const answered = once(two, 'response')
    const one = httpsRequest({
      host: '127.0.0.1',
      port: world.port(),
      ca: certificatePem(world.ca.certificate),
      path: '/x',
      method: 'POST',
    })
    one.on('error', () => {})
    one.flushHeaders()
    const answeredOne = once(one, 'response')
    await expect.poll(() => world.upstream.requests.length).toBe(2)
    for (let minute = 1; minute < 5; minute += 1) {
      two.write('more')
      one.write('more')
      const received = world.upstream.requests.map(({ body }) => body as RequestBody)
      await expect.poll(() => received.every(({ receivedBytes }) => receivedBytes === 4 * minute)).toBe(true)
      await clock.advance(REQUEST_STALL_MS)
    }
    expect(world.endpoint.status.requests.short).toBe(2)
    await clock.advance(REQUEST_STALL_MS)
    expect((await answered)[0][':status']).toBe(408)
    const [response] = await answeredOne
    expect([response.statusCode, response.headers.connection]).toEqual([408, 'close'])
    expect(JSON.parse(await text(response))).toMatchObject({ kind: 'Status', code: 408 })
    session.destroy()
    await world.stop()
  })
})
