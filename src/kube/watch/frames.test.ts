import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import {
  encodeJsonLine,
  encodeLengthDelimited,
  type FrameDecoder,
  JsonLineDecoder,
  LengthDelimitedDecoder,
} from './frames.ts'

const maxEventBytes = 64
const long = process.env['CAUSEWAY_LONG'] === '1'
const effort = { numRuns: long ? 25_000 : 500 }
const timeoutMs = long ? 120_000 : 20_000

interface Outcome {
  frames: string[]
  failure: string | undefined
}

/** The naive twins read the whole stream at once and say in the plainest way what it means. */
function naiveJsonLines(stream: Buffer): Outcome {
  const pieces = stream.toString('latin1').split('\n')
  const frames: string[] = []
  for (const [index, piece] of pieces.entries()) {
    if (piece.length > maxEventBytes) return { frames, failure: 'too-large' }
    if (index === pieces.length - 1) return { frames, failure: piece === '' ? undefined : 'truncated' }
    if (piece !== '' && piece !== '\r') frames.push(piece)
  }
  return { frames, failure: undefined }
}

function naiveLengthDelimited(stream: Buffer): Outcome {
  const frames: string[] = []
  for (let rest = stream; rest.length > 0; ) {
    if (rest.length < 4) return { frames, failure: 'truncated' }
    const length = rest.readUInt32BE(0)
    if (length > maxEventBytes) return { frames, failure: 'too-large' }
    if (rest.length < 4 + length) return { frames, failure: 'truncated' }
    frames.push(rest.toString('latin1', 4, 4 + length))
    rest = rest.subarray(4 + length)
  }
  return { frames, failure: undefined }
}

function decode(decoder: FrameDecoder, chunks: readonly Uint8Array[]): Outcome {
  const frames = chunks.flatMap((chunk) => decoder.push(chunk))
  return { frames: frames.map((frame) => Buffer.from(frame).toString('latin1')), failure: decoder.end()?.code }
}

function cut(stream: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const points = cuts.map((point) => point % (stream.length + 1)).toSorted((a, b) => a - b)
  return [0, ...points].map((point, index) => stream.slice(point, points[index] ?? stream.length))
}

const cuts = fc.array(fc.nat(), { maxLength: 12 })
const event = fc.uint8Array({ maxLength: maxEventBytes + 2 })
const line = fc.oneof(
  event.map((bytes) => bytes.filter((byte) => byte !== 0x0a)),
  fc.constant(Uint8Array.of(0x0d)),
)

describe.each([
  ['json lines', () => new JsonLineDecoder(maxEventBytes), naiveJsonLines, line.map(encodeJsonLine)],
  [
    'length delimited',
    () => new LengthDelimitedDecoder(maxEventBytes),
    naiveLengthDelimited,
    event.map(encodeLengthDelimited),
  ],
] as const)('%s', (_name, make, naive, frame) => {
  it(
    'agrees with its naive twin on well-formed streams, whole or cut short, in any chunking',
    () => {
      const stream = fc.tuple(fc.array(frame, { maxLength: 8 }), fc.nat(3))
      fc.assert(
        fc.property(stream, cuts, ([frames, missing], points) => {
          const whole = Buffer.concat(frames)
          const bytes = whole.subarray(0, Math.max(0, whole.length - missing))
          expect(decode(make(), cut(bytes, points))).toEqual(naive(bytes))
        }),
        effort,
      )
    },
    timeoutMs,
  )

  it(
    'agrees with its naive twin on noise',
    () => {
      const noise = fc.oneof(
        fc.uint8Array({ maxLength: 300 }),
        fc.array(fc.constantFrom(0, 1, 5, 0x0a, 0x0d, 0x7b), { maxLength: 300 }).map((bytes) => Uint8Array.from(bytes)),
      )
      fc.assert(
        fc.property(noise, cuts, (bytes, points) => {
          expect(decode(make(), cut(bytes, points))).toEqual(naive(Buffer.from(bytes)))
        }),
        effort,
      )
    },
    timeoutMs,
  )
})

describe('frame decoders', () => {
  it('hands out a frame that lies inside one chunk without copying it', () => {
    const chunk = encodeLengthDelimited(Uint8Array.of(1, 2, 3))
    expect(new LengthDelimitedDecoder().push(chunk)[0]?.buffer).toBe(chunk.buffer)
  })

  it('keeps the frames in front of one that is too large and reports it at once', () => {
    const decoder = new JsonLineDecoder(4)
    expect(decoder.push(Buffer.from('{}\n{"long"'))).toHaveLength(1)
    expect(decoder.failure?.message).toBe('watch event of more than 4 bytes exceeds the limit of 4 bytes')
    expect(decoder.push(Buffer.from('\n{}\n'))).toEqual([])
  })

  it('refuses an announced length above the limit before any of it arrives', () => {
    const decoder = new LengthDelimitedDecoder()
    decoder.push(Uint8Array.of(0xff, 0xff, 0xff, 0xff))
    expect(decoder.failure?.code).toBe('too-large')
  })

  it('copies each byte a bounded number of times when an event comes in single bytes', () => {
    const stream = encodeLengthDelimited(new Uint8Array(100_000))
    const set = vi.spyOn(Uint8Array.prototype, 'set')
    const decoder = new LengthDelimitedDecoder()
    const frames = Array.from(stream, (_, index) => decoder.push(stream.subarray(index, index + 1))).flat()
    const copiedBytes = set.mock.calls.reduce((sum, [source]) => sum + source.length, 0)
    set.mockRestore()
    expect(frames).toEqual([stream.subarray(4)])
    expect(copiedBytes).toBeLessThan(4 * stream.length)
  })
})
