import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HpackDecoder, type HpackDecoderLimits } from './decoder.ts'
import { HpackEncoder } from './encoder.ts'
import { HpackError } from './hpack-error.ts'

const limits: HpackDecoderLimits = { maxTableBytes: 4096, maxListBytes: 64 * 1024, maxFields: 200 }
const isLong = process.env['CAUSEWAY_LONG'] === '1'

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(' ', ''), 'hex')
}

function decoderWith(changed: Partial<HpackDecoderLimits> = {}): HpackDecoder {
  return new HpackDecoder({ ...limits, ...changed })
}

function decode(block: string, changed: Partial<HpackDecoderLimits> = {}): string[] {
  return decoderWith(changed).decode(hex(block)).fields
}

/** What the table holds, newest first, asked the way a peer would: by index. */
function tableOf(decoder: HpackDecoder, entries: number): string[] {
  const indices = Array.from({ length: entries }, (_, age) => 0x80 | (62 + age))
  return decoder.decode(Buffer.from(indices)).fields
}

function expectRefused(block: string, message: RegExp, changed: Partial<HpackDecoderLimits> = {}): void {
  expect(() => decode(block, changed)).toThrow(HpackError)
  expect(() => decode(block, changed)).toThrow(message)
}

describe('RFC 7541 C.1: integers', () => {
  it('C.1.1: 10 in a prefix of five bits is one byte', () => {
    const decoder = decoderWith()
    decoder.decode(hex('2a'))
    // A table of 10 bytes keeps nothing.
    decoder.decode(hex('40 01 61 01 62'))
    expect(() => decoder.decode(hex('be'))).toThrow(/index 62, where indices go from 1 to 61/)
  })

  it('C.1.2: 1337 in a prefix of five bits is three bytes', () => {
    expect(decode('3f9a0a', { maxTableBytes: 1337 })).toEqual([])
    expectRefused('3f9a0a', /1337 bytes is asked for, where our setting allows 1336/, { maxTableBytes: 1336 })
  })

  it('C.1.3: 42 at a byte boundary is one byte', () => {
    expect(decode(`00 01 61 2a ${'62'.repeat(42)}`)).toEqual(['a', 'b'.repeat(42)])
  })
})

describe('RFC 7541 C.2: representations', () => {
  it('C.2.1: a literal with indexing is remembered', () => {
    const decoder = decoderWith()
    const field = ['custom-key', 'custom-header']
    expect(decoder.decode(hex('400a637573746f6d2d6b65790d637573746f6d2d686561646572')).fields).toEqual(field)
    expect(tableOf(decoder, 1)).toEqual(field)
  })

  it.each([
    ['C.2.2: without indexing', '040c2f73616d706c652f70617468', [':path', '/sample/path']],
    ['C.2.3: never indexed', '100870617373776f726406736563726574', ['password', 'secret']],
    ['C.2.4: indexed', '82', [':method', 'GET']],
  ])('%s leaves the table alone', (_, block, field) => {
    const decoder = decoderWith()
    expect(decoder.decode(hex(block)).fields).toEqual(field)
    expect(() => tableOf(decoder, 1)).toThrow(HpackError)
  })
})

const requests = [
  [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'www.example.com'],
  [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'www.example.com', 'cache-control', 'no-cache'],
  [
    ...[':method', 'GET', ':scheme', 'https', ':path', '/index.html', ':authority', 'www.example.com'],
    ...['custom-key', 'custom-value'],
  ],
]
const requestTables = [
  [':authority', 'www.example.com'],
  ['cache-control', 'no-cache', ':authority', 'www.example.com'],
  ['custom-key', 'custom-value', 'cache-control', 'no-cache', ':authority', 'www.example.com'],
]
const firstDate = 'Mon, 21 Oct 2013 20:13:21 GMT'
const secondDate = 'Mon, 21 Oct 2013 20:13:22 GMT'
const place = ['location', 'https://www.example.com']
const cookie = 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'
const answers = [
  [':status', '302', 'cache-control', 'private', 'date', firstDate, ...place],
  [':status', '307', 'cache-control', 'private', 'date', firstDate, ...place],
  [
    ...[':status', '200', 'cache-control', 'private', 'date', secondDate, ...place],
    ...['content-encoding', 'gzip', 'set-cookie', cookie],
  ],
]
const answerTables = [
  [...place, 'date', firstDate, 'cache-control', 'private', ':status', '302'],
  [':status', '307', ...place, 'date', firstDate, 'cache-control', 'private'],
  ['set-cookie', cookie, 'content-encoding', 'gzip', 'date', secondDate],
]

describe('RFC 7541 C.3 to C.6: blocks that share a table', () => {
  it.each([
    {
      title: 'C.3: requests, plain',
      blocks: [
        '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '8286 84be 5808 6e6f 2d63 6163 6865',
        '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      ],
    },
    {
      title: 'C.4: requests, Huffman coded',
      blocks: [
        '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
        '8286 84be 5886 a8eb 1064 9cbf',
        '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
      ],
    },
  ])('$title', ({ blocks }) => {
    const decoder = decoderWith()
    for (const [at, block] of blocks.entries()) {
      expect(decoder.decode(hex(block))).toEqual({ fields: requests[at], isTooLarge: false })
      expect(tableOf(decoder, at + 1)).toEqual(requestTables[at])
    }
  })

  it.each([
    {
      title: 'C.5: answers, plain, in a table of 256 bytes',
      blocks: [
        `4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d
         546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
        '4803 3330 37c1 c0bf',
        `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f
         6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b
         2076 6572 7369 6f6e 3d31`,
      ],
    },
    {
      title: 'C.6: answers, Huffman coded, in a table of 256 bytes',
      blocks: [
        `4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7
         8f0b 97c8 e9ae 82ae 43d3`,
        '4883 640e ffc1 c0bf',
        `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335
         dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07`,
      ],
    },
  ])('$title', ({ blocks }) => {
    const decoder = decoderWith()
    decoder.decode(hex('3fe101'))
    for (const [at, block] of blocks.entries()) {
      expect(decoder.decode(hex(block.replaceAll(/\s/g, '')))).toEqual({ fields: answers[at], isTooLarge: false })
      const table = answerTables[at] ?? []
      expect(tableOf(decoder, table.length / 2)).toEqual(table)
      expect(() => tableOf(decoder, table.length / 2 + 1)).toThrow(HpackError)
    }
  })
})

describe('what is refused', () => {
  it('index 0', () => {
    expectRefused('80', /index 0, where indices go from 1 to 61/)
  })

  it('an index beyond the table, for a field and for a name', () => {
    expectRefused('be', /index 62/)
    expectRefused('7f 00 01 61', /index 63/)
    expectRefused('0f 2f 01 61', /index 62/)
  })

  it('an integer that never ends', () => {
    expectRefused('ff 80 80 80 80 00', /more than 4 bytes/)
    expectRefused('ff ff ff ff ff ff ff ff ff ff', /more than 4 bytes/)
  })

  it('the largest integer there is, as an index and as a length', () => {
    expectRefused('ff ff ff ff 7f', /index 268435582/)
    expectRefused('00 7f ff ff ff 7f', /string of 268435582 bytes is announced where only 0 follow/)
  })

  it('a block that ends anywhere inside a field', () => {
    const whole = hex('400a637573746f6d2d6b65790d637573746f6d2d686561646572')
    for (let bytes = 1; bytes < whole.length; bytes++) {
      expect(() => decoderWith().decode(whole.subarray(0, bytes))).toThrow(HpackError)
    }
    expectRefused('ff', /ends in the middle of a field/)
    expectRefused('3f', /ends in the middle of a field/)
  })

  it('a table size above our setting', () => {
    expectRefused('3f e2 1f', /4097 bytes is asked for, where our setting allows 4096/)
  })

  it('a third table size update, and one after a field', () => {
    expect(decode('20 3f e1 1f 82')).toEqual([':method', 'GET'])
    expectRefused('20 20 20 82', /too many table size updates/)
    expectRefused('82 20', /after a field/)
  })

  it('the end-of-string symbol inside a Huffman string', () => {
    expectRefused('00 01 61 84 ff ff ff ff', /end-of-string symbol/)
    expectRefused('00 01 61 85 1f ff ff ff ff', /end-of-string symbol/)
  })

  it('Huffman padding of more than seven bits', () => {
    expectRefused('00 01 61 81 ff', /more than seven bits/)
    // 'a' is 00011, and then eleven ones follow.
    expectRefused('00 01 61 82 1f ff', /too much padding/)
    expect(decode('00 01 61 81 1f')).toEqual(['a', 'a'])
  })

  it('Huffman padding that is not all ones', () => {
    expectRefused('00 01 61 81 1e', /padding that is not ones/)
    expectRefused('00 01 61 81 18', /padding that is not ones/)
  })
})

describe('limits of a list', () => {
  const twice = '40 01 61 01 62 40 01 63 01 64 82'

  it('takes exactly what fits', () => {
    const bytes = 34 + 34 + 42
    expect(decoderWith({ maxListBytes: bytes }).decode(hex(twice)).isTooLarge).toBe(false)
    expect(decoderWith({ maxFields: 3 }).decode(hex(twice)).isTooLarge).toBe(false)
  })

  it.each([
    ['bytes', { maxListBytes: 34 + 33 }],
    ['fields', { maxFields: 1 }],
  ])('too many %s: says so, keeps what fitted, and the table is right for the next block', (_, changed) => {
    const decoder = decoderWith(changed)
    expect(decoder.decode(hex(twice))).toEqual({ fields: ['a', 'b'], isTooLarge: true })
    expect(decoder.decode(hex('be'))).toEqual({ fields: ['c', 'd'], isTooLarge: false })
    expect(decoder.decode(hex('bf'))).toEqual({ fields: ['a', 'b'], isTooLarge: false })
  })

  it('keeps no smaller field after the first that did not fit', () => {
    const block = hex(`00 01 61 7f 00 ${'62'.repeat(127)} 82`)
    expect(decoderWith({ maxListBytes: 100 }).decode(block)).toEqual({ fields: [], isTooLarge: true })
  })

  it('a large entry named by index over and over is held by the limit', () => {
    const decoder = decoderWith()
    const bomb = Buffer.concat([hex(`40 01 61 7f a1 1e`), Buffer.alloc(4000, 'b'), Buffer.alloc(60_000, 0xbe)])
    const { fields, isTooLarge } = decoder.decode(bomb)
    expect(isTooLarge).toBe(true)
    expect(fields.length / 2).toBe(Math.floor(limits.maxListBytes / 4033))
  })
})

describe('the table', () => {
  it('starts at the protocol’s size even where our setting is lower: the peer may not have read it yet', () => {
    const decoder = decoderWith({ maxTableBytes: 0 })
    decoder.decode(hex('40 01 61 01 62'))
    expect(tableOf(decoder, 1)).toEqual(['a', 'b'])
    decoder.decode(hex('20'))
    expect(() => tableOf(decoder, 1)).toThrow(HpackError)
  })

  it('does not grow with our setting until the peer says so', () => {
    const block = Buffer.concat([hex('40 01 61 7f 81 1f'), Buffer.alloc(4096, 'b')])
    const decoder = decoderWith({ maxTableBytes: 65_536 })
    decoder.decode(block)
    expect(() => tableOf(decoder, 1)).toThrow(HpackError)
    decoder.decode(Buffer.concat([hex('3f e1 ff 03'), block]))
    expect(tableOf(decoder, 1)).toEqual(['a', 'b'.repeat(4096)])
  })

  it('can name the entry that is pushed out by the very field that names it', () => {
    const decoder = decoderWith()
    decoder.decode(hex('3f 0d 40 01 61 01 62'))
    expect(decoder.decode(hex('7e 01 63')).fields).toEqual(['a', 'c'])
    expect(tableOf(decoder, 1)).toEqual(['a', 'c'])
  })
})

describe('hostile bytes', () => {
  const anyBytes = fc.uint8Array({ maxLength: 400 })
  /** Bytes that look like fields: more of these get past the first byte. */
  const fieldLike = fc
    .array(fc.oneof(fc.constantFrom(0x40, 0x00, 0x10, 0x20, 0x3f, 0x81, 0x83, 0xbe, 0xff, 0x7f, 1, 2), fc.nat(255)))
    .map((bytes) => Uint8Array.from(bytes))

  it('are refused with HpackError or read within the limits, block after block', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(anyBytes, fieldLike), { maxLength: 8 }), (blocks) => {
        const decoder = decoderWith({ maxListBytes: 2000, maxFields: 20 })
        for (const block of blocks) {
          try {
            const { fields } = decoder.decode(Buffer.from(block))
            expect(fields.length).toBeLessThanOrEqual(40)
            expect(fields.join('').length).toBeLessThanOrEqual(2000)
          } catch (error) {
            expect(error).toBeInstanceOf(HpackError)
            return
          }
        }
      }),
      { numRuns: isLong ? 100_000 : 2_000 },
    )
  })

  it('one changed byte in an honest block does no more', () => {
    const field = fc.tuple(fc.string({ minLength: 1, maxLength: 10 }), fc.string({ maxLength: 60 }))
    fc.assert(
      fc.property(fc.array(field, { minLength: 1, maxLength: 8 }), fc.nat(), fc.nat(255), (list, where, byte) => {
        const block = new HpackEncoder().encode(list.flat())
        block[where % block.length] = byte
        try {
          expect(decoderWith().decode(block).fields.length % 2).toBe(0)
        } catch (error) {
          expect(error).toBeInstanceOf(HpackError)
        }
      }),
      { numRuns: isLong ? 100_000 : 1_000 },
    )
  })

  it('keeps nothing of the block’s memory', () => {
    const block = hex('40 01 61 01 62')
    const decoder = decoderWith()
    const { fields } = decoder.decode(block)
    block.fill(0)
    expect(fields).toEqual(['a', 'b'])
    expect(tableOf(decoder, 1)).toEqual(['a', 'b'])
  })
})
