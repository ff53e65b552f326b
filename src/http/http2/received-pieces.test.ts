import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ReceivedPieces } from './received-pieces.ts'

/** A piece of a chunk of 64 KiB, as a socket gives them. */
function pieceOf(content: Buffer): Buffer {
  const chunk = Buffer.allocUnsafeSlow(64 * 1024)
  content.copy(chunk, 100)
  return chunk.subarray(100, 100 + content.length)
}

function takeAll(received: ReceivedPieces): Buffer[] {
  const taken: Buffer[] = []
  for (let piece = received.take(); piece !== undefined; piece = received.take()) taken.push(piece)
  return taken
}

describe('what was received and not read', () => {
  it('comes out in order, whole, in whatever pieces it came and was taken', () => {
    const piece = fc.uint8Array({ minLength: 1, maxLength: 3_000 }).map((bytes) => Buffer.from(bytes))
    const action = fc.oneof(piece, piece.map(pieceOf), fc.constant('take' as const))
    fc.assert(
      fc.property(fc.array(action, { maxLength: 200 }), (actions) => {
        const received = new ReceivedPieces()
        const [given, got]: [Buffer[], Buffer[]] = [[], []]
        for (const next of actions) {
          if (next === 'take') got.push(received.take() ?? Buffer.alloc(0))
          else {
            given.push(Buffer.from(next))
            received.add(next)
          }
        }
        expect(Buffer.concat([...got, ...takeAll(received)]).equals(Buffer.concat(given))).toBe(true)
        expect(received.isEmpty).toBe(true)
      }),
    )
  })

  it.each([1, 100, 1_023, 1_024, 5_000, 16_384])('pieces of %i bytes hold no more than twice their weight', (bytes) => {
    const received = new ReceivedPieces()
    const count = Math.ceil(Math.min(200_000, bytes * 5_000) / bytes)
    for (let index = 0; index < count; index++) received.add(pieceOf(Buffer.alloc(bytes)))
    const held = new Set(takeAll(received).map(({ buffer }) => buffer))
    const heldBytes = [...held].reduce((sum, { byteLength }) => sum + byteLength, 0)
    expect(heldBytes).toBeLessThanOrEqual(2 * bytes * count)
    expect(held.size).toBeLessThanOrEqual(200_000 / 8_000 + 2)
  })

  it('a piece that is most of its chunk is kept as it is', () => {
    const received = new ReceivedPieces()
    const piece = Buffer.allocUnsafeSlow(10_000).subarray(0, 6_000)
    received.add(piece)
    expect(received.take()).toBe(piece)
  })

  it('a reader that is always one piece behind holds nothing that it has read', async () => {
    setFlagsFromString('--expose_gc')
    const collectGarbage = runInNewContext('gc') as () => void
    const received = new ReceivedPieces()
    const read: WeakRef<ArrayBufferLike>[] = []
    received.add(Buffer.allocUnsafeSlow(1_000))
    for (let count = 0; count < 20; count++) {
      received.add(Buffer.allocUnsafeSlow(1_000))
      const piece = received.take()
      if (piece !== undefined) read.push(new WeakRef(piece.buffer))
    }
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
    expect(read.filter((piece) => piece.deref() !== undefined).length).toBeLessThanOrEqual(2)
    expect(received.isEmpty).toBe(false)
  })

  it('cleared, it is empty and takes more', () => {
    const received = new ReceivedPieces()
    received.add(pieceOf(Buffer.from('lost')))
    received.clear()
    expect([received.isEmpty, received.take()]).toEqual([true, undefined])
    received.add(pieceOf(Buffer.from('kept')))
    expect(received.take()?.toString()).toBe('kept')
  })
})
