/** What a peer may try with many frames, each by its name: the connection ends before it costs more than it should. */
import { describe, expect, it } from 'vitest'
import {
  MAX_IDLE_FRAMES_AT_ONCE,
  MAX_IDLE_FRAMES_PER_SECOND,
  MAX_STREAM_RESETS_AT_ONCE,
  MAX_STREAM_RESETS_PER_SECOND,
} from '../../src/http/http2/frame-budget.ts'
import { MAX_REMEMBERED_RESETS } from '../../src/http/http2/stream-resets.ts'
import {
  ACK,
  DATA,
  data,
  END_STREAM,
  GOAWAY,
  getFields,
  HEADERS,
  head,
  naiveFrame,
  PADDED,
  PING,
  PRIORITY,
  postFields,
  RST_STREAM,
  resetStream,
  settings,
  uint32,
  windowUpdate,
} from '../worlds/http2-naive.ts'
import { contents, Victim } from '../worlds/http2-pair.ts'

const idleFrames: readonly (readonly [string, Buffer])[] = [
  ['pings', naiveFrame(PING, 0, 0, Buffer.alloc(8))],
  ['answers to pings nobody sent', naiveFrame(PING, ACK, 0, Buffer.alloc(8))],
  ['settings', settings()],
  ['settings that change every window', settings([4, 1_000])],
  ['priorities', naiveFrame(PRIORITY, 0, 1, Buffer.alloc(5))],
  ['empty data', data(1, Buffer.alloc(0))],
  ['data of padding alone', naiveFrame(DATA, PADDED, 1, Buffer.from([2, 0, 0]))],
  ['frames of unknown kinds', naiveFrame(0xbb, 0, 0, Buffer.alloc(8))],
]

describe('frames that move nothing', () => {
  it.each(idleFrames)('%s without end: the connection ends', (_, frame) => {
    const victim = new Victim('server')
    victim.attack(head(1, postFields))
    // The settings of the beginning have been counted.
    for (let count = 0; count < MAX_IDLE_FRAMES_AT_ONCE - 2; count++) victim.attack(frame)
    expect(victim.failureCode).toBeUndefined()
    victim.attack(frame)
    expect(victim.failureCode).toBe('enhanceYourCalm')
  })

  it.each(idleFrames)('%s now and then: the connection goes on', (_, frame) => {
    const victim = new Victim('server')
    victim.attack(head(1, postFields))
    for (let count = 0; count < 3 * MAX_IDLE_FRAMES_AT_ONCE; count++) {
      victim.clock.nowMs += 1_000 / MAX_IDLE_FRAMES_PER_SECOND
      victim.attack(frame)
    }
    expect(victim.failureCode).toBeUndefined()
  })

  it('goings away without end: the connection ends', () => {
    const victim = new Victim('client')
    for (let count = 0; count < MAX_IDLE_FRAMES_AT_ONCE; count++) victim.attack(naiveFrame(GOAWAY, 0, 0, uint32(0, 0)))
    expect(victim.failureCode).toBe('enhanceYourCalm')
  })
})

/** Each is one stream that the server has had work with and nobody wants. */
const wasted: readonly (readonly [string, (id: number) => Buffer[]])[] = [
  ['requests that are reset at once', (id) => [head(id, getFields, END_STREAM), resetStream(id, 8)]],
  [
    'requests with a body that are reset',
    (id) => [head(id, postFields), data(id, Buffer.alloc(0)), resetStream(id, 8)],
  ],
  ['requests without a path', (id) => [head(id, getFields.slice(0, 6), END_STREAM)]],
  ['heads beyond the limit', (id) => [head(id, [...getFields, 'x', 'y'.repeat(100)], END_STREAM)]],
  ['window updates of nothing', (id) => [head(id, postFields), windowUpdate(id, 0)]],
  ['window updates beyond 31 bits', (id) => [head(id, postFields), windowUpdate(id, 2 ** 31 - 1)]],
  ['trailers that do not end', (id) => [head(id, postFields), head(id, ['x', '1'])]],
  [
    'bodies longer than announced',
    (id) => [head(id, [...postFields, 'content-length', '0']), data(id, Buffer.alloc(1))],
  ],
  ['data after the end', (id) => [head(id, getFields, END_STREAM), data(id, Buffer.alloc(1))]],
]

describe('rapid resets', () => {
  it.each(wasted)('%s: the connection ends', (name, attack) => {
    const victim = new Victim('server', name.startsWith('heads') ? { maxHeadBytes: 200 } : {})
    let id = 1
    for (let count = 0; count < MAX_STREAM_RESETS_AT_ONCE; count++, id += 2) victim.attack(...attack(id))
    expect(victim.failureCode).toBeUndefined()
    expect(victim.end.session.openStreams).toBe(0)
    expect(victim.end.streams.every(({ isClosed }) => isClosed)).toBe(true)
    victim.attack(...attack(id))
    expect(victim.failureCode).toBe('enhanceYourCalm')
    expect(victim.end.streams.every(({ isClosed }) => isClosed)).toBe(true)
  })

  it('streams beyond the allowed, without end: the connection ends', () => {
    const victim = new Victim('server', { maxPeerStreams: 10 })
    let id = 1
    for (; id <= 2 * (10 + MAX_STREAM_RESETS_AT_ONCE); id += 2) victim.attack(head(id, getFields, END_STREAM))
    expect(victim.failureCode).toBeUndefined()
    expect(victim.end.streams).toHaveLength(10)
    victim.attack(head(id, getFields, END_STREAM))
    expect(victim.failureCode).toBe('enhanceYourCalm')
  })

  it('trailers for a stream that is over, without end: the connection ends', () => {
    const victim = new Victim('server')
    victim.attack(head(1, postFields))
    victim.end.streams[0]?.stream?.reset(8)
    for (let count = 0; count <= MAX_STREAM_RESETS_AT_ONCE; count++) victim.attack(head(1, ['x', '1'], END_STREAM))
    expect(victim.failureCode).toBe('enhanceYourCalm')
  })

  it('resets as they come in the life of a client: the connection goes on', () => {
    const victim = new Victim('server')
    for (let count = 0; count < 3 * MAX_STREAM_RESETS_AT_ONCE; count++) {
      victim.clock.nowMs += 1_000 / MAX_STREAM_RESETS_PER_SECOND
      victim.attack(head(2 * count + 1, getFields, END_STREAM), resetStream(2 * count + 1, 8))
    }
    expect(victim.failureCode).toBeUndefined()
  })

  it('resets of streams that we have answered and ended before their bodies were over: the connection goes on', () => {
    const victim = new Victim('server')
    for (let count = 0; count < 3 * MAX_STREAM_RESETS_AT_ONCE; count++) {
      const id = 2 * count + 1
      victim.attack(head(id, postFields))
      const stream = victim.end.streams[count]?.stream
      stream?.respond([':status', '413'], true)
      stream?.reset(0)
      victim.attack(resetStream(id, 0))
    }
    expect(victim.failureCode).toBeUndefined()
    expect(victim.end.session.openStreams).toBe(0)
  })

  it('resets without an error of streams that we have answered, and that we do not reset: the connection goes on', () => {
    const victim = new Victim('server')
    for (let count = 0; count < 3 * MAX_STREAM_RESETS_AT_ONCE; count++) {
      victim.attack(head(2 * count + 1, postFields))
      victim.end.streams[count]?.stream?.respond([':status', '403'], true)
      victim.attack(resetStream(2 * count + 1, 0))
    }
    expect(victim.failureCode).toBeUndefined()
    expect(victim.end.session.openStreams).toBe(0)
  })

  it('data on streams that the client has ended, without end: the connection ends', () => {
    const victim = new Victim('server')
    let id = 1
    const attack = (): void => {
      victim.attack(head(id, getFields, END_STREAM))
      victim.end.streams.at(-1)?.stream?.respond([':status', '204'], true)
      victim.attack(data(id, Buffer.alloc(1)))
      id += 2
    }
    for (let count = 0; count < MAX_STREAM_RESETS_AT_ONCE; count++) attack()
    expect(victim.failureCode).toBeUndefined()
    attack()
    expect(victim.failureCode).toBe('enhanceYourCalm')
  })

  it('what comes for a stream that we have reset is ignored as long as it can have been under way, then reset again', () => {
    const victim = new Victim('server')
    const ids = Array.from({ length: MAX_REMEMBERED_RESETS + 1 }, (_, index) => 2 * index + 1)
    for (const id of ids) {
      victim.attack(head(id, postFields))
      victim.end.streams.at(-1)?.stream?.reset(8)
    }
    victim.answers()
    for (const id of ids.toReversed()) victim.attack(data(id, Buffer.alloc(1)))
    expect(victim.answers().map(({ type, streamId }) => [type, streamId])).toEqual([[RST_STREAM, 1]])
    expect(victim.failureCode).toBeUndefined()
  })

  it.each([
    ['without an error', 0, MAX_IDLE_FRAMES_AT_ONCE],
    ['with one', 8, MAX_STREAM_RESETS_AT_ONCE],
  ])('resets %s of a stream that is over, without end: the connection ends', (_, code, atOnce) => {
    const victim = new Victim('server')
    victim.attack(head(1, postFields))
    victim.end.streams[0]?.stream?.reset(0)
    for (let count = 0; count < atOnce; count++) victim.attack(resetStream(1, code))
    expect(victim.failureCode).toBeUndefined()
    victim.attack(resetStream(1, code))
    expect(victim.failureCode).toBe('enhanceYourCalm')
  })

  it('a client minds no resets: they are answers to what it has asked', () => {
    const victim = new Victim('client')
    for (let count = 0; count < 2 * MAX_STREAM_RESETS_AT_ONCE; count++) {
      const { id } = victim.end.open(false)
      victim.attack(resetStream(id, 7))
    }
    expect(victim.failureCode).toBeUndefined()
    expect(victim.end.streams.every(({ isClosed, resetCode }) => isClosed && resetCode === 7)).toBe(true)
  })
})

describe('windows in the hands of the peer', () => {
  it('a window of one byte: no more than that goes out, and nothing is lost', () => {
    const victim = new Victim('server')
    victim.attack(settings([4, 1]), head(1, getFields, END_STREAM))
    const [stream] = victim.end.streams
    stream?.stream?.respond([':status', '200'], false)
    stream?.endWith(3)
    const sent = (): Buffer[] =>
      victim
        .answers()
        .filter(({ type }) => type === DATA)
        .map(({ payload }) => payload)
    expect(sent()).toEqual([contents(1, 'server', 0, 1)])
    victim.attack(windowUpdate(1, 1))
    expect(sent()).toEqual([contents(1, 'server', 1, 1)])
    victim.attack(windowUpdate(1, 10))
    expect(sent()).toEqual([contents(1, 'server', 2, 1)])
    expect(stream?.isClosed).toBe(true)
  })

  it('a window that shrinks below nothing while the transport waits: nothing goes out until it is wide again', () => {
    const victim = new Victim('server')
    victim.attack(head(1, getFields, END_STREAM), head(3, getFields, END_STREAM))
    victim.answers()
    for (const stream of victim.end.streams) {
      stream.stream?.respond([':status', '200'], false)
      stream.write(20_000)
    }
    victim.end.transport.canTakeMore = false
    for (const stream of victim.end.streams) stream.endWith(30_000)
    victim.answers()
    victim.end.transport.canTakeMore = true
    victim.attack(settings([4, 10_000]))
    victim.end.session.resume()
    expect(victim.answers().filter(({ type }) => type === DATA)).toEqual([])
    victim.attack(windowUpdate(1, 10_001))
    const [piece, ...more] = victim.answers().filter(({ type }) => type === DATA)
    expect([piece?.streamId, piece?.payload.length, more.length]).toEqual([1, 1, 0])
    victim.attack(windowUpdate(0, 100_000), settings([4, 100_000]))
    expect(victim.end.streams.every(({ isClosed }) => isClosed)).toBe(true)
  })

  it('the table of the peer that dips within one frame of settings is told so', () => {
    const victim = new Victim('server')
    victim.attack(settings([1, 0], [1, 4_096]), head(1, getFields, END_STREAM))
    victim.end.streams[0]?.stream?.respond([':status', '200'], true)
    const block = victim.answers().find(({ type }) => type === HEADERS)?.payload
    expect(block?.subarray(0, 4)).toEqual(Buffer.from([0x20, 0x3f, 0xe1, 0x1f]))
  })

  it('resets sent twice by the same stream go out once', () => {
    const victim = new Victim('server')
    victim.attack(head(1, postFields))
    const stream = victim.end.streams[0]?.stream
    stream?.reset(8)
    stream?.reset(2)
    stream?.respond([':status', '200'], true)
    stream?.write(Buffer.from('x'))
    stream?.end()
    stream?.resume()
    expect(victim.answers().map(({ type }) => type)).toEqual([RST_STREAM])
  })
})
