import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BodyDecodeError, jsonCodec, mediaTypeOf } from './body-codec.ts'

const effort = { numRuns: process.env['CAUSEWAY_LONG'] === '1' ? 50_000 : 500 }

/** Bytes, text and JSON of any shape. */
const hostile = fc.oneof(
  fc.uint8Array({ maxLength: 100 }),
  fc.string().map((text) => Buffer.from(text)),
  fc.json().map((text) => Buffer.from(text)),
  fc.json().map((text) => Buffer.from(`{"type":"ADDED","object":${text}}`)),
)

describe('the JSON codec', () => {
  it('reads what it writes', () => {
    const object = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'ä\u2028' }, other: [1, null, { deep: true }] }
    expect(jsonCodec.decode(jsonCodec.encode(object), 'application/json')).toEqual(object)
  })

  it('keeps integers that a number cannot hold', () => {
    const text = '{"kind":"Pod","spec":{"terminationGracePeriodSeconds":9007199254740993}}'
    const object = jsonCodec.decode(Buffer.from(text), 'application/json')
    expect(object['spec']).toEqual({ terminationGracePeriodSeconds: 9007199254740993n })
    expect(Buffer.from(jsonCodec.encode(object)).toString()).toBe(text)
    const event = jsonCodec.decodeEvent(Buffer.from(`{"type":"ADDED","object":${text}}`))
    expect(event.object).toEqual(object)
  })

  it('gives an object or a precise error for any bytes', () => {
    fc.assert(
      fc.property(hostile, (bytes) => {
        for (const read of [() => jsonCodec.decode(bytes, ''), () => jsonCodec.decodeEvent(bytes).object]) {
          try {
            expect(Object.prototype.toString.call(read())).toBe('[object Object]')
          } catch (error) {
            expect(error).toBeInstanceOf(BodyDecodeError)
          }
        }
      }),
      effort,
    )
  })

  it('survives nesting that would overflow a recursive reader', () => {
    const depth = 200_000
    const nested = Buffer.from(`{"object":${'['.repeat(depth)}${']'.repeat(depth)},"type":"ADDED"}`)
    expect(() => jsonCodec.decodeEvent(nested)).toThrow('a watch event has no object')
  })
})

it('finds the media type in a content type', () => {
  expect(mediaTypeOf('Application/JSON; charset=utf-8')).toBe('application/json')
  expect(mediaTypeOf('')).toBe('')
})
