/** What every store promises, as one suite: run it on each implementation. The promises are those of `store.ts`. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  MAX_KEY_BYTES,
  MAX_TRANSACTION_BYTES,
  MAX_TRANSACTION_OPERATIONS,
  type Store,
  type Transaction,
} from '../../../src/apiserver/storage/store.ts'
import {
  CompactedError,
  FutureRevisionError,
  StoreFullError,
  StoreUnavailableError,
  StoreUsageError,
} from '../../../src/apiserver/storage/store-errors.ts'
import { storeProperties } from './properties.ts'
import { Watcher } from './watcher.ts'

export interface StoreBed {
  readonly store: Store
  /** Makes it true that this many seconds have passed, at the latest when the store has nothing else to do. */
  passSeconds(seconds: number): Promise<void>
  /** Closes the store and opens it again on the same data; absent where nothing is kept. */
  reopen?(): Promise<Store>
  dispose(): Promise<void>
}

export interface ContractOptions {
  /** How many runs each property gets. */
  readonly runs: number
  /** The shortest lease the implementation keeps exactly enough for a test. */
  readonly leaseSeconds: number
}

const text = (value: string): Buffer => Buffer.from(value)
const put = (key: string, value: string, leaseSeconds?: number): Transaction => ({
  conditions: [],
  writes: [{ type: 'put', key, value: text(value), ...(leaseSeconds !== undefined && { leaseSeconds }) }],
})
const remove = (key: string): Transaction => ({ conditions: [], writes: [{ type: 'delete', key }] })

export function storeContract(name: string, openBed: () => Promise<StoreBed>, options: ContractOptions): void {
  describe(`${name} keeps the promises of a store`, () => {
    let bed: StoreBed
    let store: Store
    let start: number
    const watchers: Watcher[] = []
    const watch = (prefix: string, afterRevision: number): Watcher => {
      const watcher = new Watcher(store, prefix, afterRevision)
      watchers.push(watcher)
      return watcher
    }

    beforeEach(async () => {
      bed = await openBed()
      store = bed.store
      start = await store.revision()
    })
    afterEach(async () => {
      await Promise.all(watchers.splice(0).map((watcher) => watcher.stop()))
      await bed.dispose()
    })

    describe('reading and writing', () => {
      it('begins empty, at a revision of at least 1', async () => {
        expect(start).toBeGreaterThanOrEqual(1)
        expect(await store.list('')).toEqual({ entries: [], revision: start, remaining: 0 })
        expect(await store.get('a')).toEqual({ entry: undefined, revision: start })
      })

      it('gives each change the next revision and keeps the one of creation', async () => {
        expect(await store.commit(put('a', 'one'))).toEqual({ committed: true, revision: start + 1 })
        expect(await store.commit(put('a', 'two'))).toEqual({ committed: true, revision: start + 2 })
        expect(await store.get('a')).toEqual({
          entry: { key: 'a', value: text('two'), createRevision: start + 1, modRevision: start + 2 },
          revision: start + 2,
        })
        await store.commit(remove('a'))
        await store.commit(put('a', 'three'))
        expect((await store.get('a')).entry).toMatchObject({ createRevision: start + 4, modRevision: start + 4 })
      })

      it('gives all writes of a transaction one revision', async () => {
        await store.commit(put('a', 'one'))
        const writes = [
          { type: 'delete', key: 'a' },
          { type: 'put', key: 'b', value: text('b') },
          { type: 'put', key: 'c', value: text('c') },
        ] as const
        expect(await store.commit({ conditions: [], writes })).toEqual({ committed: true, revision: start + 2 })
        const { entries } = await store.list('')
        expect(entries.map(({ key, modRevision }) => [key, modRevision])).toEqual([
          ['b', start + 2],
          ['c', start + 2],
        ])
      })

      it('changes nothing when there is nothing to change', async () => {
        expect(await store.commit(remove('a'))).toEqual({ committed: true, revision: start })
        expect(await store.commit({ conditions: [], writes: [] })).toEqual({ committed: true, revision: start })
        expect(await store.revision()).toBe(start)
      })

      it('keeps empty values, and bytes that are no text', async () => {
        const bytes = Buffer.from([0, 255, 128, 0])
        await store.commit({ conditions: [], writes: [{ type: 'put', key: 'bytes', value: bytes }] })
        await store.commit(put('empty', ''))
        expect((await store.get('bytes')).entry?.value).toEqual(bytes)
        expect((await store.get('empty')).entry?.value).toEqual(Buffer.alloc(0))
      })

      it('gives out buffers that later reads and writes do not touch', async () => {
        const value = text('x'.repeat(500))
        await store.commit({ conditions: [], writes: [{ type: 'put', key: 'a', value }] })
        const read = (await store.get('a')).entry?.value
        const listed = (await store.list('')).entries[0]?.value
        for (let i = 0; i < 20; i++) await store.commit(put('a', `${i}`.repeat(500)))
        await store.list('')
        expect(read).toEqual(value)
        expect(listed).toEqual(value)
      })
    })

    describe('conditions', () => {
      it('write when all hold: an exact modRevision, or none for a key that is not there', async () => {
        const { revision } = await store.commit(put('a', 'one'))
        const conditions = [
          { key: 'a', modRevision: revision },
          { key: 'b', modRevision: 0 },
        ]
        const writes = [{ type: 'put', key: 'b', value: text('b') }] as const
        expect(await store.commit({ conditions, writes })).toEqual({ committed: true, revision: revision + 1 })
      })

      it('write nothing when one fails, and tell what is there', async () => {
        const { revision } = await store.commit(put('a', 'one'))
        const conditions = [
          { key: 'a', modRevision: revision - 1 },
          { key: 'b', modRevision: 0 },
        ]
        const result = await store.commit({ conditions, writes: [{ type: 'put', key: 'b', value: text('b') }] })
        const a = { key: 'a', value: text('one'), createRevision: revision, modRevision: revision }
        expect(result).toEqual({ committed: false, revision, found: [a, undefined] })
        expect((await store.get('b')).entry).toBeUndefined()
        expect(await store.revision()).toBe(revision)
      })

      it('see what was written a moment before: of many who create one key, one succeeds', async () => {
        const conditions = [{ key: 'a', modRevision: 0 }]
        const results = await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            store.commit({ conditions, writes: [{ type: 'put', key: 'a', value: text(`${index}`) }] }),
          ),
        )
        expect(results.filter(({ committed }) => committed)).toHaveLength(1)
        for (const result of results) {
          if (!result.committed) expect(result.found[0]?.modRevision).toBe(start + 1)
        }
      })

      it('lose no update between writers who try again', async () => {
        await store.commit(put('count', '0'))
        const increment = async (): Promise<void> => {
          let { entry } = await store.get('count')
          for (;;) {
            const value = text(String(Number(entry?.value.toString()) + 1))
            const conditions = [{ key: 'count', modRevision: entry?.modRevision ?? 0 }]
            const result = await store.commit({ conditions, writes: [{ type: 'put', key: 'count', value }] })
            if (result.committed) return
            entry = result.found[0]
          }
        }
        await Promise.all(Array.from({ length: 12 }, increment))
        expect((await store.get('count')).entry?.value.toString()).toBe('12')
      })
    })

    describe('rules', () => {
      const many = Array.from({ length: MAX_TRANSACTION_OPERATIONS + 1 }, (_, index) => `key-${index}`)
      it.each<[string, Transaction]>([
        ['an empty key', put('', 'x')],
        ['a key with NUL', put('a\0b', 'x')],
        ['a key that is no text', put('\ud800', 'x')],
        ['a key that is too long', put('k'.repeat(MAX_KEY_BYTES + 1), 'x')],
        ['a key written twice', { conditions: [], writes: [...put('a', 'x').writes, ...remove('a').writes] }],
        ['too many writes', { conditions: [], writes: many.map((key) => ({ type: 'delete', key })) }],
        ['too many conditions', { conditions: many.map((key) => ({ key, modRevision: 0 })), writes: [] }],
        ['a lease of no seconds', put('a', 'x', 0)],
        ['a condition on no revision', { conditions: [{ key: 'a', modRevision: -1 }], writes: [] }],
      ])('refuse %s', async (_, transaction) => {
        await expect(store.commit(transaction)).rejects.toBeInstanceOf(StoreUsageError)
        expect(await store.revision()).toBe(start)
      })

      it('refuse a value that is too large, and take the largest key and the largest value', async () => {
        await expect(store.commit(put('a', 'x'.repeat(MAX_TRANSACTION_BYTES)))).rejects.toBeInstanceOf(StoreFullError)
        const key = 'k'.repeat(MAX_KEY_BYTES)
        const value = 'x'.repeat(MAX_TRANSACTION_BYTES - MAX_KEY_BYTES)
        await store.commit(put(key, value))
        expect((await store.get(key)).entry?.value).toHaveLength(value.length)
      })

      it('refuse to read at no revision, and a list of no entries', async () => {
        for (const revision of [-1, 1.5]) {
          await expect(store.get('a', { revision })).rejects.toBeInstanceOf(StoreUsageError)
          await expect(store.compact(revision)).rejects.toBeInstanceOf(StoreUsageError)
        }
        await expect(store.list('', { limit: 0 })).rejects.toBeInstanceOf(StoreUsageError)
      })

      it('take as many writes and conditions as they allow', async () => {
        const keys = many.slice(1)
        const conditions = keys.map((key) => ({ key, modRevision: 0 }))
        const writes = keys.map((key) => ({ type: 'put', key, value: text(key) }) as const)
        expect((await store.commit({ conditions, writes })).committed).toBe(true)
        const again = await store.commit({ conditions, writes })
        expect(again.committed ? [] : again.found.map((entry) => entry?.key)).toEqual(keys)
      })
    })

    describe('lists', () => {
      const keys = ['a', 'a/1', 'a/2', 'a0', 'b/1', '\uffee', '\u{1f600}']

      beforeEach(async () => {
        for (const key of keys.toReversed()) await store.commit(put(key, key))
      })

      it('come in the order of the bytes of the keys', async () => {
        expect((await store.list('')).entries.map(({ key }) => key)).toEqual(keys)
      })

      it('hold what is under the prefix', async () => {
        expect((await store.list('a/')).entries.map(({ key }) => key)).toEqual(['a/1', 'a/2'])
        expect((await store.list('c')).entries).toEqual([])
      })

      it.each([
        ['inside', 'a', 'a/1', ['a/2', 'a0']],
        ['before the prefix', 'a/', '0', ['a/1', 'a/2']],
        ['behind the prefix', 'a/', 'z', []],
        ['at the last', '', '\u{1f600}', []],
      ])('go on after a key %s', async (_, prefix, after, expected) => {
        const list = await store.list(prefix, { after })
        expect(list.entries.map(({ key }) => key)).toEqual(expected)
        expect(list.remaining).toBe(0)
      })

      it('say how many remain behind a page, and pages of one revision make the list of that revision', async () => {
        const first = await store.list('a', { limit: 3 })
        expect(first.entries.map(({ key }) => key)).toEqual(['a', 'a/1', 'a/2'])
        expect(first.remaining).toBe(1)
        await store.commit(remove('a0'))
        await store.commit(put('a0/new', 'x'))
        await store.commit(put('a/2', 'changed'))
        const second = await store.list('a', { limit: 3, after: 'a/2', revision: first.revision })
        expect(second.entries.map(({ key }) => key)).toEqual(['a0'])
        expect(second).toMatchObject({ remaining: 0, revision: first.revision })
        expect(await store.list('a', { limit: 3, revision: first.revision })).toEqual(first)
      })
    })

    describe('the past', () => {
      it('can be read at every revision', async () => {
        await store.commit(put('a', 'one'))
        await store.commit(put('a', 'two'))
        await store.commit(remove('a'))
        const values = []
        for (let revision = start; revision <= start + 3; revision++) {
          const { entry } = await store.get('a', { revision })
          const { entries } = await store.list('', { revision })
          expect(entries).toEqual(entry === undefined ? [] : [entry])
          values.push(entry?.value.toString())
        }
        expect(values).toEqual([undefined, 'one', 'two', undefined])
      })

      it('ends at the present', async () => {
        const revision = start + 1
        const error = await store.get('a', { revision }).catch((error: unknown) => error)
        expect(error).toBeInstanceOf(FutureRevisionError)
        expect(error).toMatchObject({ currentRevision: start })
        await expect(store.list('', { revision })).rejects.toBeInstanceOf(FutureRevisionError)
        await expect(store.compact(revision)).rejects.toBeInstanceOf(FutureRevisionError)
      })

      it('begins at the compacted revision', async () => {
        await store.commit(put('a', 'one'))
        await store.commit(put('a', 'two'))
        await store.commit(put('a', 'three'))
        await store.compact(start + 2)
        expect(await store.compactedRevision()).toBe(start + 2)
        const error = await store.get('a', { revision: start + 1 }).catch((error: unknown) => error)
        expect(error).toBeInstanceOf(CompactedError)
        expect(error).toMatchObject({ compactedRevision: start + 2 })
        await expect(store.list('', { revision: start + 1 })).rejects.toBeInstanceOf(CompactedError)
        expect((await store.get('a', { revision: start + 2 })).entry?.value.toString()).toBe('two')
        expect((await store.get('a')).entry?.value.toString()).toBe('three')
      })

      it('is compacted once: the same or an older revision changes nothing', async () => {
        await store.commit(put('a', 'one'))
        await store.commit(put('a', 'two'))
        await store.compact(start + 2)
        await store.compact(start + 2)
        await store.compact(start + 1)
        expect(await store.compactedRevision()).toBe(start + 2)
      })

      it('is forgotten in any length', async () => {
        for (let round = 0; round < 10; round++) {
          await Promise.all(Array.from({ length: 60 }, (_, index) => store.commit(put(`${index % 7}`, `${round}`))))
        }
        const before = await store.list('')
        await store.compact(before.revision)
        expect(await store.list('')).toEqual(before)
        expect(await store.list('', { revision: before.revision })).toEqual(before)
      })
    })

    describe('watches', () => {
      it('deliver what happened and then what happens, each change once, with what was before', async () => {
        await store.commit(put('a', 'one'))
        await store.commit(put('b', 'other'))
        const watcher = watch('a', start)
        await watcher.untilRevision(start + 1)
        await store.commit(put('a', 'two'))
        await store.commit(remove('a'))
        await watcher.untilRevision(start + 4)
        const one = { key: 'a', value: text('one'), createRevision: start + 1, modRevision: start + 1 }
        const two = { key: 'a', value: text('two'), createRevision: start + 1, modRevision: start + 3 }
        expect(watcher.changes).toEqual([
          { type: 'put', key: 'a', revision: start + 1, entry: one, previous: undefined },
          { type: 'put', key: 'a', revision: start + 3, entry: two, previous: one },
          { type: 'delete', key: 'a', revision: start + 4, entry: undefined, previous: two },
        ])
      })

      it('deliver the changes of one revision together', async () => {
        const keys = Array.from({ length: MAX_TRANSACTION_OPERATIONS }, (_, index) => `k${index}`)
        const value = Buffer.alloc(10_000, 'x')
        const writes = keys.map((key) => ({ type: 'put', key, value }) as const)
        const live = watch('', start)
        await store.commit({ conditions: [], writes })
        await store.commit({ conditions: [], writes })
        const past = watch('', start)
        for (const watcher of [live, past]) {
          await watcher.untilRevision(start + 2)
          const revisions = watcher.batches.flatMap(({ changes }) => [
            ...new Set(changes.map(({ revision }) => revision)),
          ])
          expect(revisions).toEqual([start + 1, start + 2])
          expect(watcher.changes).toHaveLength(2 * keys.length)
        }
      })

      it('may begin in the future', async () => {
        const watcher = watch('', start + 1)
        await store.commit(put('a', 'one'))
        await store.commit(put('b', 'two'))
        await watcher.untilRevision(start + 2)
        expect(watcher.changes.map(({ key }) => key)).toEqual(['b'])
      })

      it('may begin at the compacted revision and not before', async () => {
        for (const value of ['one', 'two', 'three']) await store.commit(put('a', value))
        await store.compact(start + 2)
        const error = await watch('', start + 1).failure()
        expect(error).toBeInstanceOf(CompactedError)
        expect(error).toMatchObject({ compactedRevision: start + 2 })
        const watcher = watch('', start + 2)
        await watcher.untilRevision(start + 3)
        expect(
          watcher.changes.map(({ entry, previous }) => [previous?.value.toString(), entry?.value.toString()]),
        ).toEqual([['two', 'three']])
      })

      it('tell their progress while others write', async () => {
        const watcher = watch('quiet/', start)
        await store.commit(put('loud', 'x'))
        const { revision } = await store.commit(put('loud', 'y'))
        await bed.passSeconds(10)
        await watcher.untilRevision(revision)
        expect(watcher.changes).toEqual([])
      })

      it('end without an error when the signal aborts, also one that has aborted before', async () => {
        const watcher = watch('', start)
        await store.commit(put('a', 'one'))
        await watcher.untilRevision(start + 1)
        await watcher.stop()
        expect(watcher.error).toBeUndefined()
        for await (const batch of store.watch('', start, AbortSignal.abort())) expect(batch).toBeUndefined()
      })

      it('do not wait for each other: a reader that stands still misses nothing', async () => {
        const slow = store.watch('', start, new AbortController().signal)[Symbol.asyncIterator]()
        const first = slow.next()
        const fast = watch('', start)
        const total = 3_000
        for (let index = 0; index < total; index += 100) {
          await Promise.all(Array.from({ length: 100 }, (_, i) => store.commit(put(`k${index + i}`, 'x'))))
        }
        await fast.until(() => fast.changes.length >= total)
        const seen: number[] = []
        for (let next = await first; seen.length < total; next = await slow.next()) {
          if (next.done !== true) seen.push(...next.value.changes.map(({ revision }) => revision))
          if (seen.length >= total) break
        }
        await slow.return?.()
        expect(seen).toEqual(Array.from({ length: total }, (_, index) => start + 1 + index))
      })
    })

    describe('leases', () => {
      const { leaseSeconds } = options

      it('delete their entry when they run out, by a change like any other', async () => {
        const { revision } = await store.commit(put('a', 'one', leaseSeconds))
        await store.commit(put('b', 'stays'))
        const watcher = watch('', revision + 1)
        await bed.passSeconds(leaseSeconds + 2)
        await watcher.untilRevision(revision + 2)
        expect(watcher.changes).toMatchObject([{ type: 'delete', key: 'a', previous: { modRevision: revision } }])
        expect((await store.list('')).entries.map(({ key }) => key)).toEqual(['b'])
      })

      it('end with the next put, which says anew whether the entry expires', async () => {
        await store.commit(put('kept', 'one', leaseSeconds))
        await store.commit(put('kept', 'two'))
        const { revision } = await store.commit(put('renewed', 'one', leaseSeconds))
        const watcher = watch('renewed', revision)
        await bed.passSeconds(leaseSeconds + 2)
        await watcher.untilRevision(revision + 1)
        expect((await store.list('')).entries.map(({ key }) => key)).toEqual(['kept'])
      })
    })

    describe('closing', () => {
      it('ends watches and refuses calls', async () => {
        const watcher = watch('', start)
        await store.commit(put('a', 'one'))
        await watcher.untilRevision(start + 1)
        await store.close()
        expect(await watcher.failure()).toBeInstanceOf(StoreUnavailableError)
        const calls = [
          () => store.revision(),
          () => store.get('a'),
          () => store.list(''),
          () => store.commit(put('a', 'two')),
          () => store.compact(start),
          () => store.compactedRevision(),
          () =>
            watch('', start)
              .failure()
              .then((error) => Promise.reject(error as Error)),
        ]
        for (const call of calls) await expect(call()).rejects.toBeInstanceOf(StoreUnavailableError)
      })

      it('leaves no call hanging', async () => {
        const commits = Array.from({ length: 10 }, (_, index) => store.commit(put(`k${index}`, 'x')))
        await store.close()
        for (const result of await Promise.allSettled(commits)) {
          if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(StoreUnavailableError)
        }
        await store.close()
      })
    })

    storeProperties(openBed, options.runs)
  })
}
