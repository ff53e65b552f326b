/**
 * Heads that two readers could understand differently, on the hub's port: HTTP/2 by hand, and HTTP/1.1. Each is refused or means one
 * thing, and the hub stands.
 */
import { once } from 'node:events'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { HubRequest, HubResponse } from '../../src/hub/port/http-message.ts'
import { MAX_STREAMS_AT_ONCE } from '../../src/hub/port/http2.ts'
import { ask, codeOf, dial, eventually, type HubWorld, startHub, tlsOptions } from '../worlds/hub-world.ts'
import { FLAG, FRAME, frame, headersFrame, onFrames, PREFACE, resetFrame } from './endpoint-frames.ts'

const served = vi.fn(
  (_request: HubRequest): Promise<HubResponse> =>
    Promise.resolve({ status: 200, contentType: 'text/plain', body: 'served' }),
)
let world: HubWorld

beforeEach(async () => {
  served.mockClear()
  world = await startHub({
    routes: ['GET', 'POST'].map((method) => ({ method: method as 'GET', path: '/one', handle: served })),
  })
})

async function http2Socket(): Promise<TLSSocket> {
  const socket = connectTls({ ...tlsOptions(world), port: world.port, host: '127.0.0.1', ALPNProtocols: ['h2'] })
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  await once(socket, 'secureConnect')
  socket.write(PREFACE)
  return socket
}

type Fields = readonly (readonly [string, string])[]

/** `served`, `refused` by an answer, or `cut`: the stream, or the connection. */
async function outcome(head: Fields, body?: Buffer): Promise<string> {
  const socket = await http2Socket()
  const ended = new Promise<string>((resolve) => {
    onFrames(socket, (type, _flags, stream) => {
      if (type === FRAME.goAway || (type === FRAME.reset && stream === 1)) resolve('cut')
      if (type === FRAME.headers && stream === 1) resolve(served.mock.calls.length > 0 ? 'served' : 'refused')
    })
    socket.once('close', () => resolve('cut'))
  })
  socket.write(headersFrame(1, head, FLAG.endHeaders | (body === undefined ? FLAG.endStream : 0)))
  if (body !== undefined) socket.write(frame(FRAME.data, FLAG.endStream, 1, body))
  const result = await ended
  socket.destroy()
  return result
}

const method = [':method', 'GET'] as const
const scheme = [':scheme', 'https'] as const
const authority = [':authority', 'hub.example'] as const
const path = [':path', '/one'] as const
const good: Fields = [method, scheme, authority, path]

describe('a head of HTTP/2', () => {
  it.each<[string, Fields]>([
    ['in order', good],
    ['with a host in place of an authority', [method, scheme, path, ['host', 'hub.example']]],
    ['whose host is another than its authority: neither chooses anything here', [...good, ['host', 'evil.example']]],
    ['that takes trailers', [...good, ['te', 'trailers']]],
  ])('%s is served', async (_name, head) => {
    expect(await outcome(head)).toBe('served')
  })

  it.each<[string, Fields]>([
    ['with two paths', [...good, [':path', '/two']]],
    ['with the same path twice', [...good, path]],
    ['with two methods', [method, [':method', 'POST'], scheme, authority, path]],
    ['with two authorities', [...good, [':authority', 'evil.example']]],
    ['without an authority', [method, scheme, path]],
    ['without a path', [method, scheme, authority]],
    ['without a method', [scheme, authority, path]],
    ['without a scheme', [method, authority, path]],
    ['with an empty path', [method, scheme, authority, [':path', '']]],
    ['with a path behind ordinary fields', [method, scheme, authority, ['x', '1'], path]],
    ['with a made-up pseudo-header', [...good, [':admin', 'true']]],
    ['with a status', [...good, [':status', '200']]],
    ['with names in upper case', [...good, ['X-Upper', '1']]],
    ['with a connection', [...good, ['connection', 'keep-alive']]],
    ['with a transfer-encoding', [...good, ['transfer-encoding', 'chunked']]],
    ['with an upgrade', [...good, ['upgrade', 'websocket']]],
    ['with another te', [...good, ['te', 'gzip']]],
    ['with two lengths', [...good, ['content-length', '0'], ['content-length', '5']]],
    ['with a length and no body', [...good, ['content-length', '5']]],
    [
      'that wants to be led on',
      [
        [':method', 'CONNECT'],
        [':authority', 'edge-1:10250'],
      ],
    ],
    ['with a protocol to switch to', [[':method', 'CONNECT'], [':protocol', 'websocket'], scheme, authority, path]],
    ['with a path that is a URL', [method, scheme, authority, [':path', 'https://hub.example/one']]],
    ['with a path that begins nowhere', [method, scheme, authority, [':path', 'one']]],
    ['with an asterisk', [method, scheme, authority, [':path', '*']]],
    ['with a space in its path', [method, scheme, authority, [':path', '/one HTTP/1.1']]],
    [
      'with more fields than are read',
      [...good, ...Array.from({ length: 100 }, (_, index) => [`x-${index}`, '1'] as const)],
    ],
    ['with two tokens', [...good, ['authorization', 'Bearer a'], ['authorization', 'Bearer b']]],
  ])('%s is not', async (_name, head) => {
    expect(await outcome(head)).not.toBe('served')
    expect(served).not.toHaveBeenCalled()
    expect((await ask(world, { path: '/one', http2: true })).status).toBe(200)
  })

  it.each<[string, Fields]>([
    ['a line end in its value', [...good, ['authorization', 'Bearer a\r\nx: b']]],
    ['a zero byte in its value', [...good, ['authorization', 'Bearer a\0b']]],
    ['a space in its name', [...good, ['x y', '1']]],
  ])('has no field with %s: the library leaves it out', async (_name, head) => {
    await outcome(head)
    for (const [request] of served.mock.calls)
      expect(Object.keys(request.headers).filter((name) => !name.startsWith(':'))).toEqual([])
  })

  it('with another length than its body has is not', async () => {
    const head: Fields = [[':method', 'POST'], scheme, authority, path, ['content-length', '3']]
    served.mockImplementationOnce(async (request) => {
      await request.body(100)
      return { status: 200, contentType: 'text/plain', body: 'served' }
    })
    expect(await outcome(head, Buffer.from('hello'))).toBe('cut')
  })
})

describe('streams of HTTP/2 by the hundred', () => {
  it.each(['reset at once', 'answered'])('that are %s cost the connection', async (kind) => {
    const socket = (await http2Socket()).resume()
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    for (let stream = 1; stream < 2 * MAX_STREAMS_AT_ONCE + 200 && !socket.destroyed; stream += 2) {
      socket.write(headersFrame(stream, good, FLAG.endHeaders | FLAG.endStream))
      if (kind === 'reset at once') socket.write(resetFrame(stream, 8))
      // So that no more are open at a time than may be.
      else await eventually(() => expect(served.mock.calls.length === (stream + 1) / 2 || socket.destroyed).toBe(true))
    }
    await closed
    expect(served.mock.calls.length).toBeLessThanOrEqual(MAX_STREAMS_AT_ONCE)
    served.mockClear()
    expect((await ask(world, { path: '/one', http2: true })).status).toBe(200)
  })
})

describe('a head of HTTP/1.1', () => {
  async function answerTo(head: string): Promise<string> {
    const socket = await dial(world)
    socket.write(`${head}\r\n\r\n`)
    let received = ''
    for await (const chunk of socket) received += String(chunk)
    return received.split('\r\n', 1)[0] ?? ''
  }

  it.each([
    ['with two tokens', 'GET /one HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b'],
    ['with two hosts', 'GET /one HTTP/1.1\r\nHost: hub\r\nHost: evil'],
    ['without a host', 'GET /one HTTP/1.1'],
    ['with a folded header', 'GET /one HTTP/1.1\r\nHost: hub\r\nX: a\r\n b'],
    ['with a space before a colon', 'GET /one HTTP/1.1\r\nHost: hub\r\nX : a'],
    ['with a URL as its target', 'GET https://hub.example/one HTTP/1.1\r\nHost: hub'],
    ['with two lengths', 'POST /one HTTP/1.1\r\nHost: hub\r\nContent-Length: 1\r\nContent-Length: 2'],
    ['with a length and chunks', 'POST /one HTTP/1.1\r\nHost: hub\r\nContent-Length: 1\r\nTransfer-Encoding: chunked'],
    ['with a bare line end', 'GET /one HTTP/1.1\nHost: hub'],
    ['of another version', 'GET /one HTTP/1.7\r\nHost: hub'],
  ])('%s is not served', async (_name, head) => {
    expect(await answerTo(head)).toMatch(/^HTTP\/1\.1 4\d\d /)
    expect(served).not.toHaveBeenCalled()
    expect(codeOf(await ask(world, { path: '/nowhere' }))).toBe('not-found')
    await eventually(() => expect(world.log.some(({ level }) => level === 'error')).toBe(false))
  })
})
