/** Our client against the server of Node, on sockets: bodies, trailers, bare answers, resets, windows, tables, ends. */
import { once } from 'node:events'
import http2, { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { afterEach, describe, expect, it } from 'vitest'
import type { SessionOptions } from '../../../src/http/http2/session-options.ts'
import { ErrorCode } from '../../../src/http/http2/wire.ts'
import { getFields, postFields } from '../../worlds/http2-naive.ts'
import { contents } from '../../worlds/http2-pair.ts'
import { ask, closeAll, nodeServer, type OurEnd, ourClient } from './loopback.ts'

afterEach(closeAll)

const body = (bytes: number): Buffer => contents(1, 'server', 0, bytes)

type Serve = (stream: ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => void

/** Our client, and Node's end of its connection. */
async function begin(
  serve: Serve,
  options: Partial<SessionOptions> = {},
  settings: http2.Settings = {},
): Promise<{ end: OurEnd; session: ServerHttp2Session }> {
  const server = http2.createServer({ settings })
  server.on('stream', serve)
  const accepted = once(server, 'session') as Promise<[ServerHttp2Session]>
  const end = await ourClient(await nodeServer(server), options)
  const [session] = await accepted
  return { end, session }
}

const echo: Serve = (stream) => {
  let trailers: http2.IncomingHttpHeaders = {}
  stream.on('trailers', (given) => {
    trailers = given
  })
  stream.respond({ ':status': 200 }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ ...trailers, 'x-more': '1' }))
  stream.pipe(stream)
}

describe('our client and a server of Node', () => {
  it.each([0, 1, 16_383, 16_384, 16_385, 5_000_000])('a body of %i bytes goes there and comes back', async (bytes) => {
    const { end } = await begin(echo)
    const ours = ask(end, postFields, body(bytes), ['x-sum', 'abc'])
    await ours.closed
    expect(ours).toMatchObject({ status: 200, resetCode: undefined })
    expect(ours.body.equals(body(bytes))).toBe(true)
    expect(ours.trailers).toContain('x-more')
    expect(end.session.openStreams).toBe(0)
  })

  it('trailers go both ways', async () => {
    const { end } = await begin(echo)
    const ours = ask(end, postFields, body(10), ['x-sum', 'abc'])
    await ours.closed
    expect(ours.trailers).toEqual(expect.arrayContaining(['x-sum', 'abc', 'x-more', '1']))
  })

  it.each([
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ])('%s with %i has no body', async (method, status) => {
    const { end } = await begin((stream) => {
      stream.respond({ ':status': status, 'content-length': status === 204 ? undefined : 100 }, { endStream: true })
    })
    const ours = ask(end, [':method', method, ...getFields.slice(2)])
    await ours.closed
    expect(ours).toMatchObject({ status, trailers: [], resetCode: undefined })
  })

  it('answers before the answer are passed over', async () => {
    const { end } = await begin((stream) => {
      stream.additionalHeaders({ ':status': 103 })
      stream.additionalHeaders({ ':status': 100 })
      stream.respond({ ':status': 201 }, { endStream: true })
    })
    const ours = ask(end, getFields)
    await ours.closed
    expect(ours).toMatchObject({ status: 201, trailers: [] })
  })

  it('a hundred streams at once, each with its own body', async () => {
    const { end } = await begin(echo)
    const all = Array.from({ length: 100 }, (_, index) => ask(end, postFields, body(index * 1_000)))
    for (const [index, ours] of all.entries()) {
      await ours.closed
      expect(ours.body.equals(body(index * 1_000))).toBe(true)
    }
    expect(end.failures).toEqual([])
    expect(end.session.openStreams).toBe(0)
  })

  it('heads of many frames go both ways', async () => {
    const long = 'é'.repeat(30_000)
    const { end } = await begin(
      (stream, headers) => stream.respond({ ':status': 200, 'x-long': headers['x-long'] }, { endStream: true }),
      {},
      { maxHeaderListSize: 200_000 },
    )
    const ours = ask(end, [...getFields, 'x-long', long])
    await ours.closed
    expect(ours.fields).toContain(long)
  })

  it('tables of other sizes, and none, are kept to', async () => {
    const { end, session } = await begin((stream, headers) =>
      stream.respond({ ':status': 200, 'x-same': headers['x-same'] }, { endStream: true }),
    )
    for (const headerTableSize of [0, 100, 65_536, 4_096, 0]) {
      session.settings({ headerTableSize })
      for (let count = 0; count < 5; count++) {
        const ours = ask(end, [...getFields, 'x-same', `value-${count % 2}`])
        await ours.closed
        expect(ours.fields).toContain(`value-${count % 2}`)
      }
    }
    expect(end.failures).toEqual([])
  })

  it.each([0, 1, 1_000])(
    'a server that begins with a window of %i bytes and widens it gets all',
    async (initialWindowSize) => {
      const { end, session } = await begin(echo, {}, { initialWindowSize })
      await end.limited
      const ours = ask(end, postFields, body(300_000))
      await ours.headed
      session.settings({ initialWindowSize: 65_535 })
      session.settings({ initialWindowSize: 10 })
      session.settings({ initialWindowSize: 100_000, maxFrameSize: 100_000 })
      await ours.closed
      expect(ours.body.equals(body(300_000))).toBe(true)
    },
  )

  it('windows of ours that change under way lose nothing', async () => {
    const { end } = await begin(echo, { streamWindowBytes: 1_000_000 })
    const ours = ask(end, postFields, body(3_000_000))
    const sizes = [65_535, 1_000, 500_000, 16_384]
    ours.arrived = () => {
      const next = sizes.shift()
      if (next !== undefined) end.session.setStreamWindow(next)
    }
    await ours.closed
    expect(ours.body.equals(body(3_000_000))).toBe(true)
    expect(sizes).toEqual([])
  })

  it('a reader that pauses with every piece gets all, and holds no more than its window', async () => {
    const { end } = await begin((stream) => {
      stream.respond({ ':status': 200 })
      stream.end(body(1_000_000))
    })
    const ours = ask(end, getFields)
    ours.arrived = () => {
      ours.stream?.pause()
      setImmediate(() => ours.stream?.resume())
    }
    await ours.closed
    expect(ours.body.equals(body(1_000_000))).toBe(true)
  })

  it.each(['at once', 'after the head', 'in the body'])(
    'a reset by the server %s closes the stream with its code',
    async (stage) => {
      const { end } = await begin((stream) => {
        if (stage !== 'at once') stream.respond({ ':status': 200 })
        if (stage === 'in the body') stream.write(body(10_000))
        setImmediate(() => {
          stream.destroy()
          stream.close(constants.NGHTTP2_INTERNAL_ERROR)
        })
      })
      const ours = ask(end, postFields, body(1_000_000))
      await ours.closed
      expect(ours.trailers).toBeUndefined()
      expect(ours.resetCode).toBeDefined()
      expect(end.session.openStreams).toBe(0)
      expect(end.failures).toEqual([])
    },
  )

  it.each(['at once', 'after the head', 'in the body'])(
    'a reset by the client %s reaches the server',
    async (stage) => {
      let closed: (code: number) => void = () => {}
      const code = new Promise<number>((resolve) => {
        closed = resolve
      })
      const { end } = await begin((stream) => {
        stream.on('close', () => closed(stream.rstCode ?? 0))
        if (stage !== 'at once') stream.respond({ ':status': 200 })
        if (stage === 'in the body') stream.write(body(200_000))
      })
      const ours = ask(end, postFields, body(200_000))
      if (stage !== 'at once') await ours.headed
      if (stage === 'in the body')
        await new Promise<void>((resolve) => {
          ours.arrived = resolve
        })
      ours.stream?.reset(ErrorCode.cancel)
      await ours.closed
      expect(await code).toBe(constants.NGHTTP2_CANCEL)
      const next = ask(end, getFields)
      next.stream?.reset(ErrorCode.cancel)
      expect(end.session.openStreams).toBe(0)
    },
  )

  it('pings go both ways', async () => {
    const { end, session } = await begin(echo)
    await end.limited
    end.session.ping(Buffer.from('12345678'))
    await expect.poll(() => end.pongs).toEqual(['12345678'])
    const answered = new Promise<string>((resolve) => {
      session.ping(Buffer.from('abcdefgh'), (_, __, payload) => resolve(payload.toString()))
    })
    expect(await answered).toBe('abcdefgh')
  })

  it('a server that leaves finishes what it has looked at', async () => {
    const { end, session } = await begin(echo)
    const ours = ask(end, postFields, Buffer.alloc(0))
    await ours.headed
    session.goaway(constants.NGHTTP2_NO_ERROR, 1)
    await end.wentAway
    await ours.closed
    expect(ours.resetCode).toBeUndefined()
    expect(() => ask(end, getFields)).toThrow('takes no more requests')
  })

  it('a client that leaves finishes what it has asked for', async () => {
    const { end, session } = await begin(echo)
    const ours = ask(end, postFields, body(10))
    const heard = once(session, 'goaway')
    end.session.leave()
    await heard
    await ours.closed
    expect(ours.body).toHaveLength(10)
  })

  it('what the server allows is told', async () => {
    const { end } = await begin(echo, {}, { maxConcurrentStreams: 17 })
    expect(await end.limited).toBe(17)
  })

  it('the connection that is cut closes every stream', async () => {
    const { end } = await begin((stream) => stream.respond({ ':status': 200 }))
    const all = [ask(end, getFields), ask(end, postFields, body(1_000_000))]
    for (const ours of all) await ours.headed
    end.socket.destroy()
    for (const ours of all) {
      await ours.closed
      expect(ours.resetCode).toBe(ErrorCode.cancel)
    }
    expect(end.session).toMatchObject({ isOver: true, openStreams: 0 })
  })
})
