import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dataFrame, type NaiveFrame, naiveDecode, naiveFrame } from '../../../test/worlds/yamux-naive.ts'
import { SessionError } from './errors.ts'
import { FrameDecoder, type FrameHeader, writeHeader } from './frame.ts'
import { FRAMES_PER_LOOK } from './limits.ts'

const maxFrameBytes = 1_000

interface Decoded {
  readonly frames: NaiveFrame[]
  readonly error: SessionError | undefined
  readonly atBoundary: boolean
}

function decode(chunks: readonly Uint8Array[]): Decoded {
  const frames: { -readonly [K in keyof NaiveFrame]: NaiveFrame[K] }[] = []
  const decoder = new FrameDecoder(
    {
      onHeader: ({ type, flags, streamId, length }) =>
        void frames.push({ version: 0, type, flags, streamId, length, payload: Buffer.alloc(0) }),
      onPayload: (slice) => {
        const last = frames[frames.length - 1]!
        last.payload = Buffer.concat([last.payload, slice])
      },
    },
    maxFrameBytes,
  )
  try {
    for (const chunk of chunks) decoder.push(chunk)
  } catch (error) {
    return { frames, error: error as SessionError, atBoundary: decoder.atBoundary }
  }
  return { frames, error: undefined, atBoundary: decoder.atBoundary }
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = []
  let offset = 0
  for (let index = 0; offset < bytes.length; index++) {
    const size = sizes[index % sizes.length] ?? 1
    chunks.push(bytes.subarray(offset, offset + size))
    offset += size
  }
  return chunks
}

const id = fc.integer({ min: 1, max: 0xffff_ffff })
const goodFrame = fc.oneof(
  fc
    .tuple(fc.constantFrom(0, 1, 2, 4, 8, 5, 12), id, fc.uint8Array({ maxLength: 200 }))
    .map(([flags, streamId, payload]) => naiveFrame(0, flags, streamId, payload.length, payload)),
  fc
    .tuple(fc.constantFrom(0, 1, 2, 4, 8), id, fc.nat(0xffff_ffff))
    .map(([flags, streamId, length]) => naiveFrame(1, flags, streamId, length)),
  fc.tuple(fc.constantFrom(1, 2), fc.nat(0xffff_ffff)).map(([flags, value]) => naiveFrame(2, flags, 0, value)),
  fc.nat(9).map((code) => naiveFrame(3, 0, 0, code)),
)
const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 10 })

describe('FrameDecoder', () => {
  it('reads what the naive decoder reads, however it is cut', () => {
    fc.assert(
      fc.property(fc.array(goodFrame, { maxLength: 20 }), cuts, (frames, sizes) => {
        const bytes = Buffer.concat(frames)
        const expected = naiveDecode(bytes).frames
        const decoded = decode(cut(bytes, sizes))
        expect(decoded.error).toBeUndefined()
        expect(decoded.frames).toEqual(expected)
        expect(decoded.atBoundary).toBe(true)
      }),
    )
  })

  it('passes payload on as slices of the chunks, without copies', () => {
    const chunk = naiveFrame(0, 0, 1, 5, Buffer.from('hello'))
    const slices: Uint8Array[] = []
    new FrameDecoder({ onHeader() {}, onPayload: (slice) => void slices.push(slice) }, maxFrameBytes).push(chunk)
    expect(slices.map((slice) => [slice.buffer === chunk.buffer, slice.byteOffset - chunk.byteOffset])).toEqual([
      [true, 12],
    ])
  })

  it('fails on any bytes only with a SessionError, and never past the first bad header', () => {
    fc.assert(
      fc.property(
        fc.array(goodFrame, { maxLength: 3 }),
        fc.uint8Array({ maxLength: 100 }),
        cuts,
        (good, tail, sizes) => {
          const { error, frames } = decode(cut(Buffer.concat([...good, tail]), sizes))
          if (error !== undefined) expect(error).toBeInstanceOf(SessionError)
          expect(frames.length).toBeGreaterThanOrEqual(good.length)
        },
      ),
      { numRuns: process.env['CAUSEWAY_LONG'] === '1' ? 100_000 : 1_000 },
    )
  })

  it.each([
    [
      'version',
      Buffer.from([1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]),
      'frame has version 1; only version 0 is spoken here',
    ],
    ['type', naiveFrame(4, 0, 1, 0), 'frame has type 4; types are 0 to 3'],
    ['flags', naiveFrame(0, 0x10, 1, 0), 'frame has unknown flags 0x10'],
    ['opening and acknowledging at once', naiveFrame(1, 3, 1, 0), 'frame both opens and acknowledges stream 1'],
    ['stream 0', naiveFrame(0, 0, 0, 0), 'stream frame names stream 0, which is the session itself'],
    ['length', naiveFrame(0, 0, 1, 1_001), 'data frame of 1001 bytes exceeds the limit of 1000'],
    ['stream of a ping', naiveFrame(2, 1, 3, 0), 'session frame of type 2 names stream 3'],
    ['flags of a ping', naiveFrame(2, 0, 0, 0), 'session frame of type 2 has flags 0x0'],
    ['flags of a go-away', naiveFrame(3, 1, 0, 0), 'session frame of type 3 has flags 0x1'],
  ])('refuses a bad %s', (_, bytes, message) => {
    expect(decode([bytes])).toMatchObject({
      frames: [],
      error: { code: 'bad-frame', goAway: 'protocolError', message },
    })
  })

  it('stops between frames when its time is up, and reads the rest when it is passed in again', () => {
    const frames = Array.from({ length: 3 * FRAMES_PER_LOOK + 1 }, (_, id) => dataFrame(id + 1, Buffer.from(`${id}`)))
    const seen: number[] = []
    const sink = { onHeader: ({ streamId }: FrameHeader) => void seen.push(streamId), onPayload: () => {} }
    const decoder = new FrameDecoder(sink, 1_000)
    let rounds = 0
    for (let rest: Uint8Array | undefined = Buffer.concat(frames); rest !== undefined; rounds++) {
      rest = decoder.push(rest, () => true)
      expect(seen.length).toBeLessThanOrEqual((rounds + 1) * FRAMES_PER_LOOK)
    }
    expect([rounds, seen]).toEqual([4, frames.map((_, index) => index + 1)])
    expect(decoder.atBoundary).toBe(true)
  })

  it('reads nothing after it was stopped', () => {
    const seen: number[] = []
    const decoder: FrameDecoder = new FrameDecoder(
      {
        onHeader: ({ length }) => {
          seen.push(length)
          decoder.stop()
        },
        onPayload() {},
      },
      maxFrameBytes,
    )
    decoder.push(Buffer.concat([naiveFrame(3, 0, 0, 0), naiveFrame(3, 0, 0, 1)]))
    expect(seen).toEqual([0])
  })
})

describe('writeHeader', () => {
  it('writes what the naive codec writes', () => {
    fc.assert(
      fc.property(fc.nat(3), fc.nat(15), fc.nat(0xffff_ffff), fc.nat(0xffff_ffff), (type, flags, streamId, length) => {
        const header = Buffer.alloc(14)
        writeHeader(header, 2, type, flags, streamId, length)
        expect(header.subarray(2).equals(naiveFrame(type, flags, streamId, length))).toBe(true)
      }),
    )
  })
})
