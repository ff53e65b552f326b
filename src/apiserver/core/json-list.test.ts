import { describe, expect, it } from 'vitest'
import { LIST_PIECE_BYTES } from '../../kube/codec/list-text.ts'
import { Item, storedValue } from '../objects/item.ts'
import { JsonList } from './json-list.ts'

const resource = { kind: 'ConfigMap', apiVersion: 'v1' }

function item(index: number, textLength: number): Item {
  const name = `c-${index}`
  const metadata = { name, namespace: 'default', uid: `uid-${index}` }
  const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { text: 'ä'.repeat(textLength) } }
  return Item.fromEntry({ key: name, value: storedValue(object), createRevision: 3, modRevision: 3 })
}

function expected(items: readonly Item[]): object {
  const members = items.map((one) => {
    const { kind: _kind, apiVersion: _apiVersion, ...rest } = one.object()
    return rest
  })
  return { kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion: '7' }, items: members }
}

describe('JsonList', () => {
  it.each([
    ['nothing', []],
    ['one item', [10]],
    ['a few', [10, 0, 30]],
    ['exactly a piece and more', [LIST_PIECE_BYTES, 1, LIST_PIECE_BYTES / 2, LIST_PIECE_BYTES / 2, 5]],
    ['many', Array.from({ length: 2_000 }, (_, index) => index % 300)],
  ])('of %s is the same whole and in pieces', (_, textLengths) => {
    const items = textLengths.map((length, index) => item(index, length))
    const list = new JsonList(items, { resourceVersion: '7' }, resource)
    const whole = list.whole()
    expect(JSON.parse(whole.toString('utf8'))).toEqual(expected(items))
    expect(whole.length).toBe(list.bytes)
    expect(Buffer.concat([...list.pieces()]).equals(whole)).toBe(true)
  })

  it('has pieces of about the same size', () => {
    const items = Array.from({ length: 1_000 }, (_, index) => item(index, 500))
    const sizes = [...new JsonList(items, {}, resource).pieces()].map(({ length }) => length)
    const itemBytes = item(0, 500).json.length
    expect(sizes.length).toBeGreaterThan(5)
    for (const size of sizes) expect(size).toBeLessThan(LIST_PIECE_BYTES + 2 * itemBytes)
  })
})
