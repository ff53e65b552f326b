import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { MemoryStore } from '../storage/memory-store.ts'
import { HISTORY_MARK_MS, HISTORY_MS, HistoryKeeper } from './history.ts'

const silent = new Writable({ write: (_chunk, _encoding, done) => done() })

describe('HistoryKeeper', () => {
  it('keeps five minutes of history, and not much more', async () => {
    const clock = new ManualClock()
    const store = new MemoryStore(clock)
    const logger = createLogger({ level: 'fatal', format: 'json', color: false, destination: silent, clock })
    const running = await new HistoryKeeper(store, clock, logger).start()
    const revisions: { atMs: number; revision: number }[] = []
    for (let elapsed = 0; elapsed < HISTORY_MS * 2; elapsed += HISTORY_MARK_MS) {
      const key = `k${elapsed}`
      const { revision } = await store.commit({
        conditions: [],
        writes: [{ type: 'put', key, value: Buffer.from('x') }],
      })
      revisions.push({ atMs: elapsed, revision })
      await clock.advance(HISTORY_MARK_MS)
    }
    const compacted = await store.compactedRevision()
    const nowMs = HISTORY_MS * 2
    const wanted = revisions.filter(({ atMs }) => nowMs - atMs <= HISTORY_MS)
    const forgotten = revisions.filter(({ atMs }) => nowMs - atMs > HISTORY_MS + 2 * HISTORY_MARK_MS)
    expect(wanted.every(({ revision }) => revision > compacted)).toBe(true)
    expect(forgotten.length).toBeGreaterThan(0)
    expect(forgotten.every(({ revision }) => revision <= compacted)).toBe(true)
    await running.stop()
    expect(clock.pending).toBeLessThanOrEqual(1)
    await store.close()
  })
})
