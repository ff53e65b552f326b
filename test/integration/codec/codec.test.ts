/** The codec by random values: against its slow twin, around the circle, and against bytes that lie. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJson, printJson } from '../../../src/kube/codec/json.ts'
import { decodeMessage, decodeProtobuf, encodeMessage, encodeProtobuf } from '../../../src/kube/codec/object-codec.ts'
import type { KubeObject } from '../../../src/kube/objects.ts'
import { findKind, type Kind, listKinds } from '../../../src/kube/schema/schema.ts'
import { WireError } from '../../../src/protobuf/wire-error.ts'
import { arbitraryMessage } from '../../worlds/arbitrary-message.ts'
import { samples } from '../../worlds/object-samples.ts'
import { naiveDecode } from './naive-decode.ts'

const isLong = process.env['CAUSEWAY_LONG'] === '1'
/** Random cases over all kinds together: enough for every run, and the hundred thousand of the long one. */
const fuzzRuns = isLong ? 120_000 : 3_000

const kinds: Kind[] = listKinds().flatMap(({ apiVersion, kinds: names }) =>
  names.map((name) => findKind(apiVersion, name)).filter((kind) => kind !== undefined),
)
const anyKind = fc.constantFrom(...kinds)
const dailyKinds = ['Pod', 'Service', 'ConfigMap', 'Secret', 'Node', 'Event'].map(
  (kind) => findKind('v1', kind) as Kind,
)

describe('codec', () => {
  it('knows more than 150 kinds', () => {
    expect(kinds.length).toBeGreaterThan(150)
  })

  it('reads what it wrote as the slow twin does', () => {
    const kindAndValue = fc
      .oneof(anyKind, fc.constantFrom(...dailyKinds))
      .chain((kind) => arbitraryMessage(kind.message).map((value) => ({ kind, value })))
    fc.assert(
      fc.property(kindAndValue, ({ kind, value }) => {
        const { bytes, dropped } = encodeMessage(kind.message, value)
        expect(dropped.names).toEqual([])
        expect(printJson(decodeMessage(kind.message, bytes).value)).toBe(printJson(naiveDecode(kind.message, bytes)))
      }),
      { numRuns: isLong ? 20_000 : 600 },
    )
  })

  it('comes to rest after one trip: writing what was read gives the same bytes', () => {
    const kindAndValue = anyKind.chain((kind) => arbitraryMessage(kind.message).map((value) => ({ kind, value })))
    fc.assert(
      fc.property(kindAndValue, ({ kind, value }) => {
        const first = decodeMessage(kind.message, encodeMessage(kind.message, value).bytes).value
        const second = encodeMessage(kind.message, first).bytes
        expect(printJson(decodeMessage(kind.message, second).value)).toBe(printJson(first))
        expect(encodeMessage(kind.message, parseJson(printJson(first))).bytes.equals(second)).toBe(true)
      }),
      { numRuns: isLong ? 20_000 : 600 },
    )
  })

  it('reads and writes the samples that a real API server answered with', () => {
    expect(samples.length).toBeGreaterThan(50)
    for (const { json, protobuf } of samples) {
      expect(printJson(decodeProtobuf(protobuf).object)).toBe(json)
      // One sample is nested more deeply than plain values may be.
      if (!json.includes('['.repeat(1_001))) expect(printJson(parseJson(json))).toBe(json)
    }
  })
})

describe('hostile bytes', () => {
  const damage = fc.oneof(
    fc.record({ how: fc.constant('cut' as const), at: fc.nat(), byte: fc.nat(255) }),
    fc.record({ how: fc.constant('set' as const), at: fc.nat(), byte: fc.nat(255) }),
    fc.record({ how: fc.constant('insert' as const), at: fc.nat(), byte: fc.nat(255) }),
  )

  it(`never breaks the decoder, in ${fuzzRuns} damaged objects`, () => {
    fc.assert(
      fc.property(fc.constantFrom(...samples), fc.array(damage, { minLength: 1, maxLength: 4 }), (sample, damages) => {
        let bytes: Buffer = Buffer.from(sample.protobuf)
        for (const { how, at, byte } of damages) bytes = applyDamage(bytes, how, at % (bytes.length + 1), byte)
        onlyWireErrors(() => printJson(decodeProtobuf(bytes).object))
      }),
      { numRuns: fuzzRuns },
    )
  })

  it('never breaks on noise behind an honest envelope', () => {
    fc.assert(
      fc.property(anyKind, fc.uint8Array({ maxLength: 64 }), (kind, noise) => {
        onlyWireErrors(() => decodeMessage(kind.message, noise))
      }),
      { numRuns: fuzzRuns },
    )
  })

  it('never breaks the encoder with values of the wrong type', () => {
    fc.assert(
      fc.property(anyKind, fc.jsonValue({ maxDepth: 4 }), fc.string(), (kind, junk, name) => {
        const [field] = kind.message.fields.filter(({ inline }) => !inline)
        const object = {
          apiVersion: kind.apiVersion,
          kind: kind.kind,
          [field?.jsonName ?? name]: junk,
          spec: junk,
          metadata: { labels: junk },
        }
        onlyWireErrors(() => encodeProtobuf(object as unknown as KubeObject))
      }),
      { numRuns: fuzzRuns },
    )
  })
})

function applyDamage(bytes: Buffer, how: 'cut' | 'set' | 'insert', at: number, byte: number): Buffer {
  if (how === 'cut') return bytes.subarray(0, at)
  if (how === 'insert') return Buffer.concat([bytes.subarray(0, at), Buffer.from([byte]), bytes.subarray(at)])
  const copy = Buffer.from(bytes)
  if (at < copy.length) copy[at] = byte
  return copy
}

function onlyWireErrors(action: () => unknown): void {
  try {
    action()
  } catch (error) {
    if (!(error instanceof WireError)) throw error
    expect(error.message).not.toBe('')
  }
}
