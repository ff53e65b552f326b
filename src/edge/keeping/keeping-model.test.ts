/** Random lives of feeds, with restarts and failures, beside the same feeds in maps. */
import * as fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../test/remove-folder.ts'
import { FeedTwin, KeepingOwner, makeDataDir, randomStep, seeded } from '../../../test/worlds/keeping-world.ts'
import { systemRandom } from '../../runtime/random.ts'
import { openTreeWriter, type RowWriter } from './lmdb/tree-writer.ts'

let dataDir = ''
afterEach(() => removeFolder(dataDir))

type Event = 'steps' | 'flush' | 'restart' | 'fail' | 'mend'
const events = fc.array(
  fc.oneof(
    { arbitrary: fc.constant<Event>('steps'), weight: 6 },
    { arbitrary: fc.constant<Event>('flush'), weight: 3 },
    { arbitrary: fc.constantFrom<Event>('restart', 'fail', 'mend'), weight: 3 },
  ),
  { minLength: 5, maxLength: 20 },
)

/** LMDB, but it can be told to fail, half of the time after it has written. */
function fragile(disk: { isFailing: boolean; random: () => number }): typeof openTreeWriter {
  return async (...args) => {
    const writer = await openTreeWriter(...args)
    const apply: RowWriter['apply'] = async (writes) => {
      if (!disk.isFailing) return await writer.apply(writes)
      if (disk.random() < 0.5) await writer.apply(writes)
      throw new Error('injected')
    }
    return { apply, close: () => writer.close() }
  }
}

describe('a random life', () => {
  it('comes back as it was, or where the disk failed, each feed as it was at one time since it was last flushed', async () => {
    await fc.assert(
      fc.asyncProperty(events, fc.integer(), async (life, seed) => {
        dataDir = makeDataDir()
        const random = seeded(seed)
        const disk = { isFailing: false, random }
        const options = { openWriter: fragile(disk), random: systemRandom }
        let owner = await KeepingOwner.start(dataDir, options)
        let twin = new FeedTwin()
        /** Views since the last moment at which all was surely on disk. */
        let since = [twin.view()]
        let step = 0
        for (const event of [...life, 'mend', 'restart'] as const) {
          if (event === 'fail') disk.isFailing = true
          if (event === 'mend') disk.isFailing = false
          if (event === 'steps') {
            const stepSeed = Math.floor(random() * 2 ** 32)
            randomStep(owner, seeded(stepSeed), ++step)
            randomStep(twin, seeded(stepSeed), step)
            since.push(twin.view())
          }
          if (event === 'flush' || event === 'restart') {
            await owner.keeping.flushed()
            if (owner.keeping.status.isOn) since = since.slice(-1)
          }
          if (event === 'restart') {
            owner = await owner.restarted(options)
            expectOneOf(owner.view(), since)
            expect(owner.loaded.every(({ isComplete }) => isComplete)).toBe(true)
            twin = new FeedTwin()
            for (const [key, feed] of owner.feeds) twin.feeds.set(key, { ...feed, entries: new Map(feed.entries) })
            since = [twin.view()]
          }
        }
        await owner.keeping.close()
        removeFolder(dataDir)
      }),
      { numRuns: 40 },
    )
  })
})

/** Feeds are written one after another: each is whole, at a time of its own. */
function expectOneOf(found: ReturnType<FeedTwin['view']>, states: readonly ReturnType<FeedTwin['view']>[]): void {
  const keys = new Set([found, ...states].flatMap((state) => Object.keys(state)))
  for (const key of keys) expect(states.map((state) => state[key])).toContainEqual(found[key])
}
