import { beforeEach, describe, expect, it } from 'vitest'
import { parseRequestInfo, type ResourceRequest } from '../../kube/request-info.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { scopeOf } from '../feeds/collection-scope.ts'
import { KeptObject } from '../feeds/kept-object.ts'
import {
  MAX_PAGED_BYTES,
  MAX_PAGED_LISTS,
  MAX_PAGED_LISTS_OF_ACCOUNT,
  PAGED_LIST_LIFE_MS,
  PagedLists,
} from './paged-lists.ts'

function pages(bytes: number): { objects: KeptObject[]; resourceVersion: string } {
  const text = JSON.stringify({ kind: 'ConfigMap', metadata: { name: 'a', resourceVersion: '1' }, data: '' })
  return { objects: [new KeptObject('json', Buffer.from(text.padEnd(bytes)))], resourceVersion: '1' }
}

describe('pages of a list', () => {
  let clock: ManualClock
  let lists: PagedLists
  const info = parseRequestInfo({ method: 'GET', path: '/api/v1/configmaps', query: '' })
  const scope = scopeOf(info as ResourceRequest)

  beforeEach(() => {
    clock = new ManualClock()
    lists = new PagedLists(clock)
  })

  const remaining = (tokens: readonly string[]): string[] =>
    tokens.filter((token) => lists.take(scope, token) !== undefined)

  it('are there for whoever brings their token, once, and for a while', async () => {
    const waiting = pages(100)
    lists.wait(scope, 'one', waiting, 'a')
    lists.wait(scope, 'two', waiting, 'a')
    expect(lists.take(scope, 'one')?.objects).toBe(waiting.objects)
    expect(lists.take(scope, 'one')).toBeUndefined()
    await clock.advance(PAGED_LIST_LIFE_MS)
    expect(lists.take(scope, 'two')).toBeUndefined()
    expect(lists.bytes).toBe(0)
  })

  it('of one account are few, and take nothing from others', () => {
    lists.wait(scope, 'other', pages(100), 'b')
    const tokens = Array.from({ length: MAX_PAGED_LISTS_OF_ACCOUNT + 2 }, (_, index) => `token-${index}`)
    for (const token of tokens) lists.wait(scope, token, pages(100), 'a')
    expect(remaining(['other', ...tokens])).toEqual(['other', ...tokens.slice(2)])
  })

  it('are bounded for all together, in number and bytes', () => {
    const tokens = Array.from({ length: MAX_PAGED_LISTS + 1 }, (_, index) => `token-${index}`)
    for (const token of tokens) lists.wait(scope, token, pages(100), token)
    expect(remaining(tokens)).toEqual(tokens.slice(1))
    for (const token of ['x', 'y', 'z']) lists.wait(scope, token, pages(MAX_PAGED_BYTES / 2), token)
    expect(lists.bytes).toBeLessThanOrEqual(MAX_PAGED_BYTES)
    expect(remaining(['x', 'y', 'z'])).toEqual(['y', 'z'])
    expect(lists.bytes).toBe(0)
  })
})
