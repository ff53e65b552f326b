/** The strategies of kinds against kept answers of the real API server; `test/real/kinds.test.ts` renews them. */
import { describe, expect, it } from 'vitest'
import { strategyOf } from '../../src/apiserver/kinds/registry.ts'
import { comparable, normalize, ourAnswer, readSamples } from './kinds-samples.ts'

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
    const strategy = strategyOf(apiVersion, kind)
    fc.assert(
      fc.property(arbitraryMessage(message), (value) => {
        const object = normalize({ ...value, apiVersion, kind } as KubeObject)
        strategy.applyDefaults?.(object)
        const once = normalize(object)
        strategy.applyDefaults?.(object)
        expect(normalize(object)).toEqual(once)
        expect(Array.isArray(strategy.validate?.(once))).toBe(true)
        expect(
          Array.isArray(
            strategy.validateUpdate?.(once, normalize({ ...value, apiVersion, kind } as KubeObject), context),
          ),
        ).toBe(true)
      }),
      { numRuns: runs },
    )
  }
}, 60_000)
