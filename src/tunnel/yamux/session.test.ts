import { describe, expect, it } from 'vitest'
import {
  ACK,
  DATA,
  dataFrame,
  FIN,
  GO_AWAY,
  naiveDecode,
  naiveFrame,
  PING,
  RST,
  SYN,
  WINDOW_UPDATE,
} from '../../../test/worlds/yamux-naive.ts'
import { Pair, type PairOptions } from '../../../test/worlds/yamux-pair.ts'
import { MAX_ACCEPT_BACKLOG } from './limits.ts'

const framesOf = (buffers: readonly Uint8Array[]) => naiveDecode(Buffer.concat(buffers)).frames

/** A settled pair with one stream from client to server. */
function pairWithStream(options?: PairOptions) {
  const pair = new Pair(options)
  const near = pair.client.open()
  pair.settle()
  const far = pair.server.streams.get(near.core.id)!
  return { pair, near, far }
}

describe('streams of a session', () => {
  it('have odd ids from the client and even ones from the server', () => {
    const pair = new Pair()
    expect([pair.client.open(), pair.client.open(), pair.server.open()].map(({ core }) => core.id)).toEqual([1, 3, 2])
  })

  it('carry data with the very first write, before any answer', () => {
    const pair = new Pair()
    pair.client.open().write(5)
    const frames = framesOf(pair.client.session.take(1e6))
    expect(frames.map(({ type, flags, length }) => [type, flags, length])).toEqual([
      [PING, SYN, 0],
      [WINDOW_UPDATE, SYN, 0],
      [DATA, 0, 5],
    ])
  })

  it('are acknowledged when accepted, in one frame with whatever credit is due', () => {
    const pair = new Pair()
    pair.client.open()
    pair.send('client')
    pair.deliver('client')
    expect(framesOf(pair.server.session.take(1e6))).toContainEqual(
      expect.objectContaining({ type: WINDOW_UPDATE, flags: ACK, streamId: 1 }),
    )
  })

  it('end each direction by itself', () => {
    const { pair, near, far } = pairWithStream()
    near.write(10)
    near.end()
    pair.settle()
    far.readAll()
    expect([far.readBytes, far.sawEnd]).toEqual([10, true])
    far.write(20)
    pair.settle()
    near.readAll()
    expect([near.readBytes, near.sawEnd]).toEqual([20, false])
    far.end()
    pair.settle()
    near.readAll()
    expect(near.sawEnd).toBe(true)
    expect([pair.client.session.streamCount, pair.server.session.streamCount]).toEqual([0, 0])
  })

  it('put the end in a frame of its own, after all data', () => {
    const { pair, near } = pairWithStream()
    near.write(10)
    near.end()
    const frames = framesOf(pair.client.session.take(1e6))
    expect(frames.map(({ type, flags }) => [type, flags])).toEqual([
      [DATA, 0],
      [WINDOW_UPDATE, FIN],
    ])
  })

  it('take an end that comes with data, after the data', () => {
    const { pair, far } = pairWithStream()
    far.isEager = true
    const payload = Buffer.from([31, 38, 45])
    for (const byte of dataFrame(1, payload, FIN)) pair.server.session.receive(Buffer.from([byte]))
    expect([far.readBytes, far.sawEnd]).toEqual([3, true])
  })

  it('can be read to the end after both directions have ended, and after the session has, too', () => {
    const { pair, near, far } = pairWithStream()
    far.end()
    near.write(100)
    near.end()
    pair.settle()
    expect([pair.client.session.streamCount, pair.server.session.streamCount]).toEqual([0, 1])
    pair.server.session.close()
    expect(far.error).toBeUndefined()
    far.readAll()
    expect(pair.server.session.streamCount).toBe(0)
    expect([far.readBytes, far.sawEnd]).toEqual([100, true])
    expect(pair.server.budget.bufferedBytes).toBe(0)
  })

  it('that have ended and are not read are the first to go when memory runs out', () => {
    const { pair, near, far } = pairWithStream({ budget: { maxSessionBufferedBytes: 150_000 } })
    far.end()
    near.write(100_000)
    near.end()
    pair.settle()
    const other = pair.client.open()
    other.write(60_000)
    pair.settle()
    expect(far.error).toMatchObject({ code: 'buffer-limit', message: expect.stringContaining('held 100000 bytes') })
    expect(pair.server.streams.get(other.core.id)?.core.heldBytes).toBe(60_000)
  })

  it('are reset in both directions at once; unread and unsent bytes are gone', () => {
    const { pair, near, far } = pairWithStream()
    near.write(100)
    far.write(100)
    pair.settle()
    near.write(100)
    near.reset()
    pair.settle()
    expect(far.error).toMatchObject({ code: 'reset-by-peer' })
    expect(far.core.read()).toBeUndefined()
    expect(() => near.core.write(Buffer.from('x'))).toThrow('stream 1 was reset here')
    expect([pair.client.budget.bufferedBytes, pair.server.budget.bufferedBytes]).toEqual([0, 0])
  })

  it('that are reset before their first frame left are never heard of', () => {
    const pair = new Pair()
    pair.client.open().reset()
    pair.settle()
    expect(pair.server.streams.size).toBe(0)
    pair.client.open()
    pair.settle()
    expect([...pair.server.streams.keys()]).toEqual([3])
  })

  it('refuse a write after the end', () => {
    const { near } = pairWithStream()
    near.end()
    expect(() => near.core.write(Buffer.from('x'))).toThrow('stream 1: write after end')
  })

  it('tell a writer to wait and to go on', () => {
    const { pair, near, far } = pairWithStream({ limits: { sendHighWaterBytes: 1_000 } })
    near.write(999)
    expect(near.mayWrite).toBe(true)
    near.write(1)
    expect(near.mayWrite).toBe(false)
    pair.settle()
    expect(near.mayWrite).toBe(true)
    expect(far.core.heldBytes).toBe(1_000)
  })

  it('are reset when idle for too long, by both ends', () => {
    const { pair, near, far } = pairWithStream({ limits: { streamIdleMs: 60_000 } })
    pair.clock.advance(59_999)
    pair.client.session.tick()
    expect(near.error).toBeUndefined()
    pair.clock.advance(10_000)
    pair.client.session.tick()
    expect(near.error).toMatchObject({ code: 'idle', message: 'stream 1 moved no byte for 60 s' })
    pair.settle()
    expect(far.error).toMatchObject({ code: 'reset-by-peer' })
  })

  it('may be opened and reset by the thousand without looking like a flood to either end', () => {
    const pair = new Pair()
    for (let round = 0; round < 40; round++) {
      const streams = Array.from({ length: 100 }, () => pair.client.open())
      for (const stream of streams) stream.write(10)
      pair.settle()
      for (const stream of streams) stream.reset()
      for (const stream of pair.server.streams.values()) stream.end()
      pair.settle()
    }
    expect([pair.client.error, pair.server.error]).toEqual([undefined, undefined])
    expect(pair.client.session.counters.openedStreams).toBe(4_000)
  })

  it('beyond what the far end takes at once are refused, whatever they brought, without looking like a flood', () => {
    const pair = new Pair()
    pair.server.acceptsAtOnce = false
    for (let round = 0; round < 5; round++) {
      for (let count = 0; count < 4_000; count++) {
        const stream = pair.client.open()
        for (let piece = 0; piece < 3; piece++) stream.write(100)
        stream.end()
      }
      pair.settle()
      pair.clock.advance(1_000)
    }
    expect([pair.client.error, pair.server.error]).toEqual([undefined, undefined])
    expect(pair.server.session.counters.refusedStreams).toBe(20_000 - MAX_ACCEPT_BACKLOG)
  })

  it('cannot be more than the limit, nor opened faster', () => {
    const few = new Pair({ limits: { maxStreams: 1 } })
    few.client.open()
    expect(() => few.client.open()).toThrow(expect.objectContaining({ code: 'too-many-streams' }))
    const slow = new Pair({ limits: { maxOpensPerSecond: 4 } })
    slow.client.open()
    slow.client.open()
    expect(() => slow.client.open()).toThrow(expect.objectContaining({ code: 'too-many-opens' }))
    slow.clock.advance(500)
    expect(slow.client.open().core.id).toBe(5)
  })
})

describe('late and odd frames, as other implementations take them', () => {
  it.each([
    ['data after our reset', dataFrame(1, Buffer.alloc(1_000))],
    ['credit after our reset', naiveFrame(WINDOW_UPDATE, 0, 1, 5_000)],
    ['an end after our reset', naiveFrame(WINDOW_UPDATE, FIN, 1, 0)],
    ['a reset after our reset', naiveFrame(WINDOW_UPDATE, RST, 1, 0)],
    ['data for a stream never opened', dataFrame(77, Buffer.alloc(1_000))],
  ])('%s does no harm', (_, frame) => {
    const { pair, far } = pairWithStream()
    far.reset()
    pair.server.session.receive(frame)
    expect(pair.server.error).toBeUndefined()
    expect(pair.server.budget.bufferedBytes).toBe(0)
  })

  it('data that was under way after an end is dropped, within the window', () => {
    const { pair, far } = pairWithStream()
    pair.server.session.receive(naiveFrame(WINDOW_UPDATE, FIN, 1, 0))
    pair.server.session.receive(dataFrame(1, Buffer.alloc(256 * 1024)))
    expect(pair.server.error).toBeUndefined()
    expect(far.core.isReadEnded).toBe(true)
    pair.server.session.receive(dataFrame(1, Buffer.alloc(1)))
    expect(pair.server.error).toMatchObject({ code: 'window-violation' })
  })

  it('a second end is a protocol error', () => {
    const { pair } = pairWithStream()
    pair.server.session.receive(naiveFrame(WINDOW_UPDATE, FIN, 1, 0))
    pair.server.session.receive(naiveFrame(WINDOW_UPDATE, FIN, 1, 0))
    expect(pair.server.error).toMatchObject({ code: 'bad-frame', message: 'stream 1 was ended twice' })
  })
})

describe('pings and go-aways', () => {
  it('answer a ping with its own value, before any data', () => {
    const { pair, far } = pairWithStream()
    far.write(100)
    pair.server.session.receive(naiveFrame(PING, SYN, 0, 0xdead_beef))
    expect(framesOf(pair.server.session.take(1e6))[0]).toMatchObject({ type: PING, flags: ACK, length: 0xdead_beef })
  })

  it('measure the round trip from the start', () => {
    const pair = new Pair()
    pair.send('client')
    pair.clock.advance(30)
    pair.deliver('client')
    pair.settle()
    expect(pair.client.session.rttMs).toBe(30)
  })

  it.each([
    [1, 'the peer ended the session: protocol error'],
    [2, 'the peer ended the session: internal error'],
    [7, 'the peer ended the session: code 7'],
  ])('a go-away with code %i ends the session', (code, message) => {
    const { pair, far } = pairWithStream()
    pair.server.session.receive(naiveFrame(GO_AWAY, 0, 0, code))
    expect(pair.server.error).toMatchObject({ code: 'peer-went-away', message })
    expect(far.error).toMatchObject({ code: 'session-ended' })
  })

  it('say farewell when closed, and nothing afterwards', () => {
    const { pair, near } = pairWithStream()
    near.write(100)
    pair.client.session.close()
    expect(framesOf(pair.client.session.take(1e6))).toMatchObject([{ type: GO_AWAY, length: 0 }])
    expect(pair.client.session.take(1e6)).toEqual([])
    expect(() => pair.client.open()).toThrow(expect.objectContaining({ code: 'session-ended' }))
  })

  it('end with an internal error when a handler of ours fails, and keep the cause', () => {
    const { pair, far } = pairWithStream()
    const cause = new Error('bug')
    far.core.attach({
      onReadable: () => {
        throw cause
      },
      onWritable() {},
      onReset() {},
    })
    pair.server.session.receive(dataFrame(1, Buffer.from('x')))
    expect(pair.server.error).toMatchObject({ code: 'internal', cause })
    expect(framesOf(pair.server.session.take(0))).toMatchObject([{ type: GO_AWAY, length: 2 }])
  })
})
