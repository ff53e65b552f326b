/** Two sessions that behave: windows that change under way, and whose turn it is. */
import { describe, expect, it } from 'vitest'
import { MAX_UNSENT_STREAM_BYTES } from '../../../src/http/http2/stream.ts'
import { ErrorCode } from '../../../src/http/http2/wire.ts'
import { DATA, naiveDecode } from '../../worlds/http2-naive.ts'
import { exchange, Pair, pour } from '../../worlds/http2-pair.ts'

const ok = [':status', '200']

describe('windows', () => {
  it('a window that shrinks under way: what was read and not told comes back, and the body does not stop', () => {
    const pair = new Pair({ client: { streamWindowBytes: 1_000_000 } })
    const { asking, serving } = exchange(pair)
    // Just below the half at which the client would tell the server.
    serving.write(490_000)
    pair.settle()
    pair.client.session.setStreamWindow(65_535)
    pair.settle()
    pour(serving, 3_000_000)
    pair.settle()
    expect(asking).toMatchObject({ readBytes: 3_000_000, hasEnd: true })
  })

  it('the end of a body whose window has shrunk below nothing is no offence', () => {
    const pair = new Pair({ client: { streamWindowBytes: 200_000 } })
    const { asking, serving } = exchange(pair)
    asking.stream?.pause()
    serving.write(150_000)
    pair.settle()
    pair.client.session.setStreamWindow(1_000)
    pair.settle()
    serving.end()
    pair.settle()
    asking.stream?.resume()
    expect(asking).toMatchObject({ readBytes: 150_000, hasEnd: true, resetCode: undefined })
  })

  it('no window at all, then one byte, then a wide one', () => {
    const pair = new Pair({ client: { streamWindowBytes: 0 } })
    const { asking, serving } = exchange(pair)
    serving.endWith(100_000)
    pair.settle()
    expect(asking.readBytes).toBe(0)
    pair.client.session.setStreamWindow(1)
    pair.client.session.setStreamWindow(100)
    pair.settle(7)
    expect(asking.readBytes).toBe(100_000)
    pair.client.session.setStreamWindow(2 ** 31 - 1)
    pair.settle()
    expect(asking).toMatchObject({ hasEnd: true, readBytes: 100_000 })
  })

  it.each([65_535, 65_536, 1_000, 16_777_216])(
    'a connection window of %i bytes carries bodies of any length',
    (bytes) => {
      const pair = new Pair({ client: { connectionWindowBytes: bytes }, server: { connectionWindowBytes: bytes } })
      const { asking, serving } = exchange(pair)
      pour(serving, 500_000)
      pour(asking, 500_000)
      pair.settle()
      expect([asking.readBytes, serving.readBytes]).toEqual([500_000, 500_000])
    },
  )

  it('a stream that nobody reads holds its own window and nobody else', () => {
    const pair = new Pair()
    const stalled = exchange(pair)
    const moving = exchange(pair)
    stalled.asking.stream?.pause()
    pour(stalled.serving, 5_000_000)
    pour(moving.serving, 5_000_000)
    pair.settle()
    expect(moving.asking).toMatchObject({ readBytes: 5_000_000, hasEnd: true })
    const sent = stalled.serving.writtenBytes - (stalled.serving.stream?.queuedBytes ?? 0)
    expect(sent).toBe(65_535)
    expect(stalled.serving.stream?.queuedBytes).toBeLessThan(MAX_UNSENT_STREAM_BYTES + 16_384)
    stalled.asking.stream?.resume()
    pair.settle()
    expect(stalled.asking).toMatchObject({ readBytes: 5_000_000, hasEnd: true })
  })

  it('what a stream that is broken off has not read comes back to the connection', () => {
    const pair = new Pair({ client: { connectionWindowBytes: 65_535 } })
    for (let count = 0; count < 20; count++) {
      const { asking, serving } = exchange(pair)
      asking.stream?.pause()
      serving.write(60_000)
      pair.settle()
      asking.stream?.reset(ErrorCode.cancel)
      pair.settle()
    }
    const { asking, serving } = exchange(pair)
    serving.endWith(60_000)
    pair.settle()
    expect(asking.readBytes).toBe(60_000)
  })
})

describe('turns', () => {
  it('two bodies at once: neither waits for the other to finish', () => {
    const pair = new Pair({ client: { streamWindowBytes: 1_000_000 } })
    const both = [exchange(pair), exchange(pair)]
    pair.server.transport.canTakeMore = false
    for (const { serving } of both) serving.endWith(500_000)
    pair.server.transport.canTakeMore = true
    pair.server.session.resume()
    const { frames } = naiveDecode(Buffer.concat(pair.server.transport.sent))
    const order = frames.filter(({ type }) => type === DATA).map(({ streamId }) => streamId)
    for (let index = 2; index < order.length; index++) expect(order[index]).toBe(order[index - 2])
    expect(new Set(order).size).toBe(2)
  })

  it('bodies wait where the transport has enough, heads and ends do not', () => {
    const pair = new Pair()
    const { asking, serving } = exchange(pair)
    pair.server.transport.canTakeMore = false
    expect(serving.write(MAX_UNSENT_STREAM_BYTES)).toBe(false)
    const other = pair.client.open(false)
    pair.settle()
    pair.served(other).stream?.respond(ok, false)
    pair.served(other).end(['x', '1'])
    pair.settle()
    expect(other).toMatchObject({ trailers: ['x', '1'], isClosed: true })
    expect(asking.readBytes).toBe(0)
    expect(serving.drains).toBe(0)
    pair.server.transport.canTakeMore = true
    pair.server.session.resume()
    pair.settle()
    expect(asking.readBytes).toBe(MAX_UNSENT_STREAM_BYTES)
    expect(serving.drains).toBe(1)
  })
})
