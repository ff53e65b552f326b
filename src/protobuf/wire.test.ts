import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ProtoReader, WIRE_BYTES, WIRE_FIXED64, WIRE_VARINT } from './reader.ts'
import { BackwardWriter, borrowWriter, returnWriter } from './writer.ts'

function written(write: (writer: BackwardWriter) => void): Buffer {
  const writer = new BackwardWriter(1)
  write(writer)
  return writer.finish()
}

describe('wire values', () => {
  it('of 64 bits come back exact, as numbers where possible', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        const bytes = written((writer) => writer.int64(value))
        const read = new ProtoReader(bytes).int64(bytes.length)
        expect(BigInt(read)).toBe(value)
        expect(typeof read).toBe(Number.isSafeInteger(Number(value)) ? 'number' : 'bigint')
      }),
    )
  })

  it('of 32 bits come back, negative ones from ten bytes', () => {
    fc.assert(
      fc.property(fc.integer(), (value) => {
        const bytes = written((writer) => writer.int64(value))
        expect(bytes.length).toBe(value < 0 ? 10 : Math.max(1, Math.ceil(value.toString(2).length / 7)))
        expect(new ProtoReader(bytes).int32(bytes.length)).toBe(value)
      }),
    )
  })

  it('of text come back, short and long, ASCII and not', () => {
    const text = fc.oneof(fc.string({ maxLength: 60 }), fc.string({ unit: 'grapheme', maxLength: 60 }))
    fc.assert(
      fc.property(text, (value) => {
        const bytes = written((writer) => writer.stringField(3, value))
        const reader = new ProtoReader(bytes)
        expect(reader.uint32(bytes.length)).toBe((3 << 3) | WIRE_BYTES)
        expect(reader.string(reader.lengthDelimited(bytes.length))).toBe(Buffer.from(value).toString())
        expect(reader.pos).toBe(bytes.length)
      }),
    )
  })

  it('of doubles come back', () => {
    const bytes = written((writer) => writer.doubleField(1, -0.1))
    const reader = new ProtoReader(bytes)
    expect(reader.uint32(bytes.length)).toBe((1 << 3) | WIRE_FIXED64)
    expect(reader.double(bytes.length)).toBe(-0.1)
  })
})

describe('ProtoReader', () => {
  it('steps over every wire type, groups included', () => {
    const group = Buffer.from([0x0b, 0x10, 0x01, 0x13, 0x14, 0x0c])
    const reader = new ProtoReader(group)
    reader.skip(reader.uint32(group.length) & 7, group.length)
    expect(reader.pos).toBe(group.length)
  })

  it.each([
    ['a group that never ends', Buffer.from([0x0b, 0x10, 0x01]), /ends inside/],
    ['groups without end', Buffer.alloc(100, 0x0b), /nested deeper/],
    ['a wire type that does not exist', Buffer.from([0x0f]), /wire type 7/],
    ['eight bytes that are not there', Buffer.from([0x09, 1, 2]), /ends inside/],
    ['four bytes that are not there', Buffer.from([0x0d, 1]), /ends inside/],
  ])('refuses %s', (_name, bytes, message) => {
    const reader = new ProtoReader(bytes)
    expect(() => reader.skip(reader.uint32(bytes.length) & 7, bytes.length)).toThrow(message)
  })

  it('reads any byte array, not only buffers', () => {
    const bytes = new Uint8Array([0xff, 0x08, 0x96, 0x01]).subarray(1)
    const reader = new ProtoReader(bytes)
    expect(reader.uint32(3)).toBe((1 << 3) | WIRE_VARINT)
    expect(reader.uint32(3)).toBe(150)
  })
})

describe('BackwardWriter', () => {
  it('can be given back and used again', () => {
    const writer = borrowWriter()
    writer.stringField(1, 'secret of the last user')
    returnWriter(writer)
    const again = borrowWriter()
    expect(again).toBe(writer)
    expect(again.finish().length).toBe(0)
    returnWriter(again)
  })
})
