import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HpackDecoder } from './decoder.ts'
import { HpackEncoder } from './encoder.ts'

const isLong = process.env['CAUSEWAY_LONG'] === '1'

function hexOf(block: Buffer): string {
  return block.toString('hex')
}

function decoderFor(maxTableBytes = 65_536): HpackDecoder {
  return new HpackDecoder({ maxTableBytes, maxListBytes: 2 ** 24, maxFields: 10_000 })
}

describe('RFC 7541 appendix C, where policy agrees', () => {
  it('C.2.4: a field both sides know from the start is its index', () => {
    expect(hexOf(new HpackEncoder().encode([':method', 'GET']))).toBe('82')
  })

  it('C.4: requests that share a table', () => {
    const encoder = new HpackEncoder()
    const site = [':authority', 'www.example.com']
    const first = [':method', 'GET', ':scheme', 'http', ':path', '/', ...site]
    expect(hexOf(encoder.encode(first))).toBe('828684418cf1e3c2e5f23a6ba0ab90f4ff')
    expect(hexOf(encoder.encode([...first, 'cache-control', 'no-cache']))).toBe('828684be5886a8eb10649cbf')
    const third = [':method', 'GET', ':scheme', 'https', ':path', '/index.html', ...site, 'custom-key', 'custom-value']
    expect(hexOf(encoder.encode(third))).toBe('828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf')
  })

  it('C.6: the parts of answers that are worth remembering', () => {
    const encoder = new HpackEncoder(256)
    const head = (status: string) => [':status', status, 'cache-control', 'private']
    expect(hexOf(encoder.encode(head('302')))).toBe('3fe101488264025885aec3771a4b')
    // The RFC codes `307` although that is no shorter; here it stays plain. The field before it is known.
    expect(hexOf(encoder.encode(head('307')))).toBe('4803333037bf')
  })
})

describe('what is remembered', () => {
  function secondTime(name: string, value: string, encoder = new HpackEncoder()): Buffer {
    encoder.encode([name, value])
    return encoder.encode([name, value])
  }

  it('a field that may come again is one byte the second time', () => {
    expect(hexOf(secondTime('user-agent', 'kubelet'))).toBe('be')
    expect(hexOf(secondTime('x-anything', ''))).toBe('be')
    expect(hexOf(secondTime('authorization', `Bearer ${'x'.repeat(900)}`))).toBe('be')
  })

  it.each([
    ':path',
    'age',
    'audit-id',
    'content-length',
    'date',
    'etag',
    'if-modified-since',
    'if-none-match',
    'location',
    'set-cookie',
    'traceparent',
    'x-request-id',
  ])('%s never comes twice: written out without indexing', (name) => {
    const encoder = new HpackEncoder()
    const first = encoder.encode([name, 'value'])
    expect((first[0] ?? 0) & 0xf0).toBe(0x00)
    expect(encoder.encode([name, 'value'])).toEqual(first)
  })

  it.each([
    ['authorization', 'Basic YTpi'],
    ['proxy-authorization', 'Basic YTpi'],
    ['cookie', 'a=b'],
    ['cookie', 'session=0123456789012345678901234567890123456789'],
  ])('%s: %s is marked never to be indexed', (name, value) => {
    expect((secondTime(name, value)[0] ?? 0) & 0xf0).toBe(0x10)
  })

  it('a credential of twenty bytes is long enough', () => {
    expect(hexOf(secondTime('authorization', 'x'.repeat(20)))).toBe('be')
    expect((secondTime('authorization', 'x'.repeat(19))[0] ?? 0) & 0xf0).toBe(0x10)
  })

  it('an entry above three quarters of the table is not, one of exactly that is', () => {
    const roomForValue = 3072 - 32 - 'x-large'.length
    expect(secondTime('x-large', 'v'.repeat(roomForValue)).length).toBe(1)
    expect(secondTime('x-large', 'v'.repeat(roomForValue + 1)).length).toBeGreaterThan(1000)
  })

  it('the name alone is used where only the value is new', () => {
    const encoder = new HpackEncoder()
    encoder.encode(['x-name', 'one'])
    // Index 62 for the name, and `two` is as short plain as it is coded.
    expect(hexOf(encoder.encode(['x-name', 'two']))).toMatch(/^7e/)
    expect(hexOf(encoder.encode(['x-name', 'one', 'x-name', 'two']))).toBe('bfbe')
  })

  it('what was pushed out is written out again', () => {
    const encoder = new HpackEncoder(100)
    const decoder = decoderFor()
    for (const value of ['one', 'two', 'three', 'one', 'two', 'three', 'three']) {
      expect(decoder.decode(encoder.encode(['x-name', value])).fields).toEqual(['x-name', value])
    }
    expect(encoder.encode(['x-name', 'three']).length).toBe(1)
    expect(encoder.encode(['x-name', 'one']).length).toBeGreaterThan(1)
  })
})

describe('table size', () => {
  it('says nothing while nothing changed', () => {
    const encoder = new HpackEncoder()
    encoder.setPeerTableBytes(4096)
    encoder.setPeerTableBytes(65_536)
    expect(hexOf(encoder.encode([':method', 'GET']))).toBe('82')
  })

  it('announces a ceiling below the protocol’s size in the first block, once', () => {
    const encoder = new HpackEncoder(0)
    expect(hexOf(encoder.encode([':method', 'GET']))).toBe('2082')
    expect(hexOf(encoder.encode([':method', 'GET']))).toBe('82')
  })

  it('grows with the peer up to its own ceiling', () => {
    const encoder = new HpackEncoder(8192)
    expect(hexOf(encoder.encode([':method', 'GET']))).toBe('82')
    encoder.setPeerTableBytes(65_536)
    expect(hexOf(encoder.encode([':method', 'GET']))).toBe('3fe13f82')
  })

  it('goes down with the peer, and what did not fit is forgotten', () => {
    const encoder = new HpackEncoder()
    const decoder = decoderFor()
    decoder.decode(encoder.encode(['x-a', 'b', 'x-c', 'd']))
    encoder.setPeerTableBytes(40)
    expect(decoder.decode(encoder.encode(['x-c', 'd', 'x-a', 'b'])).fields).toEqual(['x-c', 'd', 'x-a', 'b'])
    expect(hexOf(encoder.encode(['x-c', 'd']))).toBe('be')
    expect(encoder.encode(['x-a', 'b']).length).toBeGreaterThan(1)
  })

  it('tells the dip when it was lowered and raised between two blocks', () => {
    const encoder = new HpackEncoder()
    const decoder = decoderFor()
    decoder.decode(encoder.encode(['x-a', 'b']))
    encoder.setPeerTableBytes(100)
    encoder.setPeerTableBytes(0)
    encoder.setPeerTableBytes(50)
    encoder.setPeerTableBytes(4096)
    const block = encoder.encode(['x-a', 'b'])
    expect(hexOf(block)).toMatch(/^203fe11f40/)
    expect(decoder.decode(block).fields).toEqual(['x-a', 'b'])
    expect(hexOf(encoder.encode(['x-a', 'b']))).toBe('be')
  })
})

describe('strings', () => {
  it('are Huffman coded only where that is shorter', () => {
    expect(hexOf(new HpackEncoder(0).encode([':path', 'aaaaaaaa']))).toMatch(/^200485/)
    expect(hexOf(new HpackEncoder(0).encode([':path', '\u00ff\u00fe']))).toBe('200402fffe')
    expect(hexOf(new HpackEncoder(0).encode([':path', 'a']))).toBe('20040161')
  })

  it.each([3, 100])('send `?` for what latin1 does not have, and go on (%i characters)', (characters) => {
    const encoder = new HpackEncoder()
    const decoder = decoderFor()
    // U+010A cut to its low byte would be a line break.
    const value = '\u010a'.repeat(characters)
    for (let round = 0; round < 3; round++) {
      expect(decoder.decode(encoder.encode(['x-a', value])).fields).toEqual(['x-a', '?'.repeat(characters)])
    }
  })

  it('of any length are fine, and later blocks do not touch earlier ones', () => {
    const encoder = new HpackEncoder()
    const decoder = decoderFor()
    const long = ['x-long', 'z'.repeat(100_000), 'x-raw', '\u00ff'.repeat(70_000)]
    const first = encoder.encode(long)
    const second = encoder.encode(['x-a', 'b'])
    expect(decoder.decode(first).fields).toEqual(long)
    expect(decoder.decode(second).fields).toEqual(['x-a', 'b'])
  })

  it('leave the room that was asked for at the front', () => {
    const plain = new HpackEncoder().encode(['x-a', 'b', ':method', 'GET'])
    const withRoom = new HpackEncoder().encode(['x-a', 'b', ':method', 'GET'], 9)
    expect(withRoom.subarray(9)).toEqual(plain)
  })
})

describe('what was encoded is decoded again', () => {
  const latin1 = fc.string({ unit: fc.nat(255).map((code) => String.fromCharCode(code)), maxLength: 80 })
  const name = fc.oneof(
    fc.constantFrom(':method', ':path', ':authority', 'cookie', 'authorization', 'x-a', 'x-b', 'x-c', 'accept'),
    fc.stringMatching(/^[a-z0-9-]{1,20}$/),
  )
  const value = fc.oneof(
    fc.constantFrom('GET', '/', '', 'gzip', 'one', 'two', 'three', 'application/json'),
    latin1,
    fc.string({ maxLength: 1500, size: 'max' }),
  )
  const block = fc.array(fc.tuple(name, value), { maxLength: 12 }).map((list) => list.flat())
  const step = fc.oneof({ arbitrary: block, weight: 4 }, { arbitrary: fc.nat(9000), weight: 1 })

  it('over many blocks of one connection, with table sizes changing between them', () => {
    fc.assert(
      fc.property(fc.nat(8192), fc.array(step, { maxLength: 40 }), (ceiling, steps) => {
        const encoder = new HpackEncoder(ceiling)
        const decoder = decoderFor()
        for (const next of steps) {
          if (typeof next === 'number') encoder.setPeerTableBytes(next)
          else expect(decoder.decode(encoder.encode(next))).toEqual({ fields: next, isTooLarge: false })
        }
      }),
      { numRuns: isLong ? 20_000 : 300 },
    )
  })
})
