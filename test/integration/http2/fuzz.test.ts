/** Garbage, and what was in order until it was damaged: the session ends with a reason or goes on, and never does harm. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Http2Session } from '../../../src/http/http2/session.ts'
import type { Http2Stream, StreamHandler } from '../../../src/http/http2/stream.ts'
import type { Http2Error } from '../../../src/http/http2/wire.ts'
import { getFields, naiveDecode, naiveFrame, postFields, preface, settings } from '../../worlds/http2-naive.ts'
import { defaultOptions, HandTransport, Pair, type Side } from '../../worlds/http2-pair.ts'

const numRuns = process.env['CAUSEWAY_LONG'] === '1' ? 50_000 : 1_500

/** Echoes what comes, reads every second stream only, and counts. */
class Target {
  readonly transport = new HandTransport()
  readonly session: Http2Session
  failures: Http2Error[] = []
  handlers = 0
  closes = 0

  constructor(role: Side) {
    this.session = new Http2Session({ ...defaultOptions, role, nowMs: () => 0 }, this.transport, {
      onStream: (stream) => {
        if (stream.id % 4 === 1) stream.pause()
        stream.respond([':status', '200'], false)
        return this.#handler(() => stream)
      },
      onPeerLimit() {},
      onGoAway() {},
      onPong() {},
      onFailure: (error) => void this.failures.push(error),
    })
    for (let count = 0; count < (role === 'client' ? 3 : 0); count++) {
      let stream: Http2Stream | undefined
      stream = this.session.open(
        count === 0 ? getFields : postFields,
        this.#handler(() => stream),
        count === 0,
      )
    }
  }

  #handler(stream: () => Http2Stream | undefined): StreamHandler {
    let isClosed = false
    this.handlers += 1
    const check = (): void => {
      if (isClosed) throw new Error('told of something after its close')
    }
    return {
      onHead: check,
      onData: (piece) => {
        check()
        stream()?.write(piece)
      },
      onEnd: () => {
        check()
        stream()?.end()
      },
      onDrain: check,
      onSent: check,
      onClose: () => {
        check()
        isClosed = true
        this.closes += 1
      },
    }
  }

  /** Whatever comes: one failure at most, after which all are closed and nothing is said; and no frame of ours is broken. */
  check(): void {
    const bytes = Buffer.concat(this.transport.sent)
    const { frames, rest } = naiveDecode(bytes.indexOf(preface) === 0 ? bytes.subarray(preface.length) : bytes)
    expect(rest).toHaveLength(0)
    expect(this.failures.length).toBeLessThanOrEqual(1)
    expect(this.session.isOver).toBe(this.failures.length === 1)
    if (!this.session.isOver) return
    expect(frames.at(-1)?.type).toBe(7)
    expect(this.session.openStreams).toBe(0)
    expect(this.closes).toBe(this.handlers)
  }
}

/** All that one side says in a lively exchange. */
function recorded(side: Side): Buffer {
  const said: Buffer[] = []
  const pair = new Pair()
  const record = (): void => void said.push(...pair[side].transport.sent)
  pair.server.accept = (end, stream) => {
    stream.respond([':status', '200', 'x-kind', 'echo'], false)
    end.write(3_000)
    end.within = (event) => {
      if (event === 'end') end.end(['x-sum', '1'])
    }
  }
  for (let count = 0; count < 3; count++) {
    const asking = pair.client.open(count > 0)
    if (count > 0) asking.write(2_000)
    if (count > 0) asking.end(['x-sum', '2'])
    pair.client.session.ping(Buffer.alloc(8))
    record()
    pair.move('client')
    record()
    pair.move('server')
  }
  pair[side].session.setStreamWindow(1_000)
  record()
  return Buffer.concat(said)
}

const damage = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  kind: fc.constantFrom('byte', 'bit', 'cut', 'repeat', 'insert'),
  value: fc.nat({ max: 255 }),
  bytes: fc.nat({ max: 40 }),
})

function damaged(
  bytes: Buffer,
  harms: readonly (typeof damage extends fc.Arbitrary<infer Value> ? Value : never)[],
): Buffer {
  let out = Buffer.from(bytes)
  for (const { at, kind, value, bytes: count } of harms) {
    const from = Math.floor(at * (out.length - 1))
    const [before, behind] = [out.subarray(0, from), out.subarray(from)]
    if (kind === 'byte') out[from] = value
    else if (kind === 'bit') out[from] = (out[from] ?? 0) ^ (1 << (value % 8))
    else if (kind === 'cut') out = Buffer.concat([before, behind.subarray(count)])
    else if (kind === 'repeat') out = Buffer.concat([before, behind.subarray(0, count), behind])
    else out = Buffer.concat([before, Buffer.alloc(count, value), behind])
  }
  return out
}

describe.each(['server', 'client'] as const)('what a %s does not understand', (role) => {
  const valid = recorded(role === 'server' ? 'client' : 'server')

  it('undamaged, it is understood', () => {
    const target = new Target(role)
    target.session.receive(valid)
    expect(target.failures).toEqual([])
    expect(target.closes).toBeGreaterThan(0)
  })

  it('damaged in any way, in any pieces: an error or nothing', () => {
    fc.assert(
      fc.property(
        fc.array(damage, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 20_000 }),
        (harms, chunk) => {
          const target = new Target(role)
          const bytes = damaged(valid, harms)
          for (let at = 0; at < bytes.length; at += chunk) target.session.receive(bytes.subarray(at, at + chunk))
          target.check()
        },
      ),
      { numRuns },
    )
  })

  it('frames of any kind, flags, stream and payload: an error or nothing', () => {
    const frame = fc
      .tuple(
        fc.nat({ max: 10 }),
        fc.constantFrom(0, 1, 4, 5, 8, 9, 12, 13, 0x20, 0x25, 0x2d, 255),
        fc.constantFrom(0, 1, 2, 3, 5, 7, 9, 2 ** 31 - 1),
        fc.oneof(
          fc.uint8Array({ maxLength: 20 }),
          fc.constantFrom(
            Buffer.from([0x82, 0x84, 0x87, 0x41, 1, 0x61]),
            Buffer.from([0x83, 0x84, 0x87, 0x41, 1, 0x61]),
            Buffer.from([0x88]),
            Buffer.from([0, 0, 0, 1]),
            Buffer.alloc(8),
            Buffer.alloc(5),
            Buffer.alloc(0),
            Buffer.alloc(3_000, 1),
          ),
        ),
      )
      .map(([type, flags, streamId, payload]) => naiveFrame(type, flags, streamId, payload))
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 40, size: 'max' }), (frames) => {
        const target = new Target(role)
        if (role === 'server') target.session.receive(Buffer.from(preface))
        target.session.receive(settings())
        for (const bytes of frames) target.session.receive(bytes)
        target.check()
      }),
      { numRuns },
    )
  })

  it('any bytes at all: an error or nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 20 }), (chunks) => {
        const target = new Target(role)
        if (role === 'server') target.session.receive(Buffer.from(preface))
        for (const chunk of chunks) target.session.receive(Buffer.from(chunk))
        target.check()
      }),
      { numRuns: 500 },
    )
  })
})
