import { describe, expect, it } from 'vitest'
import { FrameReader } from './frame-reader.ts'
import { Flag, FRAME_HEADER_BYTES, FrameType, frame } from './wire.ts'

function frameOf(type: number, flags: number, streamId: number, payload: string): Buffer {
  const bytes = frame(type, flags, streamId, payload.length)
  bytes.write(payload, FRAME_HEADER_BYTES, 'latin1')
  return bytes
}

const bytes = Buffer.concat([
  frameOf(FrameType.settings, 0, 0, ''),
  frameOf(FrameType.data, 0, 1, 'hello'),
  frameOf(FrameType.data, Flag.endStream, 1, ''),
  frameOf(FrameType.data, Flag.padded | Flag.endStream, 3, '\x03worldxyz'),
  frameOf(FrameType.data, Flag.padded, 3, '\x00'),
  frameOf(0xbb, 7, 2 ** 31 - 1, 'unknown'),
  frameOf(FrameType.data, Flag.endStream, 5, 'last'),
])

/** What comes out, with the pieces of one body joined: they are cut as the bytes were. */
function read(chunks: readonly Buffer[]): { frames: string[]; bodies: string[]; windowBytes: number } {
  const frames: string[] = []
  const bodies = new Map<number, string>()
  let windowBytes = 0
  const reader = new FrameReader({
    onFrame: (type, flags, streamId, payload) =>
      void frames.push(`${type} ${flags} ${streamId} ${payload.toString('latin1')}`),
    onData: (streamId, piece, isEnd, taken) => {
      bodies.set(streamId, `${bodies.get(streamId) ?? ''}${piece.toString('latin1')}${isEnd ? '.' : ''}`)
      windowBytes += taken
    },
  })
  for (const chunk of chunks) reader.push(chunk)
  return { frames, bodies: [...bodies].map(([id, body]) => `${id} ${body}`), windowBytes }
}

const expected = {
  frames: ['4 0 0 ', `187 7 ${2 ** 31 - 1} unknown`],
  bodies: ['1 hello.', '3 world.', '5 last.'],
  windowBytes: 5 + 9 + 1 + 4,
}

describe('frames', () => {
  it('come out the same, wherever their bytes are cut in two', () => {
    for (let at = 0; at <= bytes.length; at++) {
      expect(read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(expected)
    }
  })

  it('come out the same byte by byte, and in pieces of any one size', () => {
    for (let size = 1; size <= bytes.length; size++) {
      const chunks: Buffer[] = []
      for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size))
      expect(read(chunks)).toEqual(expected)
    }
  })

  it('of data are handed on as they come, without a copy and without waiting for the rest', () => {
    const pieces: Buffer[] = []
    const reader = new FrameReader({ onFrame() {}, onData: (_, piece) => void pieces.push(piece) })
    const chunk = frameOf(FrameType.data, 0, 1, 'hello')
    reader.push(chunk.subarray(0, 11))
    expect(pieces.map(String)).toEqual(['he'])
    expect(pieces[0]?.buffer).toBe(chunk.buffer)
  })
})
