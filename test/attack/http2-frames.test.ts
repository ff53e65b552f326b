/**
 * Frames that no peer may send, each by its name: the connection ends and says why. What is malformed within a stream is in
 * `http2-messages.test.ts`, and what comes without end in `http2-floods.test.ts`.
 */
import { describe, expect, it } from 'vitest'
import { ErrorCode } from '../../src/http/http2/wire.ts'
import {
  ACK,
  block,
  CONTINUATION,
  DATA,
  data,
  END_HEADERS,
  END_STREAM,
  GOAWAY,
  getFields,
  HEADERS,
  head,
  naiveFrame,
  PADDED,
  PING,
  PRIORITISED,
  PRIORITY,
  PUSH_PROMISE,
  postFields,
  preface,
  RST_STREAM,
  resetStream,
  SETTINGS,
  settings,
  settingsAck,
  uint32,
  WINDOW_UPDATE,
  windowUpdate,
} from '../worlds/http2-naive.ts'
import { contents, Victim } from '../worlds/http2-pair.ts'
import { client, expectHealthy, okFields, resetsIn, server } from '../worlds/http2-victims.ts'

const bytes = (count: number): Buffer => Buffer.alloc(count)

type Attack = readonly [name: string, code: keyof typeof ErrorCode, frames: readonly Buffer[]]

const brokenFrames: readonly Attack[] = [
  ['a frame that is longer than we take', 'frameSizeError', [naiveFrame(DATA, 0, 1, bytes(16_385))]],
  ['a frame of an unknown kind that is too long', 'frameSizeError', [naiveFrame(0xbb, 0, 0, bytes(16_385))]],
  ['a ping of seven bytes', 'frameSizeError', [naiveFrame(PING, 0, 0, bytes(7))]],
  ['an answer to a ping of nine bytes', 'frameSizeError', [naiveFrame(PING, ACK, 0, bytes(9))]],
  ['a ping on a stream', 'protocolError', [naiveFrame(PING, 0, 1, bytes(8))]],
  ['settings of five bytes', 'frameSizeError', [naiveFrame(SETTINGS, 0, 0, bytes(5))]],
  ['hundreds of settings at once', 'enhanceYourCalm', [naiveFrame(SETTINGS, 0, 0, bytes(33 * 6))]],
  ['settings on a stream', 'protocolError', [naiveFrame(SETTINGS, 0, 1)]],
  ['an acknowledgement with settings in it', 'frameSizeError', [naiveFrame(SETTINGS, ACK, 0, bytes(6))]],
  ['an acknowledgement of settings nobody sent', 'protocolError', [settingsAck]],
  ['settings of a window beyond 31 bits', 'flowControlError', [settings([4, 2 ** 31])]],
  ['settings of frames below the least', 'protocolError', [settings([5, 16_383])]],
  ['settings of frames above the most', 'protocolError', [settings([5, 2 ** 24])]],
  ['settings of a push that is neither on nor off', 'protocolError', [settings([2, 2])]],
  ['a reset of three bytes', 'frameSizeError', [naiveFrame(RST_STREAM, 0, 1, bytes(3))]],
  ['a reset of the connection', 'protocolError', [resetStream(0, 8)]],
  ['a reset of an idle stream', 'protocolError', [resetStream(99, 8)]],
  ['a reset of an idle stream of the other parity', 'protocolError', [resetStream(2, 8)]],
  ['a window update of three bytes', 'frameSizeError', [naiveFrame(WINDOW_UPDATE, 0, 0, bytes(3))]],
  ['a window update of nothing for the connection', 'protocolError', [windowUpdate(0, 0)]],
  ['a window update beyond 31 bits for the connection', 'flowControlError', [windowUpdate(0, 2 ** 31 - 1)]],
  ['a window update of an idle stream', 'protocolError', [windowUpdate(99, 1)]],
  [
    'settings that widen the window of a stream beyond 31 bits',
    'flowControlError',
    [windowUpdate(1, 1), settings([4, 2 ** 31 - 1])],
  ],
  ['a priority of four bytes', 'frameSizeError', [naiveFrame(PRIORITY, 0, 1, bytes(4))]],
  ['a priority of no stream', 'protocolError', [naiveFrame(PRIORITY, 0, 0, bytes(5))]],
  ['a going away of seven bytes', 'frameSizeError', [naiveFrame(GOAWAY, 0, 0, bytes(7))]],
  ['a going away on a stream', 'protocolError', [naiveFrame(GOAWAY, 0, 1, bytes(8))]],
  ['data on the connection', 'protocolError', [data(0, bytes(1))]],
  ['data on an idle stream', 'protocolError', [data(99, bytes(1))]],
  ['data on an even stream', 'protocolError', [data(2, bytes(1))]],
  ['data with more padding than there is', 'protocolError', [naiveFrame(DATA, PADDED, 1, Buffer.from([3, 0, 0]))]],
  ['data with the padding of nothing', 'frameSizeError', [naiveFrame(DATA, PADDED, 1)]],
  [
    'a head with more padding than there is',
    'protocolError',
    [naiveFrame(HEADERS, PADDED | END_HEADERS, 5, Buffer.from([9, 0]))],
  ],
  [
    'a head too short for its priority',
    'frameSizeError',
    [naiveFrame(HEADERS, PRIORITISED | END_HEADERS, 5, bytes(4))],
  ],
  ['a head on the connection', 'protocolError', [head(0, getFields)]],
  ['a head on an even stream', 'protocolError', [head(2, getFields)]],
  ['a head that does not decode', 'compressionError', [naiveFrame(HEADERS, END_HEADERS, 5, Buffer.from([0xff, 0xff]))]],
  [
    'a head that asks for too large a table',
    'compressionError',
    [naiveFrame(HEADERS, END_HEADERS, 5, Buffer.from([0x3f, 0xff, 0xff, 3]))],
  ],
  ['a continuation of nothing', 'protocolError', [naiveFrame(CONTINUATION, END_HEADERS, 1)]],
  [
    'a continuation of another stream',
    'protocolError',
    [naiveFrame(HEADERS, 0, 5), naiveFrame(CONTINUATION, END_HEADERS, 7)],
  ],
  ['a ping within a head', 'protocolError', [naiveFrame(HEADERS, 0, 5), naiveFrame(PING, 0, 0, bytes(8))]],
  ['data within a head', 'protocolError', [naiveFrame(HEADERS, 0, 5), data(1, bytes(1))]],
  ['a frame of an unknown kind within a head', 'protocolError', [naiveFrame(HEADERS, 0, 5), naiveFrame(0xbb, 0, 5)]],
  ['another head within a head', 'protocolError', [naiveFrame(HEADERS, 0, 5), head(7, getFields)]],
  [
    'a head in more frames than anybody needs',
    'enhanceYourCalm',
    [naiveFrame(HEADERS, 0, 5), ...Array<Buffer>(128).fill(naiveFrame(CONTINUATION, 0, 5))],
  ],
  [
    'a head without end',
    'enhanceYourCalm',
    [naiveFrame(HEADERS, 0, 5), ...Array<Buffer>(6).fill(naiveFrame(CONTINUATION, 0, 5, bytes(16_384)))],
  ],
  [
    'a push',
    'protocolError',
    [naiveFrame(PUSH_PROMISE, END_HEADERS, 1, Buffer.concat([uint32(2), block(...getFields)]))],
  ],
]

describe.each(['server', 'client'] as const)('frames that no peer may send to a %s', (side) => {
  it.each(brokenFrames)('%s: %s', (_, code, frames) => {
    const victim = side === 'server' ? server() : client()
    victim.attack(...frames.slice(0, -1))
    expect(victim.failureCode).toBeUndefined()
    victim.attack(frames.at(-1) as Buffer)
    expect(victim.failureCode).toBe(code)
    const goAway = victim.answers().at(-1)
    expect(goAway).toMatchObject({ type: GOAWAY, streamId: 0 })
    expect(goAway?.payload).toEqual(uint32(side === 'server' ? 3 : 0, ErrorCode[code]))
    expect(victim.end.streams.map(({ isClosed, resetCode }) => [isClosed, resetCode])).toEqual([
      [true, ErrorCode[code]],
      [true, ErrorCode[code]],
    ])
    victim.attack(naiveFrame(PING, 0, 0, bytes(8)), head(7, getFields))
    expect(victim.answers()).toEqual([])
    expect(victim.end.session).toMatchObject({ isOver: true, openStreams: 0 })
  })
})

describe('beginnings', () => {
  it('a client that begins with something else is sent away at the first byte that differs', () => {
    const victim = new Victim('server', {}, false)
    victim.attack(preface.subarray(0, 10))
    expect(victim.failureCode).toBeUndefined()
    victim.attack(Buffer.from('1'))
    expect(victim.failureCode).toBe('protocolError')
  })

  it('a client of HTTP/1.1 is sent away', () => {
    const victim = new Victim('server', {}, false)
    victim.attack(Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'))
    expect(victim.failureCode).toBe('protocolError')
  })

  it.each([
    ['a request', head(1, getFields, END_STREAM)],
    ['data', data(1, bytes(1))],
    ['an acknowledgement', settingsAck],
    ['a ping', naiveFrame(PING, 0, 0, bytes(8))],
  ])('%s before the settings ends the connection', (_, frame) => {
    for (const side of ['client', 'server'] as const) {
      const victim = new Victim(side, {}, false)
      if (side === 'server') victim.attack(preface)
      victim.attack(frame)
      expect(victim.failureCode).toBe('protocolError')
    }
  })

  it('the preface may come byte by byte, with the first frame', () => {
    const victim = new Victim('server', {}, false)
    for (const byte of Buffer.concat([preface, settings(), head(1, getFields, END_STREAM)]))
      victim.attack(Buffer.from([byte]))
    expect(victim.failureCode).toBeUndefined()
    expect(victim.end.streams).toHaveLength(1)
  })

  it('a server that announces pushes breaks the rules, a client that allows them does not', () => {
    const toClient = client()
    toClient.attack(settings([2, 1]))
    expect(toClient.failureCode).toBe('protocolError')
    const toServer = server()
    toServer.attack(settings([2, 1]))
    expect(toServer.failureCode).toBeUndefined()
  })

  it('settings and frames of unknown kinds are ignored', () => {
    for (const victim of [server(), client()]) {
      victim.attack(
        settings([0xabcd, 7], [8, 1]),
        naiveFrame(0xbb, 0xff, 0, bytes(100)),
        naiveFrame(0xbb, 0xff, 99, bytes(3)),
      )
      expect(victim.failureCode).toBeUndefined()
    }
  })
})

describe('request streams out of order', () => {
  it.each([
    ['lower than one that was opened', [head(9, getFields, END_STREAM), head(7, getFields, END_STREAM)]],
    ['one that is over by a reset', [resetStream(1, 8), head(1, getFields, END_STREAM)]],
  ])('a request on a stream %s ends the connection', (_, frames) => {
    const victim = server()
    victim.attack(...frames)
    expect(victim.failureCode).toBe('protocolError')
  })

  it('what was under way to a stream that is over is ignored', () => {
    const victim = server()
    victim.end.streams[0]?.stream?.reset(ErrorCode.cancel)
    victim.attack(
      data(1, bytes(10)),
      windowUpdate(1, 5),
      windowUpdate(1, 0),
      head(1, ['x-late', '1'], END_STREAM),
      resetStream(1, 8),
    )
    expect(victim.answers().map(({ type }) => type)).toEqual([RST_STREAM])
    expect(victim.failureCode).toBeUndefined()
    expect(victim.end.streams).toHaveLength(2)
  })

  it('what was under way to a stream that was refused is ignored', () => {
    const victim = server({ maxPeerStreams: 2 })
    victim.attack(head(5, postFields), data(5, bytes(10)), head(5, ['x-late', '1'], END_STREAM))
    expect(resetsIn(victim)).toEqual({ 5: 'refusedStream' })
    expectHealthy(victim)
  })
})

/** By a peer that has ended or reset the stream itself: nothing of its can have been under way. */
const ends: readonly (readonly [string, () => Victim])[] = [
  [
    'it has ended, and we have answered',
    () => {
      const victim = server()
      victim.attack(data(1, Buffer.alloc(0), END_STREAM))
      victim.end.streams[0]?.stream?.respond(okFields, true)
      return victim
    },
  ],
  [
    'it has reset',
    () => {
      const victim = server()
      victim.attack(resetStream(1, ErrorCode.cancel))
      return victim
    },
  ],
  [
    'it has answered, and we have ended',
    () => {
      const victim = client()
      victim.attack(head(1, okFields, END_STREAM))
      victim.end.streams[0]?.end()
      return victim
    },
  ],
]

describe.each(ends)('frames of a peer on a stream that %s', (_, over) => {
  it.each([
    ['data', 'streamClosed', data(1, bytes(10))],
    ['the end of data', 'streamClosed', data(1, bytes(0), END_STREAM)],
    ['trailers', 'streamClosed', head(1, ['x-late', '1'], END_STREAM)],
    ['a window update of nothing', 'protocolError', windowUpdate(1, 0)],
  ])('%s: %s, once', (_name, code, frame) => {
    const victim = over()
    expect(victim.end.streams[0]?.isClosed).toBe(true)
    victim.answers()
    victim.attack(frame)
    expect(resetsIn(victim)).toEqual({ 1: code })
    victim.attack(frame)
    expect(resetsIn(victim)).toEqual({})
    expect(victim.failureCode).toBeUndefined()
  })

  it('a frame that comes in pieces is answered once', () => {
    const victim = over()
    victim.answers()
    const frame = data(1, bytes(100))
    victim.attack(frame.subarray(0, 50), frame.subarray(50))
    expect(victim.answers().map(({ type }) => type)).toEqual([RST_STREAM])
  })

  it('windows, resets and priorities may be late', () => {
    const victim = over()
    victim.answers()
    victim.attack(windowUpdate(1, 5), resetStream(1, 8), naiveFrame(PRIORITY, 0, 1, bytes(5)))
    expect(victim.answers()).toEqual([])
    expect(victim.failureCode).toBeUndefined()
  })
})

describe('a server that goes away', () => {
  it('streams above the last it has looked at are refused, those below go on', () => {
    const victim = client()
    victim.attack(naiveFrame(GOAWAY, 0, 0, uint32(1, 0)))
    const [first, second] = victim.end.streams
    expect(victim.end.goAways).toBe(1)
    expect(second).toMatchObject({ isClosed: true, resetCode: ErrorCode.refusedStream })
    victim.attack(head(1, okFields, END_STREAM))
    expect(first).toMatchObject({ hasEnd: true, isClosed: false })
    first?.end()
    expect(first?.isClosed).toBe(true)
    expect(victim.end.session.openStreams).toBe(0)
    expect(() => victim.end.open()).toThrow('the connection takes no more requests')
  })

  it('a server that has left ignores what comes, and never takes back what it has said', () => {
    const victim = server()
    victim.end.session.leave()
    victim.end.session.leave()
    victim.attack(head(5, postFields), data(5, bytes(100), END_STREAM))
    expect(victim.answers()).toEqual([expect.objectContaining({ type: GOAWAY, payload: uint32(3, 0) })])
    expectHealthy(victim)
    victim.attack(windowUpdate(0, 0))
    expect(victim.answers().at(-1)?.payload).toEqual(uint32(3, ErrorCode.protocolError))
  })
})

describe('the end from within', () => {
  it.each([
    ['a request', [head(7, getFields, END_STREAM)]],
    ['data', [data(1, contents(1, 'client', 0, 40_000).subarray(0, 16_384))]],
    ['a ping', [naiveFrame(PING, 0, 0, bytes(8))]],
    ['an answer to a ping', [naiveFrame(PING, ACK, 0, bytes(8))]],
    ['settings', [settings([3, 5])]],
    ['a window', [windowUpdate(0, 100), windowUpdate(3, 100)]],
    ['a reset', [resetStream(1, 8)]],
    ['a going away', [naiveFrame(GOAWAY, 0, 0, uint32(0, 0))]],
    ['an offence', [windowUpdate(0, 0)]],
    ['an acknowledgement of nothing', [settingsAck]],
  ])('%s that comes in the same bytes is neither answered nor told', (_, frames) => {
    const victim = server({ connectionWindowBytes: 65_535 })
    const [, second] = victim.end.streams
    victim.end.accept = () => victim.end.session.end()
    victim.answers()
    victim.end.peerLimit = undefined
    victim.attack(Buffer.concat([head(5, getFields, END_STREAM), ...frames]))
    expect(victim.answers()).toEqual([])
    expect(victim.end).toMatchObject({ goAways: 0, pongs: [], peerLimit: undefined, failure: undefined })
    expect(victim.end.streams.map(({ isClosed, readBytes }) => [isClosed, readBytes])).toEqual(Array(3).fill([true, 0]))
    second?.stream?.respond(okFields, false)
    second?.write(10)
    second?.end()
    second?.stream?.reset(ErrorCode.cancel)
    expect(victim.answers()).toEqual([])
  })
})
