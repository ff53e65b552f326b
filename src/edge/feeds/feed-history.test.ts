import { beforeEach, describe, expect, it } from 'vitest'
import type { Feed } from './feed.ts'
import { FeedCursor } from './feed-cursor.ts'
import { type FeedChange, FeedHistory, MAX_FEED_GAPS } from './feed-history.ts'
import { KeptObject } from './kept-object.ts'
import { type Moved, recordChanges } from './record-changes.ts'

function object(name: string, version: string, uid = `uid-${name}`, padding = ''): KeptObject {
  const metadata = { name, uid, resourceVersion: version, annotations: { padding } }
  return new KeptObject('json', Buffer.from(JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata })))
}

function added(name: string, version: string, padding = ''): FeedChange {
  const previous = undefined
  return { type: 'ADDED', object: object(name, version, `uid-${name}`, padding), previous, version, isInferred: false }
}

function toldAfter(history: FeedHistory, version: string): string[] | undefined {
  const start = history.positionAfter(version)
  if (start === undefined) return undefined
  const told: string[] = []
  for (let sequence = start; sequence < history.end; sequence++) {
    const change = history.at(sequence)
    told.push(typeof change === 'object' ? `${change.type} ${change.object.metadata.name}` : String(change))
  }
  return told
}

describe('the history of a feed', () => {
  let history: FeedHistory

  beforeEach(() => {
    history = new FeedHistory(4)
    history.begin('100')
  })

  it('gives what came after a version, and nothing for one that it does not reach back to', () => {
    history.append(added('a', '102'))
    history.append(added('b', '104'))
    expect(toldAfter(history, '100')).toEqual(['ADDED a', 'ADDED b'])
    expect(toldAfter(history, '102')).toEqual(['ADDED b'])
    expect(toldAfter(history, '103')).toEqual(['ADDED b'])
    expect(toldAfter(history, '104')).toEqual([])
    expect(toldAfter(history, '900')).toEqual([])
    expect(toldAfter(history, '99')).toBeUndefined()
  })

  it('forgets the oldest where there are too many, and says so to whoever stood there', () => {
    for (const [index, name] of ['a', 'b', 'c', 'd', 'e'].entries()) history.append(added(name, String(101 + index)))
    expect(history.startVersion).toBe('102')
    expect(history.at(0)).toBe('gone')
    expect(toldAfter(history, '101')).toBeUndefined()
    expect(toldAfter(history, '102')).toEqual(['ADDED c', 'ADDED d', 'ADDED e'])
  })

  it('forgets by size as well, and counts what is left', () => {
    history = new FeedHistory(100, 4_000)
    history.begin('100')
    for (const version of ['101', '102', '103', '104']) history.append(added('a', version, 'x'.repeat(1_000)))
    expect(history.bytes).toBeLessThanOrEqual(3_000)
    expect(toldAfter(history, '101')).toBeUndefined()
    expect(toldAfter(history, '102')).toEqual(['ADDED a', 'ADDED a'])
  })

  it('knows what is in memory for its sake alone', () => {
    history = new FeedHistory(100)
    history.begin('100')
    const states = ['101', '102', '103', '104'].map((version) => object('a', version, 'uid-a', 'x'.repeat(1_000)))
    const [first, second, third, gone] = states as [KeptObject, KeptObject, KeptObject, KeptObject]
    const moved = (...changes: Moved['changes']) =>
      recordChanges(history, { changes, ...{ isSnapshot: false, before: '100', after: '101' } })
    const { length } = first.document
    moved({ type: 'added', object: first })
    // The feed has it.
    expect(history.heldBytes).toBe(0)
    moved({ type: 'updated', object: second, previous: first })
    moved({ type: 'updated', object: third, previous: second })
    expect(history.heldBytes).toBe(2 * length)
    moved({ type: 'deleted', object: gone, stale: false })
    expect(history.heldBytes).toBe(4 * length)
    expect(history.forgettableBytes).toBe(2 * length)
    history.forget()
    expect([history.heldBytes, history.forgettableBytes, history.startVersion]).toEqual([2 * length, 0, '103'])
    expect(toldAfter(history, '103')).toEqual(['DELETED a'])
    history.begin('200')
    expect([history.heldBytes, history.forgettableBytes]).toEqual([0, 0])
  })

  it('has the latest change, however large: those who read on have yet to be told', () => {
    history = new FeedHistory(100, 4_000)
    history.begin('100')
    history.append(added('a', '101', 'x'.repeat(5_000)))
    expect(toldAfter(history, '100')).toEqual(['ADDED a'])
    history.append(added('a', '102', 'x'.repeat(5_000)))
    expect(toldAfter(history, '101')).toEqual(['ADDED a'])
  })

  it('lets nobody start between two lists, of which only the difference is known', () => {
    const changes = [
      { type: 'added', object: object('b', '105') },
      { type: 'deleted', object: object('a', '90'), stale: true },
    ] as const
    recordChanges(history, { changes, isSnapshot: true, before: '100', after: '110' })
    expect(toldAfter(history, '100')).toEqual(['DELETED a', 'ADDED b'])
    for (const version of ['101', '105', '109']) expect(toldAfter(history, version)).toBeUndefined()
    expect(toldAfter(history, '110')).toEqual([])
    expect(history.isInGap('105')).toBe(true)
    expect(history.isInGap('110')).toBe(false)
  })

  it('knows whose version says less than he was told: whoever was led across a gap', () => {
    const changes = [{ type: 'deleted', object: object('a', '90'), stale: true }] as const
    recordChanges(history, { changes, isSnapshot: true, before: '100', after: '110' })
    expect(history.isAmbiguous('105')).toBe(false)
    const feed = { history, version: '110' } as Feed
    new FeedCursor(feed, history.positionAfter('100') ?? 0, '100').next()
    expect(['99', '100', '105', '110'].map((version) => history.isAmbiguous(version))).toEqual([
      false,
      true,
      true,
      false,
    ])
  })

  it('lets nobody start within what was inferred, of which a part is forgotten', () => {
    const changes = ['a', 'b', 'c', 'd', 'e', 'f'].map(
      (name) => ({ type: 'deleted', object: object(name, '90'), stale: true }) as const,
    )
    recordChanges(history, { changes, isSnapshot: true, before: '100', after: '110' })
    expect(history.startVersion).toBe('110')
    expect(toldAfter(history, '100')).toBeUndefined()
    expect(toldAfter(history, '110')).toEqual([])
  })

  it('remembers a limited number of such gaps', () => {
    for (let gap = 0; gap <= MAX_FEED_GAPS; gap++) {
      const [before, to] = [100 + 10 * gap, 110 + 10 * gap].map(String) as [string, string]
      recordChanges(history, { changes: [], isSnapshot: true, before, after: to })
    }
    expect(history.startVersion).toBe('110')
    expect(toldAfter(history, '110')).toEqual([])
    expect(toldAfter(history, '115')).toBeUndefined()
    expect(history.epoch).toBe(1)
  })

  it('begins anew where a list of the same version is another', () => {
    const changes = [{ type: 'deleted', object: object('a', '90'), stale: true }] as const
    recordChanges(history, { changes, isSnapshot: true, before: '100', after: '100' })
    expect(history.epoch).toBe(2)
  })

  it('goes by equality where versions cannot be compared', () => {
    history.begin('x')
    recordChanges(history, {
      changes: [{ type: 'added', object: object('a', 'q') }],
      isSnapshot: false,
      before: 'x',
      after: 'q',
    })
    const replaced = [
      { type: 'deleted', object: object('a', 'q'), stale: true },
      { type: 'added', object: object('a', 'c', 'uid-2') },
    ] as const
    recordChanges(history, { changes: replaced, isSnapshot: false, before: 'q', after: 'c' })
    expect(toldAfter(history, 'x')).toEqual(['ADDED a', 'DELETED a', 'ADDED a'])
    expect(toldAfter(history, 'q')).toEqual(['DELETED a', 'ADDED a'])
    expect(toldAfter(history, 'c')).toEqual([])
    expect(toldAfter(history, 'm')).toBeUndefined()
  })
})
