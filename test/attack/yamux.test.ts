/** What a hostile or broken peer may try on a session, each by its name. The session ends with a code, or just goes on. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Budget } from '../../src/tunnel/yamux/budget.ts'
import {
  IDLE_FRAMES_PER_STREAM,
  MAX_ACCEPT_BACKLOG,
  MAX_FRUITLESS_OPENS_AT_ONCE,
  MAX_IDLE_FRAMES_PER_SECOND,
  MAX_OPENS_PER_SECOND,
  MAX_PINGS_PER_SECOND,
  MAX_SKIPPED_IDS,
  SMALL_CREDIT_BYTES,
} from '../../src/tunnel/yamux/limits.ts'
import { Session } from '../../src/tunnel/yamux/session.ts'
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
} from '../worlds/yamux-naive.ts'
import { Pair } from '../worlds/yamux-pair.ts'

const window = 256 * 1024
const syn = (id: number): Buffer => naiveFrame(WINDOW_UPDATE, SYN, id, 0)

/** A server session under attack: the attacker's bytes go in, what it answers comes out as frames. */
function victim(options: ConstructorParameters<typeof Pair>[0] = {}) {
  const { server, clock } = new Pair(options)
  return {
    end: server,
    clock,
    attack: (...frames: Uint8Array[]): void => {
      for (const frame of frames) server.session.receive(frame)
    },
    answers: () => naiveDecode(Buffer.concat(server.session.take(1e9))).frames,
  }
}

const protocolErrorGoAway = expect.objectContaining({ type: GO_AWAY, length: 1 })

describe('attacks on a session', () => {
  it('garbage frames: the session ends with bad-frame and says so', () => {
    const { end, attack, answers } = victim()
    attack(Buffer.from('GET / HTTP/1.1\r\nHost: causeway\r\n\r\n'))
    expect(end.error).toMatchObject({
      code: 'bad-frame',
      message: 'frame has version 71; only version 0 is spoken here',
    })
    expect(answers()).toEqual([protocolErrorGoAway])
  })

  it('garbage frames: any bytes in any pieces end in an error or in nothing, never in an exception', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 40 }), fc.boolean(), (chunks, plausible) => {
        const { end, attack } = victim()
        attack(syn(1))
        for (const chunk of chunks) {
          if (plausible) chunk.set([0, (chunk[1] ?? 0) % 4, 0].slice(0, chunk.length))
          attack(chunk)
        }
        expect(end.budget.bufferedBytes).toBeLessThanOrEqual(window)
      }),
      { numRuns: process.env['CAUSEWAY_LONG'] === '1' ? 100_000 : 2_000 },
    )
  })

  it('truncated frames: the end of the connection inside a frame is told apart', () => {
    const { end, attack } = victim()
    attack(syn(1), dataFrame(1, Buffer.alloc(100)).subarray(0, 50))
    end.session.carrierLost()
    expect(end.error).toMatchObject({
      code: 'carrier-lost',
      message: 'the connection was lost in the middle of a frame',
    })
    expect(end.streams.get(1)?.error).toMatchObject({ code: 'session-ended' })
  })

  it('window violation: one byte too many ends the session before it is taken in', () => {
    const { end, attack, answers } = victim()
    attack(syn(1), dataFrame(1, Buffer.alloc(window)))
    expect(end.error).toBeUndefined()
    attack(dataFrame(1, Buffer.alloc(1)))
    expect(end.error).toMatchObject({ code: 'window-violation' })
    expect(answers()).toContainEqual(protocolErrorGoAway)
    expect(end.budget.bufferedBytes).toBe(0)
  })

  it('window violation: announced in a header, it ends the session without waiting for the payload', () => {
    const { end, attack } = victim()
    attack(syn(1), naiveFrame(DATA, 0, 1, window + 1))
    expect(end.error).toMatchObject({ code: 'window-violation' })
  })

  it('window violation: credit beyond 32 bits ends the session', () => {
    const { end, attack } = victim()
    attack(syn(1), naiveFrame(WINDOW_UPDATE, 0, 1, 0xffff_ffff - window))
    expect(end.error).toBeUndefined()
    attack(naiveFrame(WINDOW_UPDATE, 0, 1, 1))
    expect(end.error).toMatchObject({ code: 'window-violation' })
  })

  it('stream-id reuse: of an open stream, of an ended one, and of one that was reset', () => {
    for (const between of [[], [naiveFrame(WINDOW_UPDATE, FIN, 1, 0)], [naiveFrame(WINDOW_UPDATE, RST, 1, 0)]]) {
      const { end, attack } = victim()
      attack(syn(1), ...between, syn(3), syn(1))
      expect(end.error).toMatchObject({ code: 'stream-id-reuse' })
    }
  })

  it('stream-id reuse: an id of our own parity is refused', () => {
    const { end, attack } = victim()
    attack(syn(2))
    expect(end.error).toMatchObject({ code: 'stream-id-reuse' })
  })

  it('stream ids out of order are good, once each, and far jumps cost no memory', () => {
    const { end, attack } = victim()
    attack(syn(5), syn(1), syn(3), syn(0xffff_fffd), syn(0xffff_fffd - 2 * MAX_SKIPPED_IDS))
    expect(end.error).toBeUndefined()
    expect(end.session.streamCount).toBe(5)
    attack(syn(7))
    expect(end.error).toMatchObject({ code: 'stream-id-reuse' })
  })

  it('100k opens: the rate ends the session long before', () => {
    const { end, attack } = victim()
    for (let id = 1; id < 200_000 && end.error === undefined; id += 2) attack(syn(id))
    expect(end.error).toMatchObject({ code: 'open-flood' })
    expect(end.session.counters.acceptedStreams).toBe(MAX_OPENS_PER_SECOND)
    expect(end.session.streamCount).toBe(0)
  })
})

describe('attacks on memory and time', () => {
  it('100k opens, slowly: streams beyond the limit are reset, those that are open live', () => {
    const { end, attack, answers, clock } = victim({ limits: { maxStreams: 1_000 } })
    for (let id = 1; id < 200_000; id += 2) {
      attack(syn(id))
      clock.advance(1)
      if (id % 1_000 === 1) answers()
    }
    expect(end.error).toBeUndefined()
    expect(end.session.streamCount).toBe(1_000)
    expect(end.session.counters.refusedStreams).toBe(99_000)
  })

  it('opens that nobody answers: beyond the backlog they are reset', () => {
    const { end, attack, answers } = victim()
    end.acceptsAtOnce = false
    for (let id = 1; id <= 2 * (MAX_ACCEPT_BACKLOG + 1); id += 2) attack(syn(id))
    expect(end.session.streamCount).toBe(MAX_ACCEPT_BACKLOG)
    expect(answers()).toContainEqual(expect.objectContaining({ flags: RST, streamId: 2 * MAX_ACCEPT_BACKLOG + 1 }))
  })

  it('a reader that never reads holds its own window and nobody else', () => {
    const pair = new Pair()
    const stalled = pair.client.open()
    const healthy = pair.client.open()
    pair.settle()
    const reader = pair.server.streams.get(healthy.core.id)
    if (reader !== undefined) reader.isEager = true
    stalled.write(10 * window)
    for (let round = 0; round < 40; round++) {
      healthy.write(window)
      pair.settle()
    }
    expect(reader?.readBytes).toBe(40 * window)
    expect(pair.server.budget.bufferedBytes).toBe(window)
    expect(stalled.mayWrite).toBe(false)
  })

  it('a reader that never reads single bytes between others pins no more than they weigh', () => {
    const { end, attack } = victim()
    attack(syn(1), syn(3))
    const eager = end.streams.get(3)
    eager?.core.attach({ onReadable: () => void eager.core.read(), onWritable() {}, onReset() {} })
    for (let count = 0; count < 2_000; count++) {
      attack(
        Buffer.concat([dataFrame(1, Buffer.alloc(1)), dataFrame(3, Buffer.alloc(64))], 32 * 1024).subarray(
          0,
          12 + 1 + 12 + 64,
        ),
      )
    }
    expect(end.streams.get(1)?.core.heldBytes).toBe(2_000)
    const chunks: ArrayBufferLike[] = []
    for (let chunk = end.streams.get(1)?.core.read(); chunk !== undefined; chunk = end.streams.get(1)?.core.read()) {
      chunks.push(chunk.buffer)
    }
    expect(new Set(chunks).size).toBeLessThan(10)
  })

  it('a writer that never stops is told to wait, and then costs its own stream', () => {
    const pair = new Pair({ budget: { maxSessionBufferedBytes: 4 * 1024 * 1024 } })
    const quiet = pair.client.open()
    quiet.write(1_000)
    const stubborn = pair.client.open()
    for (let count = 0; count < 100 && !stubborn.isOver; count++) {
      stubborn.mayWrite = true
      stubborn.write(window)
    }
    expect(stubborn.error).toMatchObject({ code: 'buffer-limit' })
    expect(quiet.error).toBeUndefined()
    pair.settle()
    expect(pair.client.error).toBeUndefined()
    expect(pair.server.streams.get(quiet.core.id)?.core.heldBytes).toBe(1_000)
  })

  it('memory of the process: the largest stream of the session that holds most is reset, not the one that asks', () => {
    const budget = new Budget({ maxProcessBufferedBytes: 1_000_000 })
    const quiet = { onStream() {}, onSendable() {}, onGoAway() {}, onRoundTrip() {}, onEnd() {} }
    const clock = { monotonicMs: () => 0 }
    const [greedy, modest] = [0, 1].map(() => new Session({ role: 'client', clock, budget, handler: quiet }))
    const large = greedy?.open()
    large?.write(Buffer.alloc(900_000))
    const small = modest?.open()
    small?.write(Buffer.alloc(200_000))
    expect(large?.error).toMatchObject({ code: 'buffer-limit' })
    expect(small?.error).toBeUndefined()
    expect(budget.bufferedBytes).toBe(200_000)
  })

  it('ping flood ends the session', () => {
    const { end, attack } = victim()
    for (let count = 0; count < MAX_PINGS_PER_SECOND; count++) attack(naiveFrame(PING, SYN, 0, count))
    expect(end.error).toBeUndefined()
    attack(naiveFrame(PING, SYN, 0, 0))
    expect(end.error).toMatchObject({ code: 'ping-flood' })
  })

  it.each([
    ['empty data frames', naiveFrame(DATA, 0, 1, 0)],
    ['window updates of nothing', naiveFrame(WINDOW_UPDATE, 0, 1, 0)],
    ['window updates of a byte', naiveFrame(WINDOW_UPDATE, 0, 1, 1)],
    ['acknowledgements', naiveFrame(WINDOW_UPDATE, ACK, 1, 0)],
    ['window updates for nothing that was sent', naiveFrame(WINDOW_UPDATE, 0, 1, SMALL_CREDIT_BYTES)],
    ['data for streams nobody has', dataFrame(99, Buffer.alloc(1))],
    ['resets of streams nobody has', naiveFrame(WINDOW_UPDATE, RST, 99, 0)],
    ['answers to pings nobody sent', naiveFrame(PING, ACK, 0, 7)],
    ['go-aways', naiveFrame(GO_AWAY, 0, 0, 0)],
  ])('control flood by %s ends the session', (_, frame) => {
    const { end, attack } = victim()
    attack(syn(1))
    for (let count = 0; count < MAX_IDLE_FRAMES_PER_SECOND + IDLE_FRAMES_PER_STREAM - 1; count++) attack(frame)
    expect(end.error).toBeUndefined()
    for (let count = 0; count < 3; count++) attack(frame)
    expect(end.error).toMatchObject({ code: 'control-flood' })
  })

  it('opens that are reset before they are answered: without end they end the session', () => {
    const { end, attack, answers } = victim()
    end.acceptsAtOnce = false
    for (let count = 0; count < MAX_FRUITLESS_OPENS_AT_ONCE; count++)
      attack(syn(2 * count + 1), naiveFrame(WINDOW_UPDATE, RST, 2 * count + 1, 0))
    expect(end.error).toBeUndefined()
    attack(syn(99_999), naiveFrame(WINDOW_UPDATE, RST, 99_999, 0))
    expect(end.error).toMatchObject({ code: 'open-flood' })
    expect(answers()).toContainEqual(protocolErrorGoAway)
  })

  it('late data: for a stream that was reset here its window is the limit', () => {
    const { end, attack } = victim()
    attack(syn(1))
    end.streams.get(1)?.core.reset()
    const bytes = dataFrame(1, Buffer.alloc(1))
    for (let count = 0; count < window; count++) attack(bytes)
    expect(end.error).toBeUndefined()
    for (let count = 0; count <= MAX_IDLE_FRAMES_PER_SECOND + IDLE_FRAMES_PER_STREAM; count++) attack(bytes)
    expect(end.error).toMatchObject({ code: 'control-flood' })
  })

  it('control frames that nobody reads: the queue has an end', () => {
    const { end, attack, clock } = victim({ limits: { maxControlQueueBytes: 1_200 } })
    for (let count = 0; count < 101; count++) {
      attack(naiveFrame(PING, SYN, 0, count))
      clock.advance(1_000)
    }
    expect(end.error).toMatchObject({ code: 'control-flood' })
  })

  it('clock jumps: a machine that slept asks again before it gives the peer up', () => {
    const { end, clock } = victim()
    const sleepMs = 8 * 60 * 60 * 1000
    for (let count = 0; count < 2; count++) {
      clock.advance(sleepMs)
      end.session.tick()
      expect(end.error).toBeUndefined()
    }
    clock.advance(10_000)
    end.session.tick()
    expect(end.error).toMatchObject({ code: 'keepalive-timeout' })
  })

  it('clock jumps: a clock that goes back fills no bucket and breaks nothing', () => {
    const { end, attack, clock } = victim()
    clock.advance(-60_000)
    attack(syn(1), dataFrame(1, Buffer.from('x')), naiveFrame(PING, SYN, 0, 1))
    end.session.tick()
    expect(end.error).toBeUndefined()
  })
})
