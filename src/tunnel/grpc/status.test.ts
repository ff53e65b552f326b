import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { errorOfTrailers, GrpcCode, statusTrailers } from './status.ts'

describe('the status of a call', () => {
  it('is success, or an error with its text', () => {
    expect(errorOfTrailers({ 'grpc-status': '0' })).toBeUndefined()
    expect(errorOfTrailers({ 'grpc-status': '14', 'grpc-message': 'gone%21' })).toMatchObject({
      code: 14,
      message: 'gone!',
    })
    expect(errorOfTrailers({})).toMatchObject({ code: 2, message: 'no reason given' })
    expect(errorOfTrailers({ 'grpc-status': 'x', 'grpc-message': '%zz%' })).toMatchObject({ code: 2, message: '%zz%' })
  })

  it('carries any text through printable characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (text) => {
        const trailers = statusTrailers(GrpcCode.unknown, text)
        expect(String(trailers['grpc-message'])).toMatch(/^[\x20-\x7e]+$/)
        expect(errorOfTrailers(trailers as Record<string, string>)?.message).toBe(text)
      }),
    )
  })
})
