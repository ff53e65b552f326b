import { describe, expect, it } from 'vitest'
import { ManualClock } from '../runtime/clock.ts'
import { createLogger } from '../telemetry/logger.ts'
import { DenialLog, MAX_DENIED_SUBJECTS } from './denial-log.ts'
import { DENIAL_LOG_INTERVAL_MS } from './targets/stream-server.ts'

function start() {
  const clock = new ManualClock()
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) }
  const logger = createLogger({ level: 'info', format: 'json', clock, destination })
  return { clock, lines, log: new DenialLog(clock, logger, 'denied') }
}

describe('the log of denials', () => {
  it('has one line of each subject in a while, with the number of those left out', async () => {
    const { clock, lines, log } = start()
    for (let count = 0; count < 50; count++) {
      log.add('a', { of: 'a' })
      log.add('b', { of: 'b' })
    }
    expect(lines.map((line) => line['of'])).toEqual(['a', 'b'])
    await clock.advance(DENIAL_LOG_INTERVAL_MS)
    log.add('a', { of: 'a' })
    expect(lines.at(-1)).toMatchObject({ of: 'a', andOthers: 98 })
    expect(lines.length).toBe(3)
  })

  it('does not grow with the number of subjects, and counts all', async () => {
    const { clock, lines, log } = start()
    for (let count = 0; count < 3 * MAX_DENIED_SUBJECTS; count++) log.add(`subject-${count}`, {})
    expect(lines.length).toBe(MAX_DENIED_SUBJECTS)
    await clock.advance(DENIAL_LOG_INTERVAL_MS)
    log.add('another', {})
    expect(lines.at(-1)).toMatchObject({ andOthers: 2 * MAX_DENIED_SUBJECTS })
  })
})
