import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodePacket, encodePacket, MAX_PACKET_TEXT_CHARACTERS, type Packet } from './packet.ts'
import type { SentPacket } from './packet-port.ts'
import { MAX_PACKET_FIELDS, PacketError } from './wire.ts'

/** As the Go library of konnectivity v0.36 writes them. */
const golden: readonly (readonly [string, SentPacket])[] = [
  [
    '121f0a03746370120e31302e302e302e373a313032353018ffffffffffffffff7f',
    { type: 'dial-request', protocol: 'tcp', address: '10.0.0.7:10250', random: 9223372036854775807n },
  ],
  [
    '08011a0d10ac0218d2faf3bf90c4e0b24d',
    { type: 'dial-response', error: '', connectId: 300, random: 5577006791947779410n },
  ],
  [
    '08011a160a12636f6e6e656374696f6e20726566757365641801',
    { type: 'dial-response', error: 'connection refused', connectId: 0, random: 1n },
  ],
  ['08022a020801', { type: 'close-request', connectId: 1 }],
  [
    '080332150a11556e6b6e6f776e20636f6e6e65637449441001',
    { type: 'close-response', connectId: 1, error: 'Unknown connectID' },
  ],
  ['0804220908021a0568656c6c6f', { type: 'data', connectId: 2, data: Buffer.from('hello') }],
  ['08053a02084d', { type: 'dial-close', random: 77n }],
  ['08053a0b08fbffffffffffffffff01', { type: 'dial-close', random: 2n ** 64n - 5n }],
  ['08064200', { type: 'drain' }],
]

const hex = (packet: SentPacket): string => Buffer.concat(encodePacket(packet)).toString('hex')
const unhex = (text: string): Packet => decodePacket(Buffer.from(text, 'hex'))

describe('packets', () => {
  it.each(golden)('%s is read and written as by the Go library', (bytes, packet) => {
    expect(unhex(bytes)).toEqual(packet)
    expect(hex(packet)).toBe(bytes)
  })

  it('reads data that is left out as empty', () => {
    expect(unhex('080422020802')).toEqual({ type: 'data', connectId: 2, data: Buffer.alloc(0) })
  })

  it('takes a packet without a payload, or with another one, as one of zeros', () => {
    expect(unhex('0802')).toEqual({ type: 'close-request', connectId: 0 })
    expect(unhex('08024200')).toEqual({ type: 'close-request', connectId: 0 })
    expect(unhex('')).toEqual({ type: 'dial-request', protocol: '', address: '', random: 0n })
  })

  it('passes over types and fields of later versions', () => {
    expect(unhex('0820')).toEqual({ type: 'unknown', number: 32 })
    expect(unhex('080222041801080152080102030405060708')).toEqual({ type: 'close-request', connectId: 0 })
  })

  it('puts a payload together that comes in two parts, as protobuf has it', () => {
    expect(unhex('08042202080222071a0568656c6c6f')).toEqual({ type: 'data', connectId: 2, data: Buffer.from('hello') })
  })

  it.each([
    ['a field longer than the message', '0804220a0802'],
    ['a number cut off', '08ff'],
    ['a number without an end', `08${'ff'.repeat(11)}`],
    ['an id that is no id', '08022a0b08ffffffffffffffffff01'],
    ['field number 0', '0000'],
    ['a group', '0b0c'],
    ['text where a number belongs', '0a0101'],
    ['a number where a payload belongs', '08022801'],
  ])('refuses %s', (_what, bytes) => {
    expect(() => unhex(bytes)).toThrow(PacketError)
  })

  it('refuses more fields than any packet has, in the packet and in what it carries', () => {
    const part = '22020802'
    expect(unhex(`0804${part.repeat(MAX_PACKET_FIELDS - 1)}`)).toMatchObject({ type: 'data', connectId: 2 })
    expect(() => unhex(`0804${part.repeat(MAX_PACKET_FIELDS)}`)).toThrow(`more than ${MAX_PACKET_FIELDS} fields`)
    const crowded = Buffer.concat([Buffer.from([8, 4, 0x22, 0x82, 0x01]), Buffer.alloc(130, '\x08\x02')])
    expect(() => decodePacket(crowded)).toThrow(`more than ${MAX_PACKET_FIELDS} fields`)
  })

  it('refuses texts nobody could read', () => {
    const error = 'x'.repeat(MAX_PACKET_TEXT_CHARACTERS + 1)
    expect(() => unhex(hex({ type: 'close-response', connectId: 1, error }))).toThrow(PacketError)
  })

  it('reads back whatever it writes', () => {
    const id = fc.maxSafeNat()
    const random = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
    const text = fc.string({ unit: 'grapheme', maxLength: 50 })
    const data = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes))
    const packet: fc.Arbitrary<SentPacket> = fc.oneof(
      fc.record({ type: fc.constant('dial-request' as const), protocol: text, address: text, random }),
      fc.record({ type: fc.constant('dial-response' as const), error: text, connectId: id, random }),
      fc.record({ type: fc.constant('close-response' as const), error: text, connectId: id }),
      fc.record({ type: fc.constant('data' as const), connectId: id, data }),
    )
    fc.assert(
      fc.property(packet, (each) => {
        expect(decodePacket(Buffer.concat(encodePacket(each)))).toEqual(each)
      }),
    )
  })

  it('answers any bytes with a packet or a PacketError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        try {
          expect(decodePacket(Buffer.from(bytes)).type).toBeTypeOf('string')
        } catch (error) {
          expect(error).toBeInstanceOf(PacketError)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})
