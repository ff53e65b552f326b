import { EventEmitter, once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { type Duplex, duplexPair, Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { ManualClock, systemClock } from '../../runtime/clock.ts'
import type { ConnectionConfig } from './connection.ts'
import { DEFAULT_CONNECT_TIMEOUT_MS, type Dial } from './connector.ts'
import { DEFAULT_HEADERS_TIMEOUT_MS, HttpTransport, type HttpTransportOptions, readBody } from './transport.ts'
import { TransportError } from './transport-error.ts'

const cleanups: Array<() => unknown> = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

async function serve(listener: RequestListener): Promise<{ server: Server; address: string }> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => server.close().closeAllConnections())
  return { server, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function transportTo(address: string, options: Partial<HttpTransportOptions> = {}): HttpTransport {
  const connection: ConnectionConfig = {
    source: 'test',
    server: address,
    namespace: 'default',
    tls: { skipVerify: false },
    credentials: { type: 'anonymous' },
  }
  const transport = new HttpTransport(connection, { clock: systemClock, ...options })
  cleanups.push(() => transport.close())
  return transport
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
}

const get = { method: 'GET', path: '/' } as const

describe('requests', () => {
  it('sends what it is given, repeated headers and streams included, and nothing of its own', async () => {
    const seen: string[][] = []
    const { address } = await serve((request, response) => {
      seen.push([`${request.method} ${request.url}`, ...request.rawHeaders])
      request.pipe(response)
    })
    const transport = transportTo(address)
    const response = await transport.request({
      method: 'POST',
      path: '/a?b=c%2Fd',
      headers: [
        ['x-group', 'one'],
        ['x-group', 'two'],
      ],
      body: Readable.from([Buffer.from('he'), Buffer.from('llo')]),
    })
    expect((await readBody(response, 100)).toString()).toBe('hello')
    const host = new URL(address).host
    const own = [
      'host',
      host,
      'connection',
      'keep-alive',
      'x-group',
      'one',
      'x-group',
      'two',
      'transfer-encoding',
      'chunked',
    ]
    expect(seen).toEqual([['POST /a?b=c%2Fd', ...own]])
  })

  it('hands over any status, redirects too', async () => {
    const { address } = await serve((_request, response) =>
      response.writeHead(307, { location: 'http://elsewhere' }).end('x'),
    )
    const { status, headers, body } = await transportTo(address).request(get)
    body.destroy()
    expect([status, headers.location]).toEqual([307, 'http://elsewhere'])
  })

  it('lets a slow reader slow the server down', async () => {
    const chunk = Buffer.alloc(64 * 1024)
    let written = 0
    const stalled = new EventEmitter()
    const { address } = await serve((_request, response) => {
      const write = (): void => {
        while (written < 1e9) {
          written += chunk.length
          if (!response.write(chunk)) {
            stalled.emit('stalled')
            response.once('drain', write)
            return
          }
        }
      }
      write()
    })
    const hasStalled = once(stalled, 'stalled')
    const { body } = await transportTo(address).request(get)
    await hasStalled
    expect(written).toBeLessThan(1e9)
    body.destroy()
  })

  it('reads no more of a body than the limit', async () => {
    const { address } = await serve((_request, response) => response.end('x'.repeat(1000)))
    const response = await transportTo(address).request(get)
    expect(await failureOf(readBody(response, 999))).toMatchObject({ code: 'too-large' })
    expect(response.body.destroyed).toBe(true)
  })

  it('ends with the reason of the signal, before and during the answer', async () => {
    const { address } = await serve((request, response) => {
      if (request.url === '/begin') response.write('x')
    })
    const reason = new Error('enough')
    const waiting = new AbortController()
    const transport = transportTo(address)
    const pending = failureOf(transport.request({ ...get, signal: waiting.signal }))
    waiting.abort(reason)
    expect(await pending).toBe(reason)
    const reading = new AbortController()
    const { body } = await transport.request({ ...get, path: '/begin', signal: reading.signal })
    reading.abort(reason)
    expect(await failureOf(body.toArray())).toBeInstanceOf(Error)
    expect(body.destroyed).toBe(true)
  })
})

describe('failures', () => {
  it('names a refused connection', async () => {
    // A port that was listened on until just now may be somebody else's already.
    const address = 'http://127.0.0.1:1'
    const failure = await failureOf(transportTo(address).request(get))
    expect(failure).toBeInstanceOf(TransportError)
    expect(failure).toMatchObject({ code: 'refused', cause: { code: 'ECONNREFUSED' } })
    expect((failure as Error).message).toContain(address)
  })

  it('names an unknown host', async () => {
    const dial: Dial = () => Promise.reject(Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' }))
    expect(await failureOf(transportTo('http://nowhere', { dial }).request(get))).toMatchObject({ code: 'dns' })
  })

  it('names a server that does not speak TLS', async () => {
    const { address } = await serve(() => undefined)
    const transport = transportTo(address.replace('http:', 'https:'))
    expect(await failureOf(transport.request(get))).toMatchObject({ code: 'tls' })
  })

  it('names a server that does not speak HTTP', async () => {
    const server = createTcpServer((socket) => socket.end('SSH-2.0-server\r\n')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    cleanups.push(() => server.close())
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await failureOf(transportTo(address).request(get))).toMatchObject({ code: 'protocol' })
  })

  it('names a connection that breaks before and inside an answer', async () => {
    const { address } = await serve((request, response) => {
      if (request.url === '/inside') response.writeHead(200, { 'content-length': '10' }).write('half')
      setImmediate(() => request.socket.destroy())
    })
    const transport = transportTo(address)
    expect(await failureOf(transport.request(get))).toMatchObject({ code: 'reset' })
    const response = await transport.request({ ...get, path: '/inside' })
    expect(await failureOf(readBody(response, 100))).toMatchObject({ code: 'reset' })
  })

  it('gives up dialling after the connect timeout', async () => {
    const clock = new ManualClock()
    let aborted = false
    const dial: Dial = (_target, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted = true
          reject(new Error('aborted'))
        })
      })
    const pending = failureOf(transportTo('http://silent', { clock, dial }).request(get))
    await clock.advance(DEFAULT_CONNECT_TIMEOUT_MS)
    expect(await pending).toMatchObject({ code: 'connect-timeout' })
    expect(aborted).toBe(true)
  })

  /** Dials that never succeed, and hands out the signal that may end them. */
  function hanging(): { dial: Dial; dialled: Promise<AbortSignal> } {
    const dials = new EventEmitter()
    const dialled = once(dials, 'dial').then(([signal]) => signal as AbortSignal)
    const dial: Dial = async (_target, signal) => {
      dials.emit('dial', signal)
      await once(signal, 'abort')
      throw new Error('aborted')
    }
    return { dial, dialled }
  }

  it.each(['request', 'upgrade'] as const)('a %s ends with its signal while it is still dialled', async (verb) => {
    const { dial, dialled } = hanging()
    const transport = transportTo('http://silent', { clock: new ManualClock(), dial })
    const stop = new AbortController()
    const call = { ...get, signal: stop.signal }
    const pending = failureOf(verb === 'request' ? transport.request(call) : transport.upgrade(call, 'echo'))
    await dialled
    const reason = new Error('enough')
    stop.abort(reason)
    expect(await pending).toBe(reason)
  })

  it.each(['request', 'upgrade'] as const)('a %s ends with its signal during the TLS handshake', async (verb) => {
    const [near, far] = duplexPair()
    const transport = transportTo('https://silent', { clock: new ManualClock(), dial: async () => near })
    const stop = new AbortController()
    const call = { ...get, signal: stop.signal }
    const pending = failureOf(verb === 'request' ? transport.request(call) : transport.upgrade(call, 'echo'))
    await once(far, 'readable')
    const reason = new Error('enough')
    stop.abort(reason)
    expect(await pending).toBe(reason)
  })

  it('does not begin what was aborted before', async () => {
    const reason = new Error('enough')
    const { address } = await serve((_request, response) => response.end())
    const call = { ...get, signal: AbortSignal.abort(reason) }
    expect(await failureOf(transportTo(address).request(call))).toBe(reason)
  })

  it('stops dialling when it is closed', async () => {
    const { dial, dialled } = hanging()
    const transport = transportTo('http://silent', { clock: new ManualClock(), dial })
    const pending = failureOf(transport.request(get))
    const signal = await dialled
    await transport.close()
    expect(signal.aborted).toBe(true)
    expect(await pending).toMatchObject({ code: 'closed' })
  })

  it('is closed for good', async () => {
    const { address } = await serve(() => undefined)
    const transport = transportTo(address)
    const pending = failureOf(transport.request(get))
    await transport.close()
    expect(await pending).toMatchObject({ code: 'closed' })
    expect(await failureOf(transport.request(get))).toMatchObject({ code: 'closed' })
    expect(await failureOf(transport.upgrade(get, 'websocket'))).toMatchObject({ code: 'closed' })
  })
})

describe('custom streams', () => {
  /** The far end of the pair is a server: HTTP without any socket. */
  function tunnelTo(listener: RequestListener): { dial: Dial; dialled: string[] } {
    const server = createServer(listener)
    const dialled: string[] = []
    const dial: Dial = async ({ host, port }) => {
      dialled.push(`${host}:${port}`)
      const [near, far] = duplexPair()
      server.emit('connection', far)
      return near
    }
    return { dial, dialled }
  }

  it('carries requests and keeps the stream for the next one', async () => {
    const { dial, dialled } = tunnelTo((request, response) => response.end(request.url))
    const transport = transportTo('http://[fd00::1]:8080', { dial })
    for (const path of ['/one', '/two']) {
      expect((await readBody(await transport.request({ method: 'GET', path }), 100)).toString()).toBe(path)
      // The pool takes a connection back one turn after its answer was read.
      await nextTurn()
    }
    expect(dialled).toEqual(['fd00::1:8080'])
  })
})

describe('upgrades', () => {
  async function upgradable(): Promise<string> {
    const { server, address } = await serve((_request, response) => response.writeHead(403).end('not you'))
    server.on('upgrade', (request, socket: Duplex) => {
      if (request.headers.upgrade !== 'echo') {
        socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 5\r\n\r\nwhat?')
        return
      }
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\nfirst')
      socket.pipe(socket)
    })
    return address
  }

  it('gives a stream, with what the server sent right behind its answer', async () => {
    const result = await transportTo(await upgradable()).upgrade(get, 'echo')
    if (result.type !== 'upgraded') throw new Error('declined')
    result.stream.write('second')
    let received = ''
    for await (const chunk of result.stream as AsyncIterable<Buffer>) {
      received += chunk.toString()
      if (received === 'firstsecond') break
    }
    expect(received).toBe('firstsecond')
  })

  it('hands over the answer of a server that declines', async () => {
    const result = await transportTo(await upgradable()).upgrade(get, 'other')
    if (result.type !== 'declined') throw new Error('upgraded')
    expect(result.response.status).toBe(400)
    expect((await readBody(result.response, 100)).toString()).toBe('what?')
  })

  it.each([
    [undefined, DEFAULT_HEADERS_TIMEOUT_MS],
    [5_000, 5_000],
  ])('wait for an answer no longer than told: %s', async (headersTimeoutMs, limitMs) => {
    const clock = new ManualClock()
    const [near, far] = duplexPair()
    const transport = transportTo('http://silent', { clock, dial: async () => near })
    const limit = headersTimeoutMs === undefined ? {} : { headersTimeoutMs }
    const pending = failureOf(transport.upgrade({ ...get, ...limit }, 'echo'))
    await once(far, 'readable')
    await clock.advance(limitMs - 1)
    expect(near.destroyed).toBe(false)
    await clock.advance(1)
    expect(await pending).toMatchObject({ code: 'headers-timeout' })
    expect(near.destroyed).toBe(true)
  })

  it('wait for the explanation of a refusal no longer than told', async () => {
    const clock = new ManualClock()
    const [near, far] = duplexPair()
    const transport = transportTo('http://slow', { clock, dial: async () => near })
    const pending = transport.upgrade({ ...get, bodyTimeoutMs: 5_000 }, 'echo')
    await once(far, 'readable')
    far.write('HTTP/1.1 403 Forbidden\r\ncontent-length: 100\r\n\r\nbecause')
    const result = await pending
    if (result.type !== 'declined') throw new Error('upgraded')
    const reading = failureOf(readBody(result.response, 100))
    await clock.advance(5_000)
    expect(await reading).toMatchObject({ code: 'body-timeout' })
    expect(clock.pending).toBe(0)
  })

  it('leave no timer behind', async () => {
    const clock = new ManualClock()
    const transport = transportTo(await upgradable(), { clock })
    const accepted = await transport.upgrade(get, 'echo')
    expect(clock.pending).toBe(0)
    if (accepted.type === 'upgraded') accepted.stream.destroy()
    const declined = await transport.upgrade(get, 'other')
    if (declined.type === 'declined') await readBody(declined.response, 100)
    await expect.poll(() => clock.pending).toBe(0)
  })

  it('ends upgraded streams when the transport is closed', async () => {
    const transport = transportTo(await upgradable())
    const result = await transport.upgrade(get, 'echo')
    if (result.type !== 'upgraded') throw new Error('declined')
    const closed = once(result.stream.resume(), 'close')
    await transport.close()
    await closed
  })
})
