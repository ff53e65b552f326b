import { expect, test } from 'vitest'
import {
  internalError,
  serviceUnavailable,
  timeout,
  tooLargeResourceVersion,
  tooManyRequests,
} from './availability-errors.ts'
import * as ask from './predicates.ts'
import { badRequest, gone, resourceExpired } from './request-errors.ts'
import { alreadyExists, conflict, notFound, serverTimeout } from './resource-errors.ts'
import { ApiError } from './status.ts'

const pods = { group: '', resource: 'pods' }

test('a known reason decides, whatever the code', () => {
  const odd = new ApiError({ code: 404, reason: 'Conflict', message: '' })
  expect(ask.isConflict(odd)).toBe(true)
  expect(ask.isNotFound(odd)).toBe(false)
})

test.each<[number, (error: unknown) => boolean]>([
  [400, ask.isBadRequest],
  [401, ask.isUnauthorized],
  [403, ask.isForbidden],
  [404, ask.isNotFound],
  [405, ask.isMethodNotSupported],
  [406, ask.isNotAcceptable],
  [409, ask.isConflict],
  [410, ask.isExpired],
  [413, ask.isRequestEntityTooLarge],
  [415, ask.isUnsupportedMediaType],
  [422, ask.isInvalid],
  [429, ask.isTooManyRequests],
  [500, ask.isInternalError],
  [503, ask.isServiceUnavailable],
  [504, ask.isTimeout],
  [507, ask.isInsufficientStorage],
])('without a known reason the code %i decides', (code, predicate) => {
  expect(predicate(new ApiError({ code, message: '' }))).toBe(true)
  expect(predicate(new ApiError({ code, reason: 'ReasonOfSomeExtensionServer', message: '' }))).toBe(true)
  expect(predicate(new ApiError({ code: 418, message: '' }))).toBe(false)
  expect(predicate(new Error('not from an API server'))).toBe(false)
})

test('existing and conflicting are told apart though both are 409', () => {
  expect(ask.isAlreadyExists(alreadyExists(pods, 'a'))).toBe(true)
  expect(ask.isConflict(alreadyExists(pods, 'a'))).toBe(false)
  expect(ask.isAlreadyExists(conflict(pods, 'a', 'x'))).toBe(false)
})

test('both words for lost history count as expired', () => {
  expect([gone('x'), resourceExpired('x')].every(ask.isExpired)).toBe(true)
  expect(ask.isExpired(notFound(pods, 'a'))).toBe(false)
})

test('a version from the future is a special timeout', () => {
  expect(ask.isTooLargeResourceVersion(tooLargeResourceVersion(2, 1))).toBe(true)
  expect(ask.isTooLargeResourceVersion(timeout('Too large resource version: 2, current: 1', 1))).toBe(true)
  expect(ask.isTooLargeResourceVersion(timeout('slow', 1))).toBe(false)
  expect(ask.isTooLargeResourceVersion(badRequest('Too large resource version'))).toBe(false)
})

test('wrapped errors are found, and a circle of causes ends', () => {
  const wrapped = new Error('outer', { cause: new Error('middle', { cause: notFound(pods, 'a') }) })
  expect(ask.isNotFound(wrapped)).toBe(true)
  const circle = new Error('circle')
  circle.cause = circle
  expect(ask.isNotFound(circle)).toBe(false)
})

test('suggested delays', () => {
  expect(ask.suggestedDelaySeconds(tooManyRequests('busy', 7))).toBe(7)
  expect(ask.suggestedDelaySeconds(serverTimeout(pods, 'list', 0))).toBe(0)
  expect(ask.suggestedDelaySeconds(serviceUnavailable('x'))).toBeUndefined()
  expect(ask.suggestedDelaySeconds(internalError('x'))).toBeUndefined()
  expect(ask.suggestedDelaySeconds(new Error('x'))).toBeUndefined()
})
