import { describe, expect, it } from 'vitest'
import { encodeJson } from '../../kube/codec/encode-body.ts'
import { finished } from '../../runtime/steps.ts'
import { KeptObject } from './kept-object.ts'
import { listPieces } from './list-pieces.ts'
import type { Output } from './representing.ts'

const type = { apiVersion: 'v1', kind: 'ConfigMap', listKind: 'ConfigMapList' }
const metadata = { resourceVersion: '10' }

const items = Array.from({ length: 400 }, (_, index) => ({
  metadata: { name: `c${index}`, uid: `${index}`, resourceVersion: '7', labels: { odd: index % 2 ? 'no' : 'yes' } },
  data: { text: `line ${index}\nanother\n`, ü: 'é'.repeat(index) },
}))
const objects = items.map(
  (item) => new KeptObject('json', Buffer.from(JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', ...item }))),
)

function pieces(kept: readonly KeptObject[], encoding: 'json' | 'yaml', pretty = false): Buffer[] {
  const output: Output = { type, representation: { as: 'Object', encoding }, pretty, nowMs: 0 }
  return [...finished(listPieces(kept, metadata, output))].filter((piece) => piece !== undefined)
}

const whole = (kept: readonly unknown[]): string =>
  JSON.stringify({ kind: 'ConfigMapList', apiVersion: 'v1', metadata, items: kept })

describe('a list in pieces', () => {
  it.each([
    ['json', false, 'compact'],
    ['json', true, 'indented'],
    ['yaml', false, 'yaml'],
  ] as const)('is what would be made of it as a whole, in %s (pretty: %s)', (encoding, pretty, form) => {
    for (const count of [0, 1, 2, 400]) {
      const made = pieces(objects.slice(0, count), encoding, pretty)
      expect(Buffer.concat(made).toString('utf8')).toBe(encodeJson(whole(items.slice(0, count)), form).toString('utf8'))
    }
  })

  it('is made of many, none of which takes long', () => {
    const made = pieces(objects, 'yaml')
    expect(made.length).toBeGreaterThan(40)
    expect(Math.max(...made.map(({ length }) => length))).toBeLessThan(16 * 1024)
  })
})
