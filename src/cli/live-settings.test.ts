import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../runtime/clock.ts'
import { LiveSettings, SETTINGS_CHECK_MS } from './live-settings.ts'

interface Settings {
  readonly filters: readonly string[]
  readonly port: number
}

describe('live settings', () => {
  const present: Settings = { filters: ['a'], port: 1 }
  const clock = new ManualClock(0)
  const lines: { msg: string; settings?: string[] }[] = []
  const applied: Settings[] = []
  let found: () => Settings = () => present

  it('hands over what may change, names what has to wait, and survives a file that cannot be used', async () => {
    const settings = new LiveSettings<Settings>({
      present,
      read: () => found(),
      apply: (changed) => {
        applied.push(changed)
        return ['filters']
      },
      clock,
      logger: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    })
    const running = await settings.start()
    const look = (): Promise<void> => clock.advance(SETTINGS_CHECK_MS)

    await look()
    expect(applied).toEqual([])

    found = () => {
      throw new Error('line 3 is wrong')
    }
    await look()
    await look()
    expect(lines.map(({ msg }) => msg)).toEqual(['the settings cannot be used; the last ones stay'])

    found = () => ({ filters: [], port: 2 })
    await look()
    await look()
    expect(applied).toEqual([{ filters: [], port: 2 }])
    expect(lines.slice(1)).toMatchObject([
      { msg: 'settings have changed', settings: ['filters'] },
      { msg: 'these settings have changed and need a restart', settings: ['port'] },
    ])

    await running.stop(AbortSignal.abort())
    found = () => present
    await look()
    expect(applied).toHaveLength(1)
  })
})
