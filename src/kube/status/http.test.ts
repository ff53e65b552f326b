import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { serviceUnavailable, timeout, tooManyRequests } from './availability-errors.ts'
import { fromHttp, MAX_RETRY_AFTER_SECONDS, MAX_SERVER_MESSAGE_BYTES, MAX_STATUS_BODY_BYTES } from './from-http.ts'
import { isUnexpectedServerResponse } from './predicates.ts'
import { MAX_STATUS_CAUSES, readFailure } from './read-status.ts'
import { notFound } from './resource-errors.ts'
import { ApiError, type ApiFailure, failureStatus } from './status.ts'
import { toHttp } from './to-http.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const pods = { group: '', resource: 'pods' }
const get = { method: 'GET', resource: pods, name: 'a' }
const jsonHeaders = { 'content-type': 'application/json' }

describe('toHttp', () => {
  test.each<[string, ApiError, Record<string, string>]>([
    ['503', serviceUnavailable('x'), { 'retry-after': '1' }],
    ['503 with a wish', serviceUnavailable('x', 5), { 'retry-after': '5' }],
    ['429', tooManyRequests('x', 0), { 'retry-after': '1' }],
    ['504 with a wish', timeout('x', 2), { 'retry-after': '2' }],
    ['504', timeout('x', 0), {}],
    ['404', notFound(pods, 'a'), {}],
  ])('%s', (_name, error, headers) => {
    expect(toHttp(error)).toEqual({ code: error.code, headers, status: error.status })
  })

  test('an unknown error tells nothing about itself', () => {
    for (const error of [new TypeError('open /secret/path failed'), 'text', undefined, { code: 200 }]) {
      const { code, status } = toHttp(error)
      expect(code).toBe(500)
      expect(status.reason).toBe('InternalError')
      expect(JSON.stringify(status)).not.toContain('secret')
    }
  })
})

describe('fromHttp', () => {
  test('what toHttp sent comes back the same', () => {
    fc.assert(
      fc.property(failures(), (failure) => {
        const sent = toHttp(new ApiError(failure))
        const received = fromHttp(sent.code, jsonHeaders, bytes(JSON.stringify(sent.status)), get)
        expect(received.status).toEqual(sent.status)
      }),
    )
  })

  test('a Retry-After header is kept in the details', () => {
    const body = bytes(JSON.stringify(serviceUnavailable('x').status))
    const error = fromHttp(503, { ...jsonHeaders, 'retry-after': ['4'] }, body, get)
    expect(error.retryAfterSeconds).toBe(4)
    expect(fromHttp(503, { ...jsonHeaders, 'retry-after': '999999999' }, body, get).retryAfterSeconds).toBe(
      MAX_RETRY_AFTER_SECONDS,
    )
    const date = { ...jsonHeaders, 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }
    expect(fromHttp(503, date, body, get).retryAfterSeconds).toBeUndefined()
  })

  test('a Status in another encoding goes through the given decoder', () => {
    const status = notFound(pods, 'a').status
    const decodeBody = (mediaType: string): unknown => (mediaType === 'application/x' ? status : undefined)
    const headers = { 'content-type': 'Application/X; charset=y' }
    expect(fromHttp(404, headers, bytes('?'), { ...get, decodeBody }).status).toEqual(status)
  })

  test.each([
    ['a text answer', 404, 'text/plain; charset=utf-8', '404 page not found\n', '404 page not found'],
    ['an error page', 404, 'text/html', '<html>', '<html>'],
    ['no content type', 404, undefined, ' x ', 'x'],
    ['a malformed content type', 404, 'a;b;c', 'x', 'unknown'],
    ['JSON that is no Status', 404, 'application/json', '{"kind":"Pod"}', 'unknown'],
    ['a Status that is no failure', 404, 'application/json', '{"kind":"Status","status":"Success"}', 'unknown'],
    ['broken JSON', 404, 'application/json', '{', 'unknown'],
    ['nothing', 404, 'application/json', '', 'unknown'],
  ])('%s is judged by its code', (_name, code, contentType, body, message) => {
    const error = fromHttp(code, { 'content-type': contentType }, bytes(body), get)
    expect(error.message).toBe('the server could not find the requested resource (get pods a)')
    expect(isUnexpectedServerResponse(error)).toBe(true)
    expect(error.status.details?.causes).toEqual([{ reason: 'UnexpectedServerResponse', message }])
  })

  test.each([
    [409, 'POST', 'AlreadyExists', 'the server reported a conflict'],
    [409, 'PUT', 'Conflict', 'the server reported a conflict'],
    [403, 'GET', 'Forbidden', 'words'],
    [406, 'GET', 'NotAcceptable', 'words'],
    [415, 'POST', 'UnsupportedMediaType', 'words'],
    [502, 'GET', 'InternalError', 'an error on the server ("words") has prevented the request from succeeding'],
    [418, 'GET', undefined, 'the server responded with the status code 418 but did not return more information'],
  ])('code %i to a %s', (code, method, reason, message) => {
    const error = fromHttp(code, { 'content-type': 'text/plain' }, bytes('words'), { method })
    expect([error.reason, error.message]).toEqual([reason, message])
  })

  test.each([
    [429, 'the server has received too many requests and has asked us to try again later (get pods a)'],
    [410, 'the server responded with the status code 410 but did not return more information (get pods a)'],
    [403, 'the server refused the request and did not say why (get pods a)'],
  ])('a Status of code %i without words of its own is explained', (code, message) => {
    const body = bytes(JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'R', code }))
    const error = fromHttp(code, jsonHeaders, body, get)
    expect([error.message, error.status.message, error.reason]).toEqual([message, message, 'R'])
  })

  test.each([
    [403, 'the server refused the request and did not say why'],
    [415, 'the server does not read the content type of the request'],
  ])('a bare %i is explained', (code, message) => {
    expect(fromHttp(code, {}, bytes(''), { method: 'GET' }).message).toBe(message)
    expect(fromHttp(code, jsonHeaders, bytes('{}'), { method: 'GET' }).message).toBe(message)
  })

  test('an encoded body is named, not read', () => {
    const headers = { 'content-type': 'text/plain', 'content-encoding': 'gzip' }
    const error = fromHttp(404, headers, bytes('\u001f'), get)
    expect(error.status.details?.causes?.[0]?.message).toBe('content-encoding gzip')
  })

  test('a 406 without words of its own is explained', () => {
    expect(fromHttp(406, jsonHeaders, bytes(''), { method: 'GET' }).message).toBe(
      'the server was unable to respond with a content type that the client supports',
    )
  })

  test('long bodies are cut and huge ones not parsed', () => {
    const long = fromHttp(500, { 'content-type': 'text/plain' }, bytes('x'.repeat(10_000)), { method: 'GET' })
    expect(long.status.details?.causes?.[0]?.message).toHaveLength(MAX_SERVER_MESSAGE_BYTES)
    const huge = JSON.stringify({ ...notFound(pods, 'a').status, message: 'x'.repeat(MAX_STATUS_BODY_BYTES) })
    expect(isUnexpectedServerResponse(fromHttp(404, jsonHeaders, bytes(huge), get))).toBe(true)
  })
})

describe('readFailure', () => {
  test('never throws, and what it reads is clean', () => {
    const loose = fc.record(
      {
        kind: fc.constant('Status'),
        apiVersion: fc.constantFrom('v1', 'meta.k8s.io/v1'),
        status: fc.constant('Failure'),
        metadata: fc.jsonValue(),
        message: fc.jsonValue(),
        reason: fc.jsonValue(),
        code: fc.jsonValue(),
        details: fc.oneof(fc.jsonValue(), fc.record({ causes: fc.array(fc.jsonValue()), name: fc.jsonValue() })),
      },
      { requiredKeys: ['kind', 'status'] },
    )
    fc.assert(
      fc.property(loose, (value) => {
        const failure = readFailure(value, 500)
        expect(failure).toBeDefined()
        const status = failureStatus(failure as ApiFailure)
        expect(readFailure(JSON.parse(JSON.stringify(status)), 500)).toEqual(failure)
        expect(Number.isSafeInteger(status.code) && status.code > 0).toBe(true)
      }),
    )
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(readFailure(value, 500)).toBeUndefined()
      }),
    )
  })

  test('a Status of another API version is none', () => {
    expect(readFailure({ kind: 'Status', apiVersion: 'v2', status: 'Failure' }, 500)).toBeUndefined()
  })

  test('causes are counted', () => {
    const causes = Array.from({ length: MAX_STATUS_CAUSES + 1 }, () => ({ message: 'x' }))
    const failure = readFailure({ kind: 'Status', status: 'Failure', details: { causes } }, 500)
    expect(failure?.details?.causes).toHaveLength(MAX_STATUS_CAUSES)
  })
})

function failures(): fc.Arbitrary<ApiFailure> {
  const word = fc.string({ minLength: 1 })
  return fc.record(
    {
      code: fc.integer({ min: 400, max: 599 }),
      message: word,
      reason: word,
      details: fc.record(
        {
          name: word,
          group: word,
          kind: word,
          uid: word,
          retryAfterSeconds: fc.integer({ min: 1, max: 1000 }),
          causes: fc.array(fc.record({ reason: word, message: word, field: word }), { minLength: 1 }),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ['code', 'message'] },
  )
}
