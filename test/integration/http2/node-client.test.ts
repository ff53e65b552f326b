/** Our server against the client of Node, on sockets: bodies, trailers, bare answers, resets, windows, tables, ends. */
import { once } from 'node:events'
import { constants } from 'node:http2'
import { afterEach, describe, expect, it } from 'vitest'
import { ErrorCode } from '../../../src/http/http2/wire.ts'
import { contents } from '../../worlds/http2-pair.ts'
import { answerOf, closeAll, nodeClient, type OurStream } from './loopback.ts'

afterEach(closeAll)

const body = (bytes: number): Buffer => contents(1, 'client', 0, bytes)
const ok = [':status', '200']

/** Answers with what came, when it has come, with its trailers. */
function echo(ours: OurStream): void {
  const answer = (): void => {
    ours.stream?.respond([...ok, 'x-kind', 'echo'], false)
    ours.send(ours.body, ours.trailers ?? [])
  }
  if (ours.trailers !== undefined) answer()
  else ours.ended = answer
}

describe('our server and a client of Node', () => {
  it.each([0, 1, 16_383, 16_384, 16_385, 5_000_000])('a body of %i bytes goes there and comes back', async (bytes) => {
    const { client, end } = await nodeClient(echo)
    const stream = client.request({ ':method': 'POST', ':path': '/a' })
    stream.end(body(bytes))
    const { headers, body: came } = await answerOf(stream)
    expect(headers[':status']).toBe(200)
    expect(came.equals(body(bytes))).toBe(true)
    expect(end.streams[0]?.resetCode).toBeUndefined()
    expect(end.session.openStreams).toBe(0)
  })

  it('trailers go both ways', async () => {
    const { client } = await nodeClient(echo)
    const stream = client.request({ ':method': 'POST' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': 'abc' }))
    stream.end(body(40_000))
    const answer = await answerOf(stream)
    expect(answer.trailers).toMatchObject({ 'x-sum': 'abc' })
    expect(answer.body).toHaveLength(40_000)
  })

  it.each([
    ['HEAD', '200'],
    ['GET', '204'],
    ['GET', '304'],
  ])('%s with %s has no body', async (method, status) => {
    const { client } = await nodeClient((ours) => ours.stream?.respond([':status', status, 'x', 'y'], true))
    const answer = await answerOf(client.request({ ':method': method }))
    expect(answer).toMatchObject({ headers: { ':status': Number(status), x: 'y' }, resetCode: 0 })
    expect(answer.body).toHaveLength(0)
  })

  it('answers before the answer arrive', async () => {
    const { client } = await nodeClient((ours) => {
      ours.stream?.respond([':status', '103'], false)
      ours.stream?.respond(ok, true)
    })
    expect(await answerOf(client.request({}))).toMatchObject({ informed: [103], headers: { ':status': 200 } })
  })

  it('a hundred streams at once, each with its own body', async () => {
    const { client, end } = await nodeClient(echo)
    const answers = Array.from({ length: 100 }, (_, index) => {
      const stream = client.request({ ':method': 'POST' })
      stream.end(body(index * 1_000))
      return answerOf(stream)
    })
    for (const [index, { body: came }] of (await Promise.all(answers)).entries())
      expect(came.equals(body(index * 1_000))).toBe(true)
    expect(end.session.openStreams).toBe(0)
    expect(end.failures).toEqual([])
  })

  it('heads of many frames go both ways', async () => {
    const long = 'é'.repeat(30_000)
    const { client, end } = await nodeClient(
      (ours, fields) => ours.stream?.respond([...ok, ...fields.slice(-2)], true),
      {},
      {
        maxHeaderListSize: 200_000,
      },
    )
    const stream = client.request({ 'x-long': long })
    expect((await answerOf(stream)).headers['x-long']).toBe(long)
    expect(end.failures).toEqual([])
  })

  it('tables of other sizes, and none, are kept to', async () => {
    const { client, end } = await nodeClient(
      (ours, fields) => ours.stream?.respond([...ok, ...fields.slice(-2)], true),
      {},
      {
        headerTableSize: 0,
      },
    )
    for (const headerTableSize of [0, 100, 65_536, 4_096, 0]) {
      client.settings({ headerTableSize })
      for (let count = 0; count < 5; count++) {
        const { headers } = await answerOf(client.request({ 'x-same': `value-${count % 2}` }))
        expect(headers['x-same']).toBe(`value-${count % 2}`)
      }
    }
    expect(end.failures).toEqual([])
  })

  it.each([0, 1, 1_000])(
    'a client that begins with a window of %i bytes and widens it gets all',
    async (initialWindowSize) => {
      const { client, end } = await nodeClient(
        (ours) => {
          ours.stream?.respond(ok, false)
          ours.send(body(300_000))
        },
        {},
        { initialWindowSize },
      )
      const stream = client.request({})
      const answer = answerOf(stream)
      await once(stream, 'response')
      client.settings({ initialWindowSize: 65_535 })
      client.settings({ initialWindowSize: 10 })
      client.settings({ initialWindowSize: 100_000, maxFrameSize: 100_000 })
      expect((await answer).body.equals(body(300_000))).toBe(true)
      expect(end.failures).toEqual([])
    },
  )

  it('windows of ours that change under way lose nothing', async () => {
    const sizes = [65_535, 1_000, 500_000, 16_384]
    const { client, end } = await nodeClient(
      (ours) => {
        ours.arrived = () => {
          const next = sizes.shift()
          if (next !== undefined) end.session.setStreamWindow(next)
        }
        echo(ours)
      },
      { streamWindowBytes: 1_000_000 },
    )
    const stream = client.request({ ':method': 'POST' })
    stream.end(body(3_000_000))
    expect((await answerOf(stream)).body.equals(body(3_000_000))).toBe(true)
    expect(sizes).toEqual([])
    expect(end.failures).toEqual([])
  })

  it.each(['at once', 'after the head', 'in the body'])(
    'a reset by the client %s closes the stream with its code',
    async (stage) => {
      let began: (ours: OurStream) => void = () => {}
      const begun = new Promise<OurStream>((resolve) => {
        began = resolve
      })
      const { client, end } = await nodeClient((ours) => {
        if (stage !== 'at once') ours.stream?.respond(ok, false)
        if (stage === 'in the body') ours.stream?.write(body(10_000))
        began(ours)
      })
      const stream = client.request({ ':method': 'POST' })
      stream.on('error', () => {})
      stream.write('x')
      if (stage === 'after the head') await once(stream, 'response')
      if (stage === 'in the body') await once(stream, 'data')
      const ours = await begun
      stream.close(constants.NGHTTP2_CANCEL)
      await ours.closed
      expect(ours.resetCode).toBe(ErrorCode.cancel)
      expect(end.session.openStreams).toBe(0)
    },
  )

  it.each(['at once', 'after the head', 'in the body'])(
    'a reset by the server %s reaches the client',
    async (stage) => {
      const { client, end } = await nodeClient((ours) => {
        if (stage !== 'at once') ours.stream?.respond(ok, false)
        if (stage === 'in the body') ours.stream?.write(body(200_000))
        ours.stream?.reset(ErrorCode.enhanceYourCalm)
      })
      const stream = client.request({ ':method': 'POST' })
      expect((await answerOf(stream)).resetCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM)
      expect(end.session.openStreams).toBe(0)
    },
  )

  it('an answer before the request is whole, and a reset without an error behind it', async () => {
    const { client } = await nodeClient((ours) => {
      ours.stream?.respond(ok, false)
      ours.stream?.endWith(body(10))
      ours.stream?.reset(ErrorCode.noError)
    })
    const stream = client.request({ ':method': 'POST' })
    stream.write('x')
    const answer = await answerOf(stream)
    expect(answer).toMatchObject({ headers: { ':status': 200 }, resetCode: 0 })
    expect(answer.body).toHaveLength(10)
  })

  it('pings go both ways', async () => {
    const { client, end } = await nodeClient(echo)
    await once(client, 'remoteSettings')
    const answered = new Promise<string>((resolve) => {
      client.ping(Buffer.from('abcdefgh'), (_, __, payload) => resolve(payload.toString()))
    })
    expect(await answered).toBe('abcdefgh')
    end.session.ping(Buffer.from('12345678'))
    await expect.poll(() => end.pongs).toEqual(['12345678'])
  })

  it('a server that leaves finishes what is under way', async () => {
    const { client, end } = await nodeClient(echo)
    const stream = client.request({ ':method': 'POST' })
    const answer = answerOf(stream)
    stream.write(body(10))
    await expect.poll(() => end.streams.length).toBe(1)
    end.session.leave()
    await once(client, 'goaway')
    stream.end()
    expect((await answer).body).toHaveLength(10)
  })

  it('a client that leaves is heard, and what is under way is finished', async () => {
    const { client, end } = await nodeClient(echo)
    const stream = client.request({ ':method': 'POST' })
    const answer = answerOf(stream)
    stream.write(body(10))
    await expect.poll(() => end.streams.length).toBe(1)
    client.goaway(0)
    await end.wentAway
    stream.end()
    expect((await answer).body).toHaveLength(10)
  })

  it('more streams than allowed: Node keeps to the limit once it knows it', async () => {
    const { client, end } = await nodeClient(echo, { maxPeerStreams: 3 })
    await once(client, 'remoteSettings')
    const answers = Array.from({ length: 20 }, () => {
      const stream = client.request({ ':method': 'POST' })
      stream.end('x')
      return answerOf(stream)
    })
    for (const { headers } of await Promise.all(answers)) expect(headers[':status']).toBe(200)
    expect(end.failures).toEqual([])
  })

  it('the connection that is cut closes every stream', async () => {
    const { client, end } = await nodeClient(() => {})
    const streams = [client.request({ ':method': 'POST' }), client.request({ ':method': 'POST' })]
    for (const stream of streams) stream.on('error', () => {})
    await expect.poll(() => end.streams.length).toBe(2)
    client.destroy()
    for (const ours of end.streams) await ours.closed
    expect(end.session).toMatchObject({ isOver: true, openStreams: 0 })
  })
})
