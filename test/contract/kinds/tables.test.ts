/** Tables against what a real kube-apiserver made of the same objects. */
import { describe, expect, it } from 'vitest'
import { ourFacts, readTableSamples } from './table-samples.ts'

const samples = readTableSamples()

describe('tables of a real kube-apiserver', () => {
  it('cover the kinds and states that people look at', () => {
    expect(samples.length).toBeGreaterThan(70)
    expect(samples.flatMap(({ objects }) => objects).length).toBeGreaterThan(200)
  })

  it.each(samples.map((sample) => [`${sample.apiVersion} ${sample.kind}`, sample] as const))('%s', (_name, sample) => {
    expect(ourFacts(sample)).toEqual(sample.table)
  })
})
