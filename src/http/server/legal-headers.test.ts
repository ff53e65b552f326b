import { expect, it } from 'vitest'
import { readResponseHead } from '../http2/head-rules.ts'
import { legalHeaders, legalHeaderValue } from './legal-headers.ts'

it.each([
  ['plain', 'plain'],
  ['  around\t', 'around'],
  ['a\r\nset-cookie: b', 'a  set-cookie: b'],
  ['\u0000\u007f\u0100', ''],
  ['a\tb \u00e9', 'a\tb \u00e9'],
])('%j is sent as %j', (given, sent) => {
  expect(legalHeaderValue(given)).toBe(sent)
  expect(legalHeaders({ 'x-one': given, 'x-two': ['ok', given] })).toEqual({ 'x-one': sent, 'x-two': ['ok', sent] })
  expect(readResponseHead([':status', '200', 'x-one', sent])).toMatchObject({ status: 200 })
})

it('what is legal is left alone', () => {
  const headers = { 'content-type': 'text/plain', warning: ['299 - "a"', '299 - "b"'] }
  expect(legalHeaders(headers)).toBe(headers)
})
