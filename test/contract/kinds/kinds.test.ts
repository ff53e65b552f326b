/** The strategies of kinds against kept answers of the real API server; `test/real/kinds.test.ts` renews them. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { strategyOf } from '../../../src/apiserver/kinds/registry.ts'
import type { WriteContext } from '../../../src/apiserver/kinds/strategy.ts'
import type { KubeObject } from '../../../src/kube/objects.ts'
import { joinGroupVersion, listGroupVersions } from '../../../src/kube/schema/catalogue.ts'
import { findKind } from '../../../src/kube/schema/schema.ts'
import { type FieldError, formatFieldErrors } from '../../../src/kube/status/field-error.ts'
import { arbitraryMessage } from '../../worlds/arbitrary-message.ts'
import { comparable, normalize, ourAnswer, readSamples } from './kinds-samples.ts'

const isLong = process.env['CAUSEWAY_LONG'] === '1'
/** For each of some sixty kinds. */
const runs = isLong ? 300 : 15
const context: WriteContext = { nowMs: 0, user: { name: 'u', uid: '', groups: [], extra: {} }, subresource: '' }

describe('the strategies of kinds answer like the API server', () => {
  it.each(readSamples('defaults').map((sample) => [sample.what, sample] as const))('completes %s', (_what, sample) => {
    expect(comparable(ourAnswer(sample))).toEqual(comparable(sample.answer))
  })

  it.each(readSamples('errors').map((sample) => [sample.what, sample] as const))('refuses %s', (_what, sample) => {
    expect(comparable(ourAnswer(sample))).toEqual(comparable(sample.answer))
  })

  it.each(readSamples('updates').map((sample) => [sample.what, sample] as const))('updates %s', (_what, sample) => {
    expect(comparable(ourAnswer(sample))).toEqual(comparable(sample.answer))
  })
})

it('comes to rest: completed objects stay as they are', () => {
  for (const { what, answer } of readSamples('defaults')) {
    const again = normalize(answer)
    strategyOf(again.apiVersion ?? '', again.kind ?? '').applyDefaults?.(again)
    expect(normalize(again), what).toEqual(normalize(answer))
  }
})

it('takes whatever the types allow: defaults come to rest, and no check fails on it', () => {
  const stored = listGroupVersions().flatMap(({ group, version, resources }) =>
    resources
      .filter(({ stored: home }) => home !== undefined && home === joinGroupVersion(group, version))
      .map(({ kind }) => ({ apiVersion: joinGroupVersion(group, version), kind })),
  )
  expect(stored.length).toBeGreaterThan(50)
  for (const { apiVersion, kind } of stored) {
    const message = findKind(apiVersion, kind)?.message
    if (message === undefined) continue
    fc.assert(
      fc.property(arbitraryMessage(message), (value) => complete({ ...value, apiVersion, kind })),
      { numRuns: runs },
    )
  }
}, 120_000)

function complete(given: KubeObject): void {
  const strategy = strategyOf(given.apiVersion ?? '', given.kind ?? '')
  const object = normalize(given)
  strategy.applyDefaults?.(object)
  const once = normalize(object)
  strategy.applyDefaults?.(object)
  expect(normalize(object)).toEqual(once)
  strategy.prepareForCreate?.(object, context)
  print(strategy.validate?.(normalize(object)))
  strategy.prepareForUpdate?.(object, once, context)
  print(strategy.validateUpdate?.(normalize(object), once, context))
  strategy.prepareForStatusUpdate?.(object, once, { ...context, subresource: 'status' })
  print(strategy.validateStatusUpdate?.(normalize(object), once))
}

function print(errors: readonly FieldError[] | undefined): void {
  expect(formatFieldErrors(errors ?? [])).toEqual(expect.any(String))
}
