import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FRAMES_PER_LOOK } from '../yamux/limits.ts'
import { GrpcFramingError, MAX_GRPC_MESSAGE_BYTES, MessageReader, messagePrefix } from './message-reader.ts'

const framed = (message: Uint8Array): Buffer => Buffer.concat([messagePrefix(message.length), message])

describe('the framing of gRPC messages', () => {
  it('is a zero byte and the length', () => {
    expect(messagePrefix(258).toString('hex')).toBe('0000000102')
  })

  it('gives back the same messages however the bytes are cut', () => {
    const messages = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 })
    const cuts = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 })
    fc.assert(
      fc.property(messages, cuts, (sent, sizes) => {
        const bytes = Buffer.concat(sent.map(framed))
        const received: string[] = []
        const reader = new MessageReader((message) => received.push(message.toString('hex')))
        for (let offset = 0, turn = 0; offset < bytes.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 1
          reader.push(bytes.subarray(offset, offset + size))
          offset += size
        }
        reader.end()
        expect(received).toEqual(sent.map((message) => Buffer.from(message).toString('hex')))
      }),
    )
  })

  it('does not copy a message that came in one piece', () => {
    const bytes = framed(Buffer.from('whole'))
    const received: Buffer[] = []
    new MessageReader((message) => received.push(message)).push(bytes)
    bytes.write('WHOLE', 5)
    expect(received.map(String)).toEqual(['WHOLE'])
  })

  it('keeps no small pieces: each would hold memory many times its size', () => {
    const message = Buffer.alloc(10_000, 'x')
    const received: string[] = []
    const reader = new MessageReader((whole) => received.push(whole.toString()))
    for (const byte of framed(message)) {
      const piece = Buffer.alloc(1, byte)
      reader.push(piece)
      piece.fill(0)
    }
    expect(received).toEqual([message.toString()])
  })

  it.each([
    ['compressed', [1, 0, 0, 0, 1]],
    ['too large', [0, ...Buffer.from(`00${(MAX_GRPC_MESSAGE_BYTES + 1).toString(16)}`.padStart(8, '0'), 'hex')]],
  ])('refuses a message that is %s before it has come', (_what, prefix) => {
    const reader = new MessageReader(() => {})
    expect(() => reader.push(Buffer.from(prefix))).toThrow(GrpcFramingError)
  })

  it('stops between messages when its time is up, and goes on when it is called again', () => {
    const received: string[] = []
    const reader = new MessageReader((message) => received.push(message.toString()))
    const sent = Array.from({ length: 3 * FRAMES_PER_LOOK + 1 }, (_, index) => `${index}`)
    let rounds = 1
    let bytes = Buffer.concat(sent.map((text) => framed(Buffer.from(text))))
    while (reader.push(bytes, () => true)) {
      expect(received).toHaveLength(rounds * FRAMES_PER_LOOK)
      rounds += 1
      bytes = Buffer.alloc(0)
    }
    expect([rounds, received]).toEqual([4, sent])
  })

  it('tells a stream that ends inside a message', () => {
    const reader = new MessageReader(() => {})
    reader.push(framed(Buffer.from('cut')).subarray(0, 7))
    expect(() => reader.end()).toThrow('inside a message')
  })

  it('sends nothing that the peer would not take', () => {
    expect(() => messagePrefix(MAX_GRPC_MESSAGE_BYTES + 1)).toThrow(GrpcFramingError)
  })
})
