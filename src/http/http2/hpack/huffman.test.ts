import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HpackError } from './hpack-error.ts'
import { decodeHuffman, huffmanBytes, SHARED_TEXT_BYTES, writeHuffman } from './huffman.ts'
import { huffmanCodes } from './huffman-codes.ts'

const isLong = process.env['CAUSEWAY_LONG'] === '1'

function encode(text: string): Buffer {
  const start = 4 * text.length + 8
  const bytes = Buffer.alloc(start + text.length)
  bytes.write(text, start, 'latin1')
  const end = writeHuffman(bytes, start, start + text.length, 0)
  if (end !== huffmanBytes(bytes, start, start + text.length)) expect.fail(`${text} took ${end} bytes`)
  return bytes.subarray(0, end)
}

/** The definition, bit by bit, to hold the tables against. */
function encodeSlowly(text: string): Buffer {
  let bits = ''
  for (const character of text) {
    const symbol = character.charCodeAt(0)
    bits += huffmanCodes.codes[symbol]!.toString(2).padStart(huffmanCodes.lengths[symbol]!, '0')
  }
  bits = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1')
  return Buffer.from(bits.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? [])
}

describe('the code of RFC 7541 appendix B', () => {
  it.each([
    [0, 0x1ff8, 13],
    [1, 0x7fffd8, 23],
    [10, 0x3ffffffc, 30],
    [32, 0x14, 6],
    [48, 0x0, 5],
    [65, 0x21, 6],
    [92, 0x7fff0, 19],
    [122, 0x7b, 7],
    [127, 0xffffffc, 28],
    [220, 0xffffffd, 28],
    [249, 0xffffffe, 28],
    [255, 0x3ffffee, 26],
    [256, 0x3fffffff, 30],
  ])('symbol %i is 0x%s in %i bits', (symbol, code, bits) => {
    expect([huffmanCodes.codes[symbol], huffmanCodes.lengths[symbol]]).toEqual([code, bits])
  })

  it('is complete: every sequence of bits begins with exactly one code', () => {
    const share = [...huffmanCodes.lengths].reduce((sum, bits) => sum + 2 ** -bits, 0)
    expect(share).toBe(1)
  })
})

describe('strings', () => {
  it('of every single character, and every two, are read as they were written', () => {
    for (let first = 0; first < 256; first++) {
      expect(encode(String.fromCharCode(first))).toEqual(encodeSlowly(String.fromCharCode(first)))
      for (let second = 0; second < 256; second++) {
        const text = String.fromCharCode(first, second)
        const coded = encode(text)
        if (decodeHuffman(coded, 0, coded.length) !== text) expect.fail(`${first}, ${second}`)
      }
    }
  })

  it('of any characters are what the definition says, and read back', () => {
    const unit = fc.oneof(fc.nat(255), fc.integer({ min: 32, max: 126 })).map((code) => String.fromCharCode(code))
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 300 }), fc.nat(5), (text, offset) => {
        const coded = encode(text)
        expect(coded).toEqual(encodeSlowly(text))
        const around = Buffer.concat([Buffer.alloc(offset, 0xff), coded, Buffer.alloc(5)])
        expect(decodeHuffman(around, offset, offset + coded.length)).toBe(text)
      }),
      { numRuns: isLong ? 100_000 : 500 },
    )
  })

  it('longer than the shared memory are read too', () => {
    const text = '0123456789'.repeat(SHARED_TEXT_BYTES / 5)
    const coded = encode(text)
    expect(decodeHuffman(coded, 0, coded.length)).toBe(text)
  })

  it('of any bytes are either refused or are written again as the very same bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        let text: string
        try {
          text = decodeHuffman(Buffer.from(bytes), 0, bytes.length)
        } catch (error) {
          expect(error).toBeInstanceOf(HpackError)
          return
        }
        expect(encode(text)).toEqual(Buffer.from(bytes))
      }),
      { numRuns: isLong ? 100_000 : 2_000 },
    )
  })
})
