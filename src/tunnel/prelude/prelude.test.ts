import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeAnswer, encodeAnswer, MAX_ANSWER_TEXT_BYTES, type OpenAnswer } from './answer.ts'
import { encodeMessage, MAX_PRELUDE_FIELD_BYTES, MessageReader, PreludeError, type PreludeMessage } from './message.ts'
import {
  decodeOpenHeader,
  encodeOpenHeader,
  MAX_SOURCE_BYTES,
  MAX_TARGET_BYTES,
  type OpenHeader,
} from './open-header.ts'

const uint32 = fc.nat(0xffff_ffff)
const printable = (minLength: number, maxLength: number) =>
  fc.string({ minLength, maxLength, unit: 'grapheme' }).filter((text) => !/\p{Cc}/u.test(text))

const header: fc.Arbitrary<OpenHeader> = fc.record(
  {
    target: printable(1, 20),
    source: printable(0, 40),
    deadlineMs: uint32,
    traceId: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes).toString('hex')),
    features: uint32,
  },
  { requiredKeys: ['target'] },
)

function read(bytes: Uint8Array, cutAt: number): { message: PreludeMessage | undefined; rest: Uint8Array | undefined } {
  const reader = new MessageReader()
  const first = reader.push(bytes.subarray(0, cutAt))
  const rest = first === undefined ? reader.push(bytes.subarray(cutAt)) : Buffer.concat([first, bytes.subarray(cutAt)])
  return { message: reader.message, rest }
}

function message(...fields: [number, Uint8Array | string][]): PreludeMessage {
  return { code: 0, fields: new Map(fields.map(([tag, value]) => [tag, Buffer.from(value as string)])) }
}

describe('open headers', () => {
  it('come back as they were, cut anywhere, with every byte that follows', () => {
    fc.assert(
      fc.property(header, fc.uint8Array(), fc.nat(200), (sent, data, cutAt) => {
        const { message, rest } = read(Buffer.concat([encodeOpenHeader(sent), data]), cutAt)
        expect(decodeOpenHeader(message!)).toEqual(sent)
        expect(Buffer.from(rest!)).toEqual(Buffer.from(data))
      }),
    )
  })

  it('have the bytes the document shows', () => {
    const bytes = encodeOpenHeader({ target: 'kube-apiserver', deadlineMs: 5_000 })
    expect(bytes.toString('hex')).toBe(`0100001801000e${Buffer.from('kube-apiserver').toString('hex')}03000400001388`)
  })

  it('may hold fields of later versions', () => {
    expect(decodeOpenHeader(message([1, 'a'], [200, 'from the future']))).toEqual({ target: 'a' })
  })

  it.each([
    ['no target', message([2, 'me']), 'open header names no target'],
    ['an empty target', message([1, '']), 'open header names no target'],
    ['a target with a line break', message([1, 'a\nb']), 'target has control characters'],
    ['a target that is not text', message([1, Buffer.from([0xff])]), 'target is not UTF-8'],
    ['a long target', message([1, 'x'.repeat(MAX_TARGET_BYTES + 1)]), 'target of 321 bytes exceeds the limit of 320'],
    ['a long source', message([1, 'x'], [2, 'x'.repeat(MAX_SOURCE_BYTES + 1)]), 'source of 1025 bytes exceeds'],
    ['a short deadline', message([1, 'a'], [3, 'x']), 'deadline has 1 bytes; it needs 4'],
    ['a short trace id', message([1, 'a'], [4, 'x']), 'trace id has 1 bytes; it needs 16'],
    ['a code', { ...message([1, 'a']), code: 3 }, 'open header has code 3; it must be 0'],
  ])('with %s are refused', (_, bad, text) => {
    expect(() => decodeOpenHeader(bad)).toThrow(text)
  })

  it.each([
    [{ target: '' }, 'target must not be empty'],
    [{ target: 'a', deadlineMs: -1 }, 'deadline must be an integer of 32 bits, not -1'],
    [{ target: 'a', traceId: 'XYZ' }, 'trace id must be 32 lower-case hexadecimal digits'],
  ])('that cannot be read are not written: %j', (bad, text) => {
    expect(() => encodeOpenHeader(bad)).toThrow(text)
  })
})

describe('answers', () => {
  const answer: fc.Arbitrary<OpenAnswer> = fc.oneof(
    fc.record({ code: fc.constant('ok' as const), text: printable(0, 40), features: uint32 }),
    fc.record({
      code: fc.constantFrom('refused', 'timeout', 'dns', 'denied', 'overloaded', 'no-route', 'invalid'),
      text: printable(0, 40),
      features: fc.constant(0),
    }),
  )

  it('come back as they were', () => {
    fc.assert(
      fc.property(answer, fc.nat(60), (sent, cutAt) => {
        expect(decodeAnswer(read(encodeAnswer(sent), cutAt).message!)).toEqual(sent)
      }),
    )
  })

  it('with a code of a later version count as refused', () => {
    expect(decodeAnswer({ code: 99, fields: new Map([[1, Buffer.from('later')]]) })).toEqual({
      code: 'refused',
      text: 'later',
      features: 0,
    })
  })

  it('carry any text, made presentable', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2_000, size: 'max' }), (text) => {
        const sent = encodeAnswer({ code: 'dns', text, features: 0 })
        const got = decodeAnswer(read(sent, 3).message!).text
        expect(Buffer.byteLength(got)).toBeLessThanOrEqual(MAX_ANSWER_TEXT_BYTES)
        expect(got).not.toMatch(/\p{Cc}/u)
      }),
    )
  })
})

describe('MessageReader', () => {
  it('fails on any bytes only with a PreludeError, and never asks for more than the limit', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), fc.boolean(), (chunks, plausible) => {
        const reader = new MessageReader()
        try {
          if (plausible) reader.push(Buffer.from([1]))
          for (const chunk of chunks) reader.push(chunk)
        } catch (error) {
          expect(error).toBeInstanceOf(PreludeError)
        }
      }),
      { numRuns: process.env['CAUSEWAY_LONG'] === '1' ? 100_000 : 1_000 },
    )
  })

  it.each([
    ['another version, at its first byte', [2], 'stream begins with version 2; only 1 is spoken here'],
    ['too many fields, before they come', [1, 0, 0x10, 0x01], 'fields of 4097 bytes exceed the limit of 4096'],
    ['a cut field', [1, 0, 0, 2, 1, 0], 'the last field is cut'],
    ['a field that leaves its message', [1, 0, 0, 3, 1, 0, 1], 'field 1 of 1 bytes leaves its message'],
    ['a field twice', [1, 0, 0, 6, 9, 0, 0, 9, 0, 0], 'field 9 appears twice'],
  ])('refuses %s', (_, bytes, text) => {
    expect(() => new MessageReader().push(Buffer.from(bytes))).toThrow(text)
  })

  it('does not write what it would not read', () => {
    expect(() => encodeMessage(0, new Map([[1, Buffer.alloc(MAX_PRELUDE_FIELD_BYTES)]]))).toThrow('exceed the limit')
  })
})
