/** Two sessions that behave: what handlers may do from within, and how streams and connections end. */
import { describe, expect, it } from 'vitest'
import { MAX_UNSENT_STREAM_BYTES } from '../../../src/http/http2/stream.ts'
import { ErrorCode } from '../../../src/http/http2/wire.ts'
import { exchange, Pair, pour } from '../../worlds/http2-pair.ts'

const ok = [':status', '200']

describe('handlers that act from within', () => {
  it('an answer from within the end of the request closes each end once', () => {
    const pair = new Pair()
    pair.server.accept = (end, stream) => {
      end.within = (event) => {
        if (event !== 'end') return
        stream.respond(ok, false)
        end.endWith(10)
      }
    }
    const asking = [pair.client.open(false), pair.client.open()]
    asking[1]?.endWith(5)
    pair.settle()
    for (const end of [...asking, ...pair.server.streams]) expect(end).toMatchObject({ isClosed: true, hasEnd: true })
    expect(pair.client.session.openStreams + pair.server.session.openStreams).toBe(0)
  })

  it('an answer before the handler is known: it still hears that all was sent', () => {
    const pair = new Pair()
    pair.server.accept = (_, stream) => stream.respond(ok, true)
    const [done, going] = [pair.client.open(false), pair.client.open()]
    pair.settle()
    expect(pair.served(done)).toMatchObject({ isSent: true, hasEnd: true, isClosed: true })
    expect(pair.served(going)).toMatchObject({ isSent: true, hasEnd: false, isClosed: false })
    going.endWith(1)
    pair.settle()
    expect(pair.served(going)).toMatchObject({ hasEnd: true, isClosed: true })
  })

  it('a reset before the handler is known: it still hears the close', () => {
    const pair = new Pair()
    pair.server.accept = (_, stream) => stream.reset(ErrorCode.refusedStream)
    const asking = [pair.client.open(false), pair.client.open()]
    pair.settle()
    for (const end of asking) {
      expect(end).toMatchObject({ isClosed: true, resetCode: ErrorCode.refusedStream })
      expect(pair.served(end).isClosed).toBe(true)
    }
  })

  it.each(['data', 'end', 'drain', 'sent'] as const)('a reset from within %s closes once and is the last', (at) => {
    for (const side of ['client', 'server'] as const) {
      const pair = new Pair()
      const healthy = exchange(pair)
      const { asking, serving } = exchange(pair)
      const [victim, far] = side === 'client' ? [asking, serving] : [serving, asking]
      pour(far, 200_000)
      victim.within = (event) => {
        if (event === at) victim.stream?.reset(ErrorCode.cancel)
      }
      victim.write(3 * MAX_UNSENT_STREAM_BYTES)
      victim.end()
      pair.settle()
      expect([victim.isClosed, far.isClosed, victim.resetCode]).toEqual([true, true, ErrorCode.cancel])
      healthy.asking.endWith(1)
      healthy.serving.endWith(1)
      pair.settle()
      expect(healthy.serving).toMatchObject({ isClosed: true, hasEnd: true, resetCode: undefined })
    }
  })

  it.each(['head', 'data', 'end', 'drain', 'sent', 'close'] as const)(
    'the end of the session from within %s closes all',
    (at) => {
      const pair = new Pair()
      const all = [exchange(pair), exchange(pair), exchange(pair)].flatMap(({ asking, serving }) => [asking, serving])
      const late = pair.client.open()
      pair.settle()
      for (const end of pair.client.streams)
        end.within = (event) => {
          if (event === at) pair.client.session.end()
        }
      pair.served(late).stream?.respond(ok, false)
      for (const end of [...all, late, pair.served(late)]) {
        end.write(2 * MAX_UNSENT_STREAM_BYTES)
        end.end()
      }
      pair.settle()
      pair.client.session.end()
      for (const end of pair.client.streams) expect(end.isClosed).toBe(true)
      expect(pair.client.session.openStreams).toBe(0)
      pair.client.transport.take()
      pair.client.session.resume()
      pair.client.session.ping(Buffer.alloc(8))
      pair.client.session.leave()
      pair.client.session.setStreamWindow(7)
      expect(pair.client.transport.take()).toHaveLength(0)
    },
  )

  it('a reader that pauses and resumes with every piece gets all of them in order', () => {
    const pair = new Pair()
    const { asking, serving } = exchange(pair)
    asking.within = (event) => {
      if (event !== 'data') return
      asking.stream?.pause()
      asking.stream?.resume()
      asking.stream?.pause()
    }
    pour(serving, 300_000, 1_000)
    while (!asking.hasEnd) {
      pair.settle(5_000)
      asking.stream?.resume()
    }
    expect(asking.readBytes).toBe(300_000)
  })

  it('a reader that resumes from within is told of one piece at a time', () => {
    const pair = new Pair()
    const { asking, serving } = exchange(pair)
    asking.stream?.pause()
    pour(serving, 60_000, 10_000)
    pair.settle(20_000)
    let [depth, deepest] = [0, 0]
    asking.within = (event) => {
      if (event !== 'data') return
      deepest = Math.max(deepest, ++depth)
      asking.stream?.resume()
      depth -= 1
    }
    asking.stream?.resume()
    expect([asking.readBytes, asking.hasEnd, deepest]).toEqual([60_000, true, 1])
  })

  it('what is written after the end, and a second end, go nowhere', () => {
    const pair = new Pair()
    const { asking, serving } = exchange(pair)
    pair.server.transport.canTakeMore = false
    serving.write(10)
    serving.end(['x', '1'])
    serving.stream?.write(Buffer.from('more'))
    serving.stream?.endWith(Buffer.from('more'))
    serving.stream?.end(['x', '2'])
    pair.server.transport.canTakeMore = true
    pair.server.session.resume()
    pair.settle()
    serving.stream?.end(['x', '3'])
    pair.settle()
    expect(asking).toMatchObject({ readBytes: 10, trailers: ['x', '1'] })
  })

  it('writers that go on from within when they may: no deeper for many streams, and all of it arrives', () => {
    const pair = new Pair()
    const streams = Array.from({ length: 90 }, () => exchange(pair))
    let [depth, deepest] = [0, 0]
    for (const { serving } of streams) {
      pour(serving, 300_000, 1_000)
      const go = serving.within
      serving.within = (event) => {
        depth += 1
        deepest = Math.max(deepest, depth)
        go(event)
        depth -= 1
      }
    }
    pair.settle()
    expect(streams.map(({ asking }) => [asking.readBytes, asking.hasEnd])).toEqual(streams.map(() => [300_000, true]))
    // The end of a body, told from within its drain, is one deeper.
    expect(deepest).toBeLessThanOrEqual(2)
  })

  it('the next request from within the close of the last, a thousand times', () => {
    const pair = new Pair()
    pair.server.accept = (_, stream) => stream.respond(ok, true)
    let left = 1_000
    const next = (): void => {
      const end = pair.client.open(false)
      end.within = (event) => {
        if (event === 'close' && --left > 0) next()
      }
    }
    next()
    pair.settle()
    expect(left).toBe(0)
    expect(pair.server.streams).toHaveLength(1_000)
    expect(pair.client.session.openStreams + pair.server.session.openStreams).toBe(0)
  })
})

describe('ends', () => {
  it('both leave: what is under way is finished, pings go on', () => {
    const pair = new Pair()
    const { asking, serving } = exchange(pair)
    pair.client.session.leave()
    pair.server.session.leave()
    pair.settle()
    expect([pair.client.goAways, pair.server.goAways]).toEqual([1, 1])
    asking.endWith(100_000)
    serving.endWith(100_000)
    pair.client.session.ping(Buffer.from('12345678'))
    pair.settle()
    expect([asking.readBytes, serving.readBytes]).toEqual([100_000, 100_000])
    expect([asking.isClosed, serving.isClosed]).toEqual([true, true])
    expect(pair.client.pongs).toEqual(['12345678'])
  })

  it('requests on their way to a server that leaves are refused, and only they', () => {
    const pair = new Pair()
    const { asking } = exchange(pair)
    const late = pair.client.open()
    late.endWith(50_000)
    pair.server.session.leave()
    pair.settle()
    expect(late).toMatchObject({ isClosed: true, resetCode: ErrorCode.refusedStream })
    expect(asking.isClosed).toBe(false)
    expect(pair.server.streams).toHaveLength(1)
  })

  it('a reset without an error by ourselves closes at once, read or not', () => {
    const pair = new Pair()
    const { asking, serving } = exchange(pair)
    serving.stream?.pause()
    asking.endWith(10)
    pair.settle()
    serving.stream?.reset(ErrorCode.noError)
    expect(serving.isClosed).toBe(true)
    pair.settle()
    expect(asking).toMatchObject({ isClosed: true, resetCode: ErrorCode.noError })
  })

  it('an answer that was read late, after its connection has gone, is still whole', () => {
    const pair = new Pair()
    const asking = pair.client.open(false)
    asking.stream?.pause()
    pair.settle()
    pair.served(asking).stream?.respond(ok, false)
    pair.served(asking).endWith(60_000)
    pair.settle()
    pair.client.session.end()
    expect(asking).toMatchObject({ isClosed: false, readBytes: 0 })
    asking.stream?.resume()
    expect(asking).toMatchObject({ isClosed: true, readBytes: 60_000, hasEnd: true, resetCode: undefined })
    expect(pair.client.transport.take()).toHaveLength(0)
  })

  it('heads of many frames go both ways', () => {
    const limits = { maxHeadBytes: 1024 * 1024, maxHeadFields: 2_000 }
    const pair = new Pair({ client: limits, server: limits })
    const long = Array.from({ length: 20 }, (_, index) => [`x-${index}`, 'é'.repeat(20_000)]).flat()
    const asking = pair.client.open(false, [
      ':method',
      'GET',
      ':scheme',
      'https',
      ':authority',
      'a',
      ':path',
      '/',
      ...long,
    ])
    pair.settle(1_000)
    const serving = pair.served(asking)
    expect(serving.fields.slice(8)).toEqual(long)
    serving.stream?.respond([...ok, ...long], false)
    serving.end(long)
    pair.settle()
    expect(asking).toMatchObject({ fields: [...ok, ...long], trailers: long, isClosed: true })
  })
})
