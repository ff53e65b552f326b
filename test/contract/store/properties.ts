/** Random histories, played on a store and on the naive model; both must agree on everything that can be seen. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Store, Transaction, Write } from '../../../src/apiserver/storage/store.ts'
import { CompactedError } from '../../../src/apiserver/storage/store-errors.ts'
import { StoreModel } from './model.ts'
import type { StoreBed } from './suite.ts'
import { Watcher } from './watcher.ts'

const KEYS = ['a', 'a/b', 'a/c', 'a0', 'b', 'b/\uffee', 'b/\u{1f600}', 'ä']
const PREFIXES = ['', 'a', 'a/', 'b', 'b/', 'c']

type Step =
  | { readonly type: 'commit'; readonly writes: readonly Write[]; readonly guesses: readonly Guess[] }
  | { readonly type: 'read'; readonly back: number; readonly key: string }
  | {
      readonly type: 'list'
      readonly back: number
      readonly prefix: string
      readonly after: string | undefined
      readonly limit: number | undefined
    }
  | { readonly type: 'watch'; readonly back: number; readonly prefix: string }
  | { readonly type: 'compact'; readonly back: number }
  | { readonly type: 'reopen' }

/** A condition, told by whether it will hold. */
interface Guess {
  readonly key: string
  readonly right: boolean
}

const key = fc.constantFrom(...KEYS)
const prefix = fc.constantFrom(...PREFIXES)
/** How far back from the present, in revisions. */
const back = fc.nat({ max: 12 })
const write: fc.Arbitrary<Write> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('put' as const),
      key,
      value: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('delete' as const), key }) },
)
const commit = fc.record({
  type: fc.constant('commit' as const),
  writes: fc.uniqueArray(write, { maxLength: 4, selector: (write) => write.key }),
  guesses: fc.array(fc.record({ key, right: fc.integer({ min: 0, max: 3 }).map((die) => die > 0) }), { maxLength: 2 }),
})

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: commit },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('read' as const), back, key }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('list' as const),
      back,
      prefix,
      after: fc.option(key, { nil: undefined }),
      limit: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('watch' as const), back, prefix }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('compact' as const), back }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('reopen' as const) }) },
)

export function storeProperties(openBed: () => Promise<StoreBed>, runs: number): void {
  it('does what the naive model does, in any order of calls', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const bed = await openBed()
        try {
          await new Play(bed, await modelOf(bed.store)).run(steps)
        } finally {
          await bed.dispose()
        }
      }),
      { numRuns: runs },
    )
  })
}

async function modelOf(store: Store): Promise<StoreModel> {
  return new StoreModel(await store.revision(), await store.compactedRevision())
}

interface OpenWatch {
  readonly watcher: Watcher
  readonly prefix: string
  readonly afterRevision: number
}

class Play {
  readonly #bed: StoreBed
  readonly #model: StoreModel
  readonly #start: number
  #store: Store
  #watches: OpenWatch[] = []

  constructor(bed: StoreBed, model: StoreModel) {
    this.#bed = bed
    this.#store = bed.store
    this.#model = model
    this.#start = model.revision
  }

  async run(steps: readonly Step[]): Promise<void> {
    for (const step of steps) await this.#take(step)
    await this.#settleWatches()
  }

  async #take(step: Step): Promise<void> {
    switch (step.type) {
      case 'commit':
        return this.#commit({ conditions: step.guesses.map((guess) => this.#condition(guess)), writes: step.writes })
      case 'read': {
        const revision = this.#past(step.back)
        const expected = { entry: this.#model.stateAt(revision).get(step.key), revision }
        return this.#compare(revision, this.#store.get(step.key, { revision }), expected)
      }
      case 'list': {
        const { prefix, after, limit } = step
        const revision = this.#past(step.back)
        const options = { revision, ...(after !== undefined && { after }), ...(limit !== undefined && { limit }) }
        return this.#compare(
          revision,
          this.#store.list(prefix, options),
          this.#model.list(prefix, revision, after, limit),
        )
      }
      case 'watch':
        return this.#watch(step.prefix, this.#past(step.back))
      case 'compact': {
        // A watch that still reads the past may be compacted away: not what is asked here, so let them come up first.
        await this.#settleWatches()
        const revision = this.#past(step.back)
        await this.#store.compact(revision)
        this.#model.compacted = Math.max(this.#model.compacted, revision)
        expect(await this.#store.compactedRevision()).toBe(this.#model.compacted)
        return
      }
      case 'reopen':
        await this.#settleWatches()
        if (this.#bed.reopen !== undefined) this.#store = await this.#bed.reopen()
        expect(await this.#store.revision()).toBe(this.#model.revision)
    }
  }

  async #commit(transaction: Transaction): Promise<void> {
    expect(await this.#store.commit(transaction)).toEqual(this.#model.commit(transaction))
  }

  #condition({ key, right }: Guess): { key: string; modRevision: number } {
    const modRevision = this.#model.stateAt(this.#model.revision).get(key)?.modRevision ?? 0
    return { key, modRevision: right ? modRevision : modRevision + 1 }
  }

  /** A revision of this run, which a compaction may have taken. */
  #past(back: number): number {
    return Math.max(this.#start, this.#model.revision - back)
  }

  async #compare<T>(revision: number, actual: Promise<T>, expected: T): Promise<void> {
    if (revision < this.#model.compacted) await expect(actual).rejects.toBeInstanceOf(CompactedError)
    else expect(await actual).toEqual(expected)
  }

  async #watch(prefix: string, afterRevision: number): Promise<void> {
    const watcher = new Watcher(this.#store, prefix, afterRevision)
    if (afterRevision >= this.#model.compacted) this.#watches.push({ watcher, prefix, afterRevision })
    else expect(await watcher.failure()).toBeInstanceOf(CompactedError)
  }

  /** Writes something that every watch must see, waits until each has, and compares all that they saw. */
  async #settleWatches(): Promise<void> {
    for (const { watcher, prefix, afterRevision } of this.#watches.splice(0)) {
      await this.#commit({ conditions: [], writes: [{ type: 'put', key: `${prefix}~end`, value: Buffer.from('end') }] })
      await watcher.untilRevision(this.#model.revision)
      await watcher.stop()
      expect(watcher.changes).toEqual(this.#model.changesAfter(prefix, afterRevision))
      checkWholeRevisions(watcher)
    }
  }
}

/** No revision may be spread over two batches. */
function checkWholeRevisions({ batches }: Watcher): void {
  const seen = new Set<number>()
  for (const { changes, revision } of batches) {
    const revisions = new Set(changes.map((change) => change.revision))
    for (const each of revisions) {
      expect(seen).not.toContain(each)
      expect(each).toBeLessThanOrEqual(revision)
      seen.add(each)
    }
  }
}
