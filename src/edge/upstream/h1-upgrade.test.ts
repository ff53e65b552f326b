import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Duplex, PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sourceOf, streamOf } from '../../../test/worlds/byte-sources.ts'
import { UpstreamWorld, upstreamRequest } from '../../../test/worlds/upstream-world.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import type { PooledUpstream } from './pooled-upstream.ts'
import { type UpgradeAnswer, type UpstreamAnswer, UpstreamError, type UpstreamRequest } from './upstream.ts'

let world: UpstreamWorld
let upstream: PooledUpstream

beforeEach(async () => {
  world = await UpstreamWorld.start()
  upstream = world.upstream()
})
afterEach(async () => {
  await world.stop()
})

const spdyHeaders = [
  ['connection', 'Upgrade'],
  ['upgrade', 'SPDY/3.1'],
  ['x-stream-protocol-version', 'v5.channel.k8s.io'],
  ['x-stream-protocol-version', 'v4.channel.k8s.io'],
] as const

function exec(request: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return upstreamRequest({ method: 'POST', target: '/exec?command=id', headers: spdyHeaders, ...request })
}

interface Asked {
  readonly request: IncomingMessage
  readonly socket: Duplex
}

/** The next upgrade, which waits for its answer. */
async function nextUpgrade(): Promise<Asked> {
  const [request, socket] = (await once(world.server, 'upgrade')) as [IncomingMessage, Duplex]
  socket.on('error', () => {})
  return { request, socket }
}

/** The next ordinary answer. */
async function nextRefusal(): Promise<{ request: IncomingMessage; response: ServerResponse }> {
  const [request, response] = (await once(world.server, 'request')) as [IncomingMessage, ServerResponse]
  return { request, response }
}

const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n'

async function upgraded(answer: Promise<UpstreamAnswer | UpgradeAnswer>): Promise<UpgradeAnswer> {
  const given = await answer
  if (!('stream' in given)) throw new Error(`no upgrade but ${given.status}`)
  return given
}

describe('an upgrade', () => {
  it('gives the raw bytes both ways, those right after the head too', async () => {
    const asked = nextUpgrade()
    const answer = upgraded(upstream.upgrade(exec()))
    const { request, socket } = await asked
    expect(request.method).toBe('POST')
    expect(request.url).toBe('/exec?command=id')
    expect(request.rawHeaders).toEqual([...['host', 'api.example', ...spdyHeaders.flat()], ...['Content-Length', '0']])
    socket.write(`${switching}first bytes`)
    const { status, headers, stream } = await answer
    expect(status).toBe(101)
    expect(headers).toEqual([
      ['connection', 'Upgrade'],
      ['upgrade', 'SPDY/3.1'],
    ])
    expect(String((await once(stream, 'data'))[0])).toBe('first bytes')
    stream.write('ping')
    expect(String((await once(socket, 'data'))[0])).toBe('ping')
    expect(upstream.status.upgrades).toBe(1)
    socket.end('bye')
    expect(String((await once(stream, 'data'))[0])).toBe('bye')
    // Each direction ends for itself, as it does between a client and its API server.
    stream.end('and you')
    expect(String((await once(socket, 'data'))[0])).toBe('and you')
    await expect.poll(() => upstream.status.upgrades).toBe(0)
  })

  it('says nothing of the body where there is none to a GET', async () => {
    const asked = nextUpgrade()
    const answer = upgraded(upstream.upgrade(exec({ method: 'GET' })))
    const { request, socket } = await asked
    expect(request.rawHeaders).toEqual(['host', 'api.example', ...spdyHeaders.flat()])
    socket.write(switching)
    ;(await answer).stream.destroy()
  })

  it('is made under the certificate of the node only for its own callers', async () => {
    const users: unknown[] = []
    for (const pool of ['node', 'token', 'open'] as const) {
      const asked = nextUpgrade()
      const answer = upgraded(upstream.upgrade(exec({ pool })))
      const { socket } = await asked
      users.push(world.sockets.at(-1)?.getPeerCertificate().subject?.CN)
      socket.write(switching)
      ;(await answer).stream.destroy()
    }
    expect(users).toEqual(['system:node:edge-1', undefined, undefined])
  })

  it('ends with the tunnel', async () => {
    const asked = nextUpgrade()
    const answer = upgraded(upstream.upgrade(exec()))
    ;(await asked).socket.write(switching)
    await answer
    world.streams[0]?.destroy(new OpenError('no-route', 'the link is gone'))
    await expect.poll(() => upstream.status.upgrades).toBe(0)
  })

  it('ends at the API server when the client goes', async () => {
    const asked = nextUpgrade()
    const gone = new AbortController()
    const answer = upgraded(upstream.upgrade(exec({ signal: gone.signal })))
    const { socket } = await asked
    socket.write(switching)
    await answer
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    gone.abort(new Error('gone'))
    await closed
  })
})

describe('a refused upgrade', () => {
  it('is an ordinary answer', async () => {
    const asked = nextRefusal()
    const answered = upstream.upgrade(exec())
    const { response } = await asked
    response.writeHead(403, ['Warning', '299 - "a"', 'Warning', '299 - "b"', 'Trailer', 'x-sum'])
    response.addTrailers({ 'x-sum': 'abc' })
    response.end('{"kind":"Status"}')
    const answer = (await answered) as UpstreamAnswer
    expect(answer.status).toBe(403)
    expect(answer.headers.filter(([name]) => name === 'warning')).toEqual([
      ['warning', '299 - "a"'],
      ['warning', '299 - "b"'],
    ])
    expect(await text(streamOf(answer.body))).toBe('{"kind":"Status"}')
    expect(answer.trailers()).toEqual([['x-sum', 'abc']])
    await expect.poll(() => upstream.status.upgrades).toBe(0)
  })

  it('fails where its answer is cut off', async () => {
    const asked = nextRefusal()
    const answered = upstream.upgrade(exec())
    const { response } = await asked
    response.writeHead(403, { 'content-length': '100' })
    response.write('half')
    const answer = (await answered) as UpstreamAnswer
    const failed = text(streamOf(answer.body))
    world.sockets[0]?.destroy()
    await expect(failed).rejects.toMatchObject({ name: 'UpstreamError', kind: 'broken' })
  })
})

describe('no upgrade', () => {
  it('comes of a connection that breaks before the answer', async () => {
    const asked = nextUpgrade()
    const answered = upstream.upgrade(exec())
    await asked
    world.streams[0]?.destroy(new OpenError('no-route', 'the link is gone'))
    await expect(answered).rejects.toMatchObject({
      name: 'UpstreamError',
      kind: 'broken',
      message: expect.stringContaining('the link is gone'),
    })
  })

  it('comes without a link', async () => {
    world.open = async () => Promise.reject(new OpenError('no-route', 'no session'))
    await expect(upstream.upgrade(exec())).rejects.toMatchObject({ kind: 'offline', message: 'no session' })
  })

  it('comes of a client that has gone', async () => {
    const asked = nextUpgrade()
    const gone = new AbortController()
    const answered = upstream.upgrade(exec({ signal: gone.signal }))
    await asked
    gone.abort(new Error('gone'))
    await expect(answered).rejects.toThrow('gone')
    await expect.poll(() => upstream.status.upgrades).toBe(0)
  })

  it('comes of a body that breaks off', async () => {
    const asked = nextUpgrade()
    const body = new PassThrough()
    const answered = upstream.upgrade(
      exec({ body: sourceOf(body), headers: [...spdyHeaders, ['content-length', '10']] }),
    )
    body.write('half')
    await asked
    body.destroy()
    await expect(answered).rejects.toThrow('body of the request')
  })

  it('comes beyond the limit', async () => {
    const one = world.upstream({ limits: { maxUpgrades: 1 } })
    const asked = nextUpgrade()
    const first = upgraded(one.upgrade(exec()))
    const refused = one.upgrade(exec())
    await expect(refused).rejects.toBeInstanceOf(UpstreamError)
    await expect(refused).rejects.toMatchObject({ kind: 'overloaded' })
    ;(await asked).socket.write(switching)
    ;(await first).stream.destroy()
  })
})
