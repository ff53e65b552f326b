import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { constants, type ServerHttp2Stream } from 'node:http2'
import { Duplex, PassThrough, Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sourceOf, streamOf } from '../../../test/worlds/byte-sources.ts'
import { makeCa } from '../../../test/worlds/edge-hub.ts'
import { issuePair, type UpstreamCall, UpstreamWorld, upstreamRequest } from '../../../test/worlds/upstream-world.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import { UPSTREAM_CONNECT_TIMEOUT_MS } from './api-server-connection.ts'
import { UPSTREAM_DEAD_AFTER_MS, UPSTREAM_PING_INTERVAL_MS } from './h2-connection.ts'
import { FAILED_OPEN_PAUSE_MS, POOL_REVIEW_MS } from './h2-pool.ts'
import { IDLE_UPSTREAM_MS } from './pool-core.ts'
import { type UpstreamAnswer, UpstreamError } from './upstream.ts'
import { IMPOSTOR_RETRY_SECONDS } from './upstream-error.ts'
import { MAX_STREAM_WAIT_MS } from './waiting-requests.ts'

let world: UpstreamWorld

beforeEach(async () => {
  world = await UpstreamWorld.start()
})
afterEach(async () => {
  await world.stop()
})

async function errorOf(work: Promise<unknown>): Promise<UpstreamError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(UpstreamError)
  return error as UpstreamError
}

/** The next `count` requests, which wait for their answers. */
function calls(count: number): Promise<UpstreamCall[]> {
  const taken: UpstreamCall[] = []
  return new Promise((resolve) => {
    world.handle = (call) => {
      taken.push(call)
      if (taken.length === count) resolve(taken)
    }
  })
}

async function nextCall(): Promise<UpstreamCall> {
  return (await calls(1))[0] as UpstreamCall
}

async function whole(answer: Promise<UpstreamAnswer>): Promise<string> {
  return await text(streamOf((await answer).body))
}

function answerOk(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200 })
  stream.end('ok')
}

describe('what passes', () => {
  it('method, target and headers, each value for itself, and the headers of the answer in their order', async () => {
    const call = nextCall()
    const answered = world.upstream().request(
      upstreamRequest({
        method: 'DELETE',
        target: '/api/v1/nodes/%C3%A4?a=b&&c',
        headers: [
          ['accept', 'application/json'],
          ['impersonate-group', 'one'],
          ['impersonate-group', 'two'],
          ['x-latin', 'gr\u00fcn'],
          ['__proto__', 'just a name'],
        ],
      }),
    )
    const { raw, stream } = await call
    expect(raw).toEqual([
      ...[':method', 'DELETE', ':scheme', 'https', ':authority', 'api.example', ':path', '/api/v1/nodes/%C3%A4?a=b&&c'],
      ...['accept', 'application/json', 'impersonate-group', 'one', 'impersonate-group', 'two'],
      ...['x-latin', 'gr\u00fcn', '__proto__', 'just a name'],
    ])
    const warnings = ['299 - "a, b"', '299 - "c"'] as unknown as string
    stream.respond({ ':status': 409, warning: warnings, 'set-cookie': ['x=1', 'y=2'], etag: '"e"' })
    stream.end('conflict')
    const { status, headers, body } = await answered
    expect(status).toBe(409)
    expect(headers.filter(([name]) => name !== 'date')).toEqual([
      ['warning', '299 - "a, b"'],
      ['warning', '299 - "c"'],
      ['set-cookie', 'x=1'],
      ['set-cookie', 'y=2'],
      ['etag', '"e"'],
    ])
    expect(await text(streamOf(body))).toBe('conflict')
  })

  it('every value of a header that stands several times', async () => {
    const call = nextCall()
    const headers = [
      ['impersonate-group', 'a'],
      ['impersonate-group', 'b'],
    ] as const
    const answered = world.upstream().request(upstreamRequest({ headers }))
    const { raw, stream } = await call
    expect(raw.filter((_, index) => raw[index - 1] === 'impersonate-group')).toEqual(['a', 'b'])
    answerOk(stream)
    await whole(answered)
  })

  it.each([
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ])('%s with %i, which have no body', async (method, status) => {
    world.handle = ({ stream }) => stream.respond({ ':status': status, etag: '"e"' }, { endStream: true })
    const answer = await world.upstream().request(upstreamRequest({ method }))
    expect(answer.status).toBe(status)
    expect(await text(streamOf(answer.body))).toBe('')
  })

  it('an answer after informational ones', async () => {
    world.handle = ({ stream }) => {
      stream.additionalHeaders({ ':status': 103, link: '</x>' })
      answerOk(stream)
    }
    const answer = await world.upstream().request(upstreamRequest())
    expect(answer.status).toBe(200)
    expect(await text(streamOf(answer.body))).toBe('ok')
  })

  it('trailers of both sides', async () => {
    world.handle = ({ stream }) => {
      stream.once('trailers', (headers) => {
        stream.respond({ ':status': 200 }, { waitForTrailers: true })
        stream.once('wantTrailers', () => stream.sendTrailers({ 'x-heard': headers['x-said'] }))
        stream.end('ok')
      })
      stream.resume()
    }
    const trailers = () => [['x-said', 'something']] as const
    const answer = await world
      .upstream()
      .request(upstreamRequest({ method: 'POST', body: sourceOf(Readable.from([Buffer.from('body')])), trailers }))
    expect(await text(streamOf(answer.body))).toBe('ok')
    expect(answer.trailers()).toEqual([['x-heard', 'something']])
  })

  it('large bodies both ways, byte for byte', async () => {
    world.handle = ({ stream }) => {
      stream.respond({ ':status': 200 })
      stream.pipe(stream)
    }
    const chunk = Buffer.alloc(64 * 1024, 'abcdefghijk')
    const sent = createHash('sha256')
    function* chunks() {
      for (let index = 0; index < 256; index++) {
        const piece = Buffer.concat([Buffer.from(String(index)), chunk])
        sent.update(piece)
        yield piece
      }
    }
    const answer = await world
      .upstream()
      .request(upstreamRequest({ method: 'POST', body: sourceOf(Readable.from(chunks())) }))
    const received = createHash('sha256').update(await buffer(streamOf(answer.body)))
    expect(received.digest('hex')).toBe(sent.digest('hex'))
  })
})

describe('back-pressure', () => {
  it('stops an answer that nobody reads', async () => {
    let sentBytes = 0
    world.handle = ({ stream, headers }) => {
      if (headers[':path'] !== '/endless') return answerOk(stream)
      stream.respond({ ':status': 200 })
      const piece = Buffer.alloc(64 * 1024)
      const write = (): void => {
        stream.write(piece, (error) => {
          if (error) return
          sentBytes += piece.length
          write()
        })
      }
      write()
    }
    const upstream = world.upstream()
    const endless = await upstream.request(upstreamRequest({ target: '/endless' }))
    let before = -1
    // Every further answer has come after whatever was sent before it.
    while (sentBytes !== before) {
      before = sentBytes
      for (let round = 0; round < 20; round++) await whole(upstream.request(upstreamRequest()))
    }
    expect(sentBytes).toBeLessThan(4 * 1024 * 1024)
    endless.body.cancel()
  })

  it('stops a request that the API server does not read', async () => {
    const call = nextCall()
    let readBytes = 0
    const body = new Readable({
      highWaterMark: 0,
      read() {
        readBytes += 64 * 1024
        this.push(Buffer.alloc(64 * 1024))
      },
    })
    const gone = new AbortController()
    const upstream = world.upstream()
    const answered = upstream.request(upstreamRequest({ method: 'POST', body: sourceOf(body), signal: gone.signal }))
    await call
    world.handle = ({ stream }) => answerOk(stream)
    for (let round = 0; round < 20; round++) await whole(upstream.request(upstreamRequest()))
    expect(readBytes).toBeLessThan(1024 * 1024)
    gone.abort(new Error('enough'))
    await expect(answered).rejects.toThrow('enough')
  })
})

describe('a client that goes', () => {
  it('resets the stream at once, before the head of the answer', async () => {
    const call = nextCall()
    const gone = new AbortController()
    const answered = world.upstream().request(upstreamRequest({ signal: gone.signal }))
    const { stream } = await call
    const closed = once(stream, 'close')
    gone.abort(new Error('the client has gone'))
    await expect(answered).rejects.toThrow('the client has gone')
    await closed
    expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL)
  })

  it('resets the stream of a watch, whose body then fails', async () => {
    const call = nextCall()
    const gone = new AbortController()
    const upstream = world.upstream()
    const answered = upstream.request(upstreamRequest({ signal: gone.signal }))
    const { stream } = await call
    const closed = once(stream, 'close')
    stream.respond({ ':status': 200 })
    const { body } = await answered
    gone.abort(new Error('the client has gone'))
    await closed
    expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL)
    expect((await errorOf(text(streamOf(body)))).kind).toBe('broken')
    expect(upstream.status.pools[1]).toMatchObject({ pool: 'token', connections: 1, streams: 0 })
  })

  it('resets the stream where its body is destroyed by who reads it', async () => {
    const call = nextCall()
    const answered = world.upstream().request(upstreamRequest())
    const { stream } = await call
    const closed = once(stream, 'close')
    stream.respond({ ':status': 200 })
    ;(await answered).body.cancel()
    await closed
    expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL)
  })

  it('never lets a body look complete that broke off', async () => {
    const call = nextCall()
    const body = new PassThrough()
    const answered = world.upstream().request(upstreamRequest({ method: 'POST', body: sourceOf(body) }))
    body.write('half')
    const { stream } = await call
    const received: string[] = []
    stream.on('data', (chunk: Buffer) => received.push(chunk.toString()))
    stream.on('end', () => received.push('the end'))
    stream.on('error', () => {})
    const closed = new Promise((resolve) => stream.once('close', resolve))
    await once(stream, 'data')
    body.destroy()
    expect((await errorOf(answered)).message).toContain('body of the request')
    await closed
    expect({ received, code: stream.rstCode }).toEqual({ received: ['half'], code: constants.NGHTTP2_INTERNAL_ERROR })
  })

  it('gets an answer whole that came before all of its body was read', async () => {
    const call = nextCall()
    const body = new PassThrough()
    const answered = world.upstream().request(upstreamRequest({ method: 'POST', body: sourceOf(body) }))
    body.write('some')
    const { stream } = await call
    stream.respond({ ':status': 413 })
    // More than is held here while nobody reads it.
    stream.end(Buffer.alloc(100_000))
    stream.once('finish', () => stream.close(constants.NGHTTP2_NO_ERROR))
    const answer = await answered
    body.write('more')
    await once(stream, 'close')
    body.write('still more')
    expect(await buffer(streamOf(answer.body))).toHaveLength(100_000)
  })

  it('is not sent at all where it went before', async () => {
    const upstream = world.upstream()
    const signal = AbortSignal.abort(new Error('gone before'))
    await expect(upstream.request(upstreamRequest({ signal }))).rejects.toThrow('gone before')
    await whole(upstream.request(upstreamRequest()))
    await expect(upstream.request(upstreamRequest({ signal }))).rejects.toThrow('gone before')
    expect(upstream.status.pools[1]).toMatchObject({ streams: 0, waiting: 0 })
  })
})

describe('an answer that is cut off', () => {
  it('never ends in good order when the connection breaks', async () => {
    const call = nextCall()
    const answered = world.upstream().request(upstreamRequest())
    const { stream } = await call
    stream.respond({ ':status': 200 })
    stream.write('half')
    const body = streamOf((await answered).body)
    let ended = false
    body.once('end', () => {
      ended = true
    })
    const [half] = (await once(body, 'data')) as [Buffer]
    expect(half.toString()).toBe('half')
    world.streams[0]?.destroy(new OpenError('no-route', 'the link is gone'))
    const [error] = (await once(body, 'error')) as [UpstreamError]
    expect(error).toMatchObject({ kind: 'broken', message: expect.stringContaining('the link is gone') })
    expect(ended).toBe(false)
  })

  it('never ends in good order when the connection ends without a word', async () => {
    const call = nextCall()
    const answered = world.upstream().request(upstreamRequest())
    const { stream } = await call
    stream.respond({ ':status': 200 })
    stream.write('half')
    const { body } = await answered
    const failed = errorOf(text(streamOf(body)))
    world.streams[0]?.push(null)
    expect((await failed).kind).toBe('broken')
  })

  it('fails when the API server resets the stream', async () => {
    const call = nextCall()
    const answered = world.upstream().request(upstreamRequest())
    const { stream } = await call
    stream.respond({ ':status': 200 })
    stream.write('half')
    const { body } = await answered
    const failed = errorOf(text(streamOf(body)))
    stream.destroy(new Error('becomes INTERNAL_ERROR'))
    expect(await failed).toMatchObject({ kind: 'broken', message: expect.stringContaining('INTERNAL_ERROR') })
  })

  it('fails when no ping is answered any more', async () => {
    const upstream = world.upstream()
    const call = nextCall()
    const answered = upstream.request(upstreamRequest())
    const { stream } = await call
    stream.respond({ ':status': 200 })
    const failed = errorOf(text(streamOf((await answered).body)))
    const [near] = world.streams
    if (near !== undefined) near.isFrozen = true
    await world.clock.advance(UPSTREAM_DEAD_AFTER_MS + UPSTREAM_PING_INTERVAL_MS)
    expect(await failed).toMatchObject({ kind: 'broken', message: expect.stringContaining('ping') })
    expect(upstream.status.pools[1]).toMatchObject({ connections: 0, streams: 0 })
  })
})

describe('GOAWAY', () => {
  it('lets running streams end and sends new requests elsewhere', async () => {
    const upstream = world.upstream()
    const call = nextCall()
    const watching = upstream.request(upstreamRequest())
    const { stream, session } = await call
    stream.respond({ ':status': 200 })
    const watch = await watching
    const leaving = once(session, 'close')
    session.goaway(constants.NGHTTP2_NO_ERROR)
    const sessionsUsed = new Set<unknown>()
    world.handle = (other) => {
      sessionsUsed.add(other.session)
      answerOk(other.stream)
    }
    while (world.sessions.length < 2) await whole(upstream.request(upstreamRequest()))
    expect(await whole(upstream.request(upstreamRequest()))).toBe('ok')
    expect(sessionsUsed.has(world.sessions[1])).toBe(true)
    stream.end('the rest')
    expect(await text(streamOf(watch.body))).toBe('the rest')
    await leaving
    expect(upstream.status.pools[1]?.connections).toBe(1)
  })

  it('sends again what the API server has not taken, whatever its method', async () => {
    const upstream = world.upstream()
    await whole(upstream.request(upstreamRequest()))
    let refused = 0
    world.handle = ({ stream, session }) => {
      if (session !== world.sessions[0]) return answerOk(stream)
      refused += 1
      session.goaway(constants.NGHTTP2_NO_ERROR, 1)
    }
    expect(await whole(upstream.request(upstreamRequest({ method: 'DELETE' })))).toBe('ok')
    expect(refused).toBe(1)
  })
})

describe('sending again', () => {
  it('is done for a refused stream, once', async () => {
    const upstream = world.upstream()
    let count = 0
    world.handle = ({ stream }) => {
      count += 1
      stream.close(constants.NGHTTP2_REFUSED_STREAM)
    }
    expect((await errorOf(upstream.request(upstreamRequest({ method: 'POST' })))).kind).toBe('broken')
    expect(count).toBe(2)
  })

  it('is not done for a body that has been touched', async () => {
    let count = 0
    world.handle = ({ stream }) => {
      count += 1
      stream.once('data', () => stream.close(constants.NGHTTP2_REFUSED_STREAM))
    }
    const body = Readable.from([Buffer.from('body')])
    expect(
      (await errorOf(world.upstream().request(upstreamRequest({ method: 'POST', body: sourceOf(body) })))).kind,
    ).toBe('broken')
    expect(count).toBe(1)
  })

  it.each([
    ['GET', 2],
    ['DELETE', 1],
    ['POST', 1],
  ])('after a lost connection: %s is sent %i times', async (method, times) => {
    let count = 0
    world.handle = () => {
      count += 1
      world.sockets.at(-1)?.destroy()
    }
    expect((await errorOf(world.upstream().request(upstreamRequest({ method })))).kind).toBe('broken')
    expect(count).toBe(times)
  })
})

describe('pools', () => {
  it('never share a connection, and only one presents the certificate', async () => {
    const upstream = world.upstream()
    const seen: [string, string | undefined, number][] = []
    world.handle = ({ stream, headers, user, session }) => {
      seen.push([String(headers[':path']), user, world.sessions.indexOf(session)])
      answerOk(stream)
    }
    for (const round of [1, 2])
      for (const pool of ['node', 'token', 'open'] as const)
        await whole(upstream.request(upstreamRequest({ pool, target: `/${pool}/${round}` })))
    expect(seen).toEqual([
      ['/node/1', 'system:node:edge-1', 0],
      ['/token/1', undefined, 1],
      ['/open/1', undefined, 2],
      ['/node/2', 'system:node:edge-1', 0],
      ['/token/2', undefined, 1],
      ['/open/2', undefined, 2],
    ])
  })

  it('open another connection for 101 requests, and never give one more than the API server takes', async () => {
    const upstream = world.upstream()
    await whole(upstream.request(upstreamRequest()))
    const taken = calls(101)
    const answers = Array.from({ length: 101 }, () => whole(upstream.request(upstreamRequest())))
    const all = await taken
    expect(new Set(all.map(({ session }) => session)).size).toBe(2)
    for (const { stream } of all) answerOk(stream)
    await Promise.all(answers)
  })

  it('keep to a small number of streams that the API server names', async () => {
    const small = await UpstreamWorld.start(3)
    const upstream = small.upstream()
    await whole(upstream.request(upstreamRequest()))
    const running = new Map<unknown, number>()
    let most = 0
    small.handle = ({ stream, session }) => {
      running.set(session, (running.get(session) ?? 0) + 1)
      most = Math.max(most, ...running.values())
      stream.once('close', () => running.set(session, (running.get(session) ?? 0) - 1))
      setImmediate(answerOk, stream)
    }
    await Promise.all(Array.from({ length: 40 }, () => whole(upstream.request(upstreamRequest()))))
    expect(most).toBeLessThanOrEqual(3)
    await small.stop()
  })

  it('end connections that are idle', async () => {
    const upstream = world.upstream()
    await whole(upstream.request(upstreamRequest()))
    const gone = once(world.streams[0] as Readable, 'close')
    for (let elapsedMs = 0; elapsedMs < IDLE_UPSTREAM_MS + POOL_REVIEW_MS; elapsedMs += POOL_REVIEW_MS)
      await world.clock.advance(POOL_REVIEW_MS)
    await gone
    expect(upstream.status.pools[1]).toMatchObject({ connections: 0 })
    expect(await whole(upstream.request(upstreamRequest()))).toBe('ok')
  })

  it('leave a way that is to end, while what they carry there goes on, and close what carries nothing', async () => {
    const leaving = new Set<Duplex>()
    const upstream = world.upstream({ isLeaving: (carrier) => leaving.has(carrier) })
    const call = nextCall()
    const watching = upstream.request(upstreamRequest({ pool: 'node' }))
    const { stream } = await call
    stream.respond({ ':status': 200 })
    const watch = await watching
    world.handle = (other) => answerOk(other.stream)
    await whole(upstream.request(upstreamRequest()))
    const [first, idle] = world.streams as Duplex[] as [Duplex, Duplex]
    leaving.add(first).add(idle)
    const idleGone = once(idle, 'close')
    upstream.waysChanged()
    await idleGone
    await whole(upstream.request(upstreamRequest({ pool: 'node' })))
    expect(upstream.status.pools[0]).toMatchObject({ connections: 2, streams: 1 })
    const gone = once(first, 'close')
    stream.end('the end')
    expect(await text(streamOf(watch.body))).toBe('the end')
    await gone
    expect(upstream.status.pools[0]).toMatchObject({ connections: 1, streams: 0 })
  })

  it('take new connections for a new pair, while old ones let their streams end', async () => {
    const upstream = world.upstream()
    const call = nextCall()
    const watching = upstream.request(upstreamRequest({ pool: 'node' }))
    const { stream } = await call
    stream.respond({ ':status': 200 })
    const watch = await watching
    world.nodePair = await issuePair(world.clock, world.ca, 'system:node:edge-1-renewed')
    const users: (string | undefined)[] = []
    world.handle = (other) => {
      users.push(other.user)
      answerOk(other.stream)
    }
    await whole(upstream.request(upstreamRequest({ pool: 'node' })))
    expect(users).toEqual(['system:node:edge-1-renewed'])
    expect(upstream.status.pools[0]).toMatchObject({ connections: 2, streams: 1 })
    const gone = once(world.streams[0] as Readable, 'close')
    stream.end('the rest')
    expect(await text(streamOf(watch.body))).toBe('the rest')
    await gone
    expect(upstream.status.pools[0]).toMatchObject({ connections: 1, streams: 0 })
  })

  it('say so where the node has no certificate yet', async () => {
    world.nodePair = undefined
    const upstream = world.upstream()
    const error = await errorOf(upstream.request(upstreamRequest({ pool: 'node' })))
    expect(error).toMatchObject({ kind: 'unreachable', message: expect.stringContaining('no Kubernetes client') })
    expect(world.streams).toHaveLength(0)
  })

  it('refuse more than may wait, and those who waited too long', async () => {
    const upstream = world.upstream({ limits: { maxConnections: 1, maxStreams: 1, maxWaiting: 1 } })
    const call = nextCall()
    const running = upstream.request(upstreamRequest())
    const { stream } = await call
    const waiting = upstream.request(upstreamRequest())
    const refused = await errorOf(upstream.request(upstreamRequest()))
    expect(refused).toMatchObject({ kind: 'overloaded', message: expect.stringContaining('1 requests already wait') })
    const tooLong = errorOf(waiting)
    await world.clock.advance(MAX_STREAM_WAIT_MS)
    expect(await tooLong).toMatchObject({ kind: 'overloaded', message: expect.stringContaining('within 20 s') })
    const next = upstream.request(upstreamRequest())
    world.handle = (other) => answerOk(other.stream)
    answerOk(stream)
    expect(await whole(running)).toBe('ok')
    expect(await whole(next)).toBe('ok')
  })

  it('forget a request whose client goes while it waits', async () => {
    world.open = () => new Promise(() => {})
    const upstream = world.upstream()
    const gone = new AbortController()
    const waiting = upstream.request(upstreamRequest({ signal: gone.signal }))
    gone.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    expect(upstream.status.pools[1]).toMatchObject({ waiting: 0 })
  })
})

describe('no connection', () => {
  it('is told at once without a link, with the reason, and the next request tries anew', async () => {
    world.open = async () => Promise.reject(new OpenError('no-route', 'hub a has no session since noon: refused'))
    const upstream = world.upstream()
    const error = await errorOf(upstream.request(upstreamRequest()))
    expect(error).toMatchObject({ kind: 'offline', message: 'hub a has no session since noon: refused' })
    expect(error.retryAfterSeconds).toBeGreaterThan(0)
    expect(upstream.status.pools[1]?.lastError).toBe(error.message)
    world.open = async () => world.join()
    expect(await whole(upstream.request(upstreamRequest()))).toBe('ok')
    expect(upstream.status.pools[1]?.lastError).toBeUndefined()
  })

  it.each([
    ['refused', 'unreachable'],
    ['denied', 'unreachable'],
    ['timeout', 'timeout'],
    ['overloaded', 'overloaded'],
    ['no-route', 'offline'],
  ] as const)('because the tunnel answers %s later on is %s', async (code, kind) => {
    world.open = async () => {
      const stream = world.join()
      process.nextTick(() => stream.destroy(new OpenError(code, 'by the far end')))
      return stream
    }
    const error = await errorOf(world.upstream().request(upstreamRequest()))
    expect(error).toMatchObject({ kind, message: expect.stringContaining('by the far end') })
  })

  it('is asked for once by many requests, and not again at once', async () => {
    let opens = 0
    world.open = async () => {
      opens += 1
      throw new OpenError('refused', 'connection refused')
    }
    const upstream = world.upstream()
    const errors = await Promise.all([1, 2, 3].map(() => errorOf(upstream.request(upstreamRequest()))))
    expect(errors.map(({ kind }) => kind)).toEqual(['unreachable', 'unreachable', 'unreachable'])
    await errorOf(upstream.request(upstreamRequest()))
    expect(opens).toBe(1)
    await world.clock.advance(FAILED_OPEN_PAUSE_MS)
    await errorOf(upstream.request(upstreamRequest()))
    expect(opens).toBe(2)
  })

  it('is told to those who wait for a stream when the last connection that has some is lost', async () => {
    const upstream = world.upstream({ limits: { maxConnections: 2, maxStreams: 1 } })
    const call = nextCall()
    world.open = async () => {
      if (world.streams.length > 0) throw new OpenError('refused', 'connection refused')
      return world.join()
    }
    const running = errorOf(upstream.request(upstreamRequest({ method: 'POST' })))
    await call
    const waiting = errorOf(upstream.request(upstreamRequest()))
    world.streams[0]?.destroy()
    expect((await running).kind).toBe('broken')
    expect(await waiting).toMatchObject({ kind: 'unreachable', message: expect.stringContaining('connection refused') })
  })

  it.each([
    ['the tunnel', () => new Promise<never>(() => {})],
    ['the API server', async () => new Duplex({ read: () => {}, write: (_bytes, _encoding, done) => done() })],
  ])('in time because %s does not answer', async (_who, open) => {
    world.open = open
    const failed = errorOf(world.upstream().request(upstreamRequest()))
    await world.clock.advance(UPSTREAM_CONNECT_TIMEOUT_MS)
    expect(await failed).toMatchObject({ kind: 'timeout', message: expect.stringContaining('within 15 s') })
  })

  it('to somebody with a certificate from another CA, and it is not tried again for a while', async () => {
    const other = await makeCa(world.clock, 'somebody-else')
    const upstream = world.upstream({ trust: () => [other.certificate] })
    const error = await errorOf(upstream.request(upstreamRequest()))
    expect(error).toMatchObject({ kind: 'unreachable', retryAfterSeconds: IMPOSTOR_RETRY_SECONDS })
    expect(error.message).toContain('pinned at joining')
    expect(error.message).toContain('somebody-else')
    expect(error.message).toContain('api.example')
    expect((await errorOf(upstream.request(upstreamRequest()))).message).toBe(error.message)
    expect(world.streams).toHaveLength(1)
    await world.clock.advance(IMPOSTOR_RETRY_SECONDS * 1000)
    await errorOf(upstream.request(upstreamRequest()))
    expect(world.streams).toHaveLength(2)
  })

  it.each(['other.example', '192.0.2.1', '2001:db8::1'])('to an API server that is not %s', async (serverName) => {
    const error = await errorOf(world.upstream({ serverName }).request(upstreamRequest()))
    expect(error).toMatchObject({
      kind: 'unreachable',
      message: expect.stringContaining(`expected is one for ${serverName}`),
    })
  })

  it('after the end', async () => {
    const upstream = world.upstream()
    await whole(upstream.request(upstreamRequest()))
    await (await upstream.start()).stop(AbortSignal.abort())
    expect((await errorOf(upstream.request(upstreamRequest()))).message).toBe('the edge is stopping')
    expect(world.clock.pending).toBe(0)
  })
})

describe('numbers', () => {
  it('tell connections, streams and attempts by pool', async () => {
    const registry = new Registry()
    const upstream = world.upstream({ registry })
    const call = nextCall()
    const answered = upstream.request(upstreamRequest())
    const { stream } = await call
    const lines = (await registry.metrics()).split('\n')
    expect(lines).toEqual(
      expect.arrayContaining([
        'causeway_edge_upstream_connections{pool="token"} 1',
        'causeway_edge_upstream_streams{pool="token"} 1',
        'causeway_edge_upstream_streams{pool="node"} 0',
        'causeway_edge_upstream_waiting{pool="token"} 0',
        'causeway_edge_upstream_window_bytes{pool="token"} 1048576',
        'causeway_edge_upstream_opens_total{pool="token",result="ok"} 1',
        'causeway_edge_upstream_upgrades 0',
      ]),
    )
    answerOk(stream)
    await whole(answered)
  })

  it('of windows shrink while many streams share a connection, and grow again', async () => {
    const upstream = world.upstream({ rttMs: () => 500 })
    const windowOf = (): number => world.sessions[0]?.remoteSettings.initialWindowSize ?? 0
    const taken = calls(60)
    const answers = Array.from({ length: 60 }, () => whole(upstream.request(upstreamRequest())))
    const all = await taken
    await expect.poll(() => windowOf()).toBe(256 * 1024)
    for (const { stream } of all) answerOk(stream)
    await Promise.all(answers)
    await world.clock.advance(POOL_REVIEW_MS)
    await expect.poll(() => windowOf()).toBe(16 * 1024 * 1024)
  })
})
