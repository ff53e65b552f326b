import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ChangeQueue, MAX_QUEUED_BYTES } from './change-queue.ts'
import type { KeptEntry } from './kept.ts'

const entry = (key: string, text: string): KeptEntry => ({ key, form: 'json', bytes: Buffer.from(text) })
const large = (key: string, bytes: number): KeptEntry => ({ key, form: 'json', bytes: Buffer.alloc(bytes) })

/** What is to be done for one feed, as plain values. */
function takeFeed(queue: ChangeQueue, key = 'f'): unknown {
  const work = queue.take().feeds.get(key)
  if (work === undefined || work.kind === 'whole' || work.kind === 'drop') return work?.kind
  const texts = (entries: ReadonlyMap<string, KeptEntry>): Record<string, string> =>
    Object.fromEntries([...entries].map(([name, { bytes }]) => [name, Buffer.from(bytes).toString()]))
  if (work.kind === 'replace') return { head: work.head, entries: texts(work.entries) }
  return { head: work.head, puts: texts(work.puts), deletes: [...work.deletes] }
}

describe('ChangeQueue', () => {
  it('joins changes of one feed: the last word on each entry counts', () => {
    const queue = new ChangeQueue()
    queue.change('f', { v: 1 }, [entry('a', '1'), entry('b', '1')], ['c'], false)
    queue.change('f', { v: 2 }, [entry('c', '2'), entry('a', '2')], ['b'], false)
    expect(takeFeed(queue)).toEqual({ head: { v: 2 }, puts: { a: '2', c: '2' }, deletes: ['b'] })
    expect(queue.isEmpty).toBe(true)
    expect(queue.bytes).toBe(0)
  })

  it('changes what is to be replaced', () => {
    const queue = new ChangeQueue()
    queue.change('f', { v: 1 }, [entry('old', '1')], [], false)
    queue.replace('f', { v: 2 }, [entry('a', '1'), entry('b', '1')], false)
    queue.change('f', { v: 3 }, [entry('c', '1')], ['a'], false)
    expect(takeFeed(queue)).toEqual({ head: { v: 3 }, entries: { b: '1', c: '1' } })
  })

  it('asks for what only the owner knows', () => {
    const queue = new ChangeQueue()
    queue.replace('f', {}, [entry('a', '1')], false)
    queue.drop('f')
    expect(takeFeed(queue)).toBe('drop')
    queue.drop('f')
    queue.change('f', {}, [entry('a', '1')], [], false)
    expect(takeFeed(queue)).toBe('whole')
    queue.whole('f')
    queue.change('f', {}, [entry('a', '1')], [], false)
    expect(takeFeed(queue)).toBe('whole')
    queue.whole('f')
    queue.replace('f', { v: 1 }, [], false)
    expect(takeFeed(queue)).toEqual({ head: { v: 1 }, entries: {} })
  })

  it('gives back the largest feed when it holds too much', () => {
    const queue = new ChangeQueue()
    queue.change('small', {}, [large('a', 1_000)], [], false)
    queue.change('f', {}, [large('a', MAX_QUEUED_BYTES - 2_000)], [], false)
    expect(queue.bytes).toBeLessThanOrEqual(MAX_QUEUED_BYTES)
    queue.change('small', {}, [large('b', 2_000)], [], false)
    expect(queue.bytes).toBeLessThan(4_000)
    const { feeds } = queue.take()
    expect([...feeds].map(([key, { kind }]) => [key, kind])).toEqual([
      ['small', 'change'],
      ['f', 'whole'],
    ])
  })

  it('never holds more than it may, and knows how much it holds', () => {
    const keys = fc.constantFrom('a', 'b', 'c')
    const sizes = fc.integer({ min: 0, max: 3_000_000 })
    const calls = fc.oneof(
      fc.tuple(
        fc.constantFrom('replace', 'change'),
        keys,
        fc.array(fc.tuple(keys, sizes), { maxLength: 4 }),
        fc.array(keys),
      ),
      fc.tuple(fc.constantFrom('whole', 'drop'), keys, fc.constant([]), fc.constant([])),
    )
    fc.assert(
      fc.property(fc.array(calls, { maxLength: 40 }), (all) => {
        const queue = new ChangeQueue()
        for (const [call, key, puts, deletes] of all) {
          const entries = puts.map(([name, size]) => large(name, size))
          if (call === 'replace') queue.replace(key, {}, entries, false)
          else if (call === 'change') queue.change(key, {}, entries, deletes, false)
          else queue[call](key)
          expect(queue.bytes).toBeLessThanOrEqual(MAX_QUEUED_BYTES)
          expect(queue.bytes).toBeGreaterThanOrEqual(0)
        }
        for (const key of ['a', 'b', 'c']) queue.drop(key)
        expect(queue.bytes).toBe(0)
      }),
    )
  })
})
