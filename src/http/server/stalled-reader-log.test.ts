import { expect, it, vi } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { STALLED_READERS_LOG_BURST, STALLED_READERS_LOGGED_PER_SECOND, stalledReaderLog } from './stalled-reader-log.ts'

it('tells of some, and of how many it has not told', async () => {
  const clock = new ManualClock()
  const warn = vi.fn()
  const tell = stalledReaderLog({ warn } as Partial<Logger> as Logger, clock)
  for (let each = 0; each < STALLED_READERS_LOG_BURST + 5; each += 1) tell(each)
  expect(warn).toHaveBeenCalledTimes(STALLED_READERS_LOG_BURST)
  await clock.advance(1_000 / STALLED_READERS_LOGGED_PER_SECOND)
  tell(100)
  expect(warn.mock.lastCall?.[0]).toEqual({ unsentBytes: 100, unlogged: 5 })
})
