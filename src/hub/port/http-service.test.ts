import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it, vi } from 'vitest'
import { ask, codeOf, dial, eventually, type HubWorld, startHub, tlsOptions } from '../../../test/worlds/hub-world.ts'
import { Refusal } from '../refusal.ts'
import type { HubRequest, HubResponse } from './http-message.ts'
import type { Route } from './http-routes.ts'
import { HTTP_TIMES, MAX_HEADER_BYTES, MAX_HEADERS } from './http-settings.ts'

function text(body: string): HubResponse {
  return { status: 200, contentType: 'text/plain', body }
}

function route(method: 'GET' | 'POST', path: string, handle: (request: HubRequest) => Promise<HubResponse>): Route {
  return { method, path, handle }
}

/** All that the hub says to these bytes until it closes. */
async function exchange(socket: TLSSocket, bytes: string): Promise<string> {
  socket.write(bytes)
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const both = [
  ['HTTP/1.1', false],
  ['HTTP/2', true],
] as const

describe.each(both)('routes over %s', (_version, http2) => {
  it('are found by method and exact path, whatever the query', async () => {
    const world = await startHub({ routes: [route('POST', '/echo', async (request) => text(request.path))] })
    const post = { method: 'POST', body: '', http2 }
    expect(await ask(world, { ...post, path: '/echo?x=1' })).toMatchObject({ status: 200, body: '/echo' })
    for (const path of ['/', '/echo/', '/ECHO', '//echo', '/x/../echo'])
      expect(codeOf(await ask(world, { ...post, path })), path).toBe('not-found')
    const wrongMethod = await ask(world, { path: '/echo', http2 })
    expect(wrongMethod).toMatchObject({ status: 405, headers: { allow: 'POST' } })
    expect(codeOf(wrongMethod)).toBe('method-not-allowed')
  })

  it('read bodies up to their limit and not a byte more', async () => {
    const echo = route('POST', '/echo', async (request) => text((await request.body(10)).toString()))
    const world = await startHub({ routes: [echo] })
    const post = { method: 'POST', path: '/echo', http2 }
    expect(await ask(world, { ...post, body: '0123456789' })).toMatchObject({ status: 200, body: '0123456789' })
    expect(await ask(world, { ...post, body: '' })).toMatchObject({ status: 200, body: '' })
    expect(codeOf(await ask(world, { ...post, body: '0123456789A' }))).toBe('body-too-large')
  })

  it('answer refusals as JSON with code, sentence, details and the time to wait', async () => {
    const refuse = route('GET', '/no', async () => {
      const details = { expected: ['a'], code: 'forged' }
      throw new Refusal('overloaded', 'come back', { retryAfterSeconds: 7, details })
    })
    const world = await startHub({ routes: [refuse] })
    const { status, headers, body } = await ask(world, { path: '/no', http2 })
    expect({ status, headers }).toMatchObject({
      status: 503,
      headers: { 'retry-after': '7', 'content-type': 'application/json', 'cache-control': 'no-store' },
    })
    expect(JSON.parse(body)).toEqual({ code: 'overloaded', message: 'come back', expected: ['a'] })
  })

  it('that break answer `internal` and say why in the log only', async () => {
    const broken = route('GET', '/broken', () => Promise.reject(new Error('secret detail')))
    const world = await startHub({ routes: [broken] })
    const response = await ask(world, { path: '/broken', http2 })
    expect(codeOf(response)).toBe('internal')
    expect(response.body).not.toContain('secret detail')
    expect(JSON.stringify(world.log)).toContain('secret detail')
  })

  it('that take too long are given up', async () => {
    const never = { ...route('GET', '/never', () => new Promise(() => {})), timeoutMs: 77_000 }
    const world = await startHub({ routes: [never] })
    const answer = ask(world, { path: '/never', http2 })
    await eventually(() => expect(world.clock.nextDueMs).toBe(77_000))
    await world.clock.advance(77_000)
    expect(codeOf(await answer)).toBe('cluster-unavailable')
  })

  it('hear when nobody waits for their answer any more', async () => {
    let signal: AbortSignal | undefined
    const wait = route('GET', '/wait', async (request) => {
      signal = request.signal
      await once(signal, 'abort')
      return text('nobody')
    })
    const world = await startHub({ routes: [wait] })
    if (http2) {
      const session = connectHttp2(`https://127.0.0.1:${world.port}`, tlsOptions(world))
      session.request({ ':path': '/wait' }).on('error', () => {})
      await eventually(() => expect(signal).toBeDefined())
      session.destroy()
    } else {
      const socket = await dial(world)
      socket.write('GET /wait HTTP/1.1\r\nHost: hub\r\n\r\n')
      await eventually(() => expect(signal).toBeDefined())
      socket.destroy()
    }
    await eventually(() => expect(signal?.aborted).toBe(true))
    await eventually(() => expect(world.clock.pending).toBe(0))
  })
})

describe('an HTTP/1.1 connection', () => {
  it('carries one request: what is sent ahead is not worked on', async () => {
    const handle = vi.fn(async () => text('done'))
    const world = await startHub({ routes: [route('GET', '/one', handle)] })
    const request = 'GET /one HTTP/1.1\r\nHost: hub\r\n\r\n'
    const answers = await exchange(await dial(world), request.repeat(3))
    expect(answers).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*connection: close\r\n/i)
    expect(handle).toHaveBeenCalledTimes(1)
  })

  it('with anything but HTTP, or too many headers, gets a small error', async () => {
    const world = await startHub()
    const garbage = await exchange(await dial(world), 'EHLO hub\r\n\r\n')
    expect(garbage).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*"code":"bad-request"/)
    const long = `GET /ca.crt HTTP/1.1\r\nHost: hub\r\nX: ${'x'.repeat(MAX_HEADER_BYTES)}\r\n\r\n`
    const refused = await exchange(await dial(world), long)
    expect(refused).toMatch(/^HTTP\/1\.1 431 [\s\S]*"code":"headers-too-large"/)
    expect(refused).toContain(`larger than the ${MAX_HEADER_BYTES} bytes`)
  })

  it.each(['', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'])(
    'with more headers than are read is refused, and none is left out (%j)',
    async (wish) => {
      const handle = vi.fn(async () => text('done'))
      const adopt = vi.fn(() => ({ drain: () => {} }))
      const world = await startHub({
        routes: [route('GET', '/one', handle)],
        upgrade: { path: '/one', handle: adopt },
      })
      const others = MAX_HEADERS - 1 - wish.split('\r\n').length + 1
      const head = `GET /one HTTP/1.1\r\nHost: hub\r\n${wish}${'x: 1\r\n'.repeat(others)}`
      const last = 'Authorization: Bearer last\r\n'
      expect(await exchange(await dial(world), `${head}${last}\r\n`)).toMatch(
        /^HTTP\/1\.1 431 [\s\S]*"code":"headers-too-large"/,
      )
      expect(handle).not.toHaveBeenCalled()
      expect(adopt).not.toHaveBeenCalled()
      const socket = await dial(world)
      socket.write(`${head}\r\n`)
      await eventually(() => expect(handle.mock.calls.length + adopt.mock.calls.length).toBe(1))
      socket.destroy()
    },
  )

  it('that wants to be led on (CONNECT) is told where that is done', async () => {
    const world = await startHub()
    const answer = await exchange(await dial(world), 'CONNECT edge-1:10250 HTTP/1.1\r\nHost: edge-1:10250\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*CONNECT is served by a front[\s\S]*--connect-front/)
  })

  it('with two lengths for one body (smuggling) is refused', async () => {
    const world = await startHub()
    const head = 'POST /edge.crt HTTP/1.1\r\nHost: hub\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n'
    expect(await exchange(await dial(world), `${head}0\r\n\r\nGET /ca.crt HTTP/1.1\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 400 /,
    )
  })

  it('whose client never takes the answer is cut off', async () => {
    const large = 'x'.repeat(32 * 1024 * 1024)
    const world = await startHub({ routes: [route('GET', '/large', async () => text(large))] })
    const socket = await dial(world)
    socket.pause()
    socket.write('GET /large HTTP/1.1\r\nHost: hub\r\n\r\n')
    await eventually(() => expect(world.clock.nextDueMs).toBe(HTTP_TIMES.answerMs))
    await world.clock.advance(HTTP_TIMES.answerMs)
    socket.on('error', () => {}).resume()
    await once(socket, 'close')
    expect(world.clock.pending).toBe(0)
  })
})

describe('an upgrade', () => {
  const request = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: hub\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhead`

  it('goes to its hook with the connection and the bytes after the head, and nowhere else', async () => {
    const handle = vi.fn(({ socket }, _request: unknown, head: Buffer) => {
      socket.end(`upgraded ${head.toString()}`)
      return { drain: () => {} }
    })
    const world = await startHub({ upgrade: { path: '/v1/tunnel', handle } })
    expect(await exchange(await dial(world), request('/v1/tunnel?x'))).toBe('upgraded head')
    expect(await exchange(await dial(world), request('/ca.crt'))).toMatch(/^HTTP\/1\.1 404 /)
    expect(handle).toHaveBeenCalledTimes(1)
    await eventually(() => expect(world.clock.pending).toBe(0))
  })

  it('is an ordinary request where there is no hook', async () => {
    const world = await startHub()
    const plain = request('/v1/tunnel').replace('head', '')
    expect(await exchange(await dial(world), plain)).toMatch(/^HTTP\/1\.1 404 /)
  })

  it('is drained by its owner when the hub stops', async () => {
    const drained = vi.fn()
    const world: HubWorld = await startHub({
      upgrade: {
        path: '/v1/tunnel',
        handle: ({ socket }) => {
          socket.write('ready')
          return { drain: () => socket.end(drained) }
        },
      },
    })
    const socket = await dial(world)
    socket.write(request('/v1/tunnel'))
    await once(socket, 'data')
    await world.running.stop(new AbortController().signal)
    expect(drained).toHaveBeenCalledTimes(1)
  })
})
