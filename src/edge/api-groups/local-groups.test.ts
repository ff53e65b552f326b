import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { KeptBytes } from '../../../test/worlds/kept-bytes.ts'
import { rest } from '../../../test/worlds/object-server.ts'
import type { RunningPart } from '../../process/lifecycle.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { HubError, networkError } from '../hub/hub-error.ts'
import { GROUPS_MIN_GAP_MS, GROUPS_REFRESH_MS, LocalGroups } from './local-groups.ts'

const gadgets = { apiGroup: 'example.com', apiVersion: 'v1' }
const never = new AbortController().signal
const refusal = (code: string): HubError => new HubError('refusal', code, `it says ${code}`, { retryable: false })

describe('the groups that a hub tells', () => {
  let clock: ManualClock
  let kept: KeptBytes
  let says: readonly string[] | Error
  let asked: number
  let changes: string[][]
  let log: string[]

  beforeEach(() => {
    clock = new ManualClock()
    kept = new KeptBytes()
    says = ['example.com/v1', 'v1']
    asked = 0
    changes = []
    log = []
  })

  async function start(): Promise<{ groups: LocalGroups; running: RunningPart }> {
    const groups = new LocalGroups({
      client: {
        localGroupVersions: () => {
          asked += 1
          return says instanceof Error ? Promise.reject(says) : Promise.resolve(says)
        },
      },
      kept,
      changed: (changed) => changes.push([...changed].toSorted()),
      clock,
      random: () => 0.5,
      logger: pino({}, { write: (line: string) => void log.push((JSON.parse(line) as { msg: string }).msg) }),
    })
    const running = await groups.start()
    await rest()
    return { groups, running }
  }

  it('are asked for at start, and every few minutes', async () => {
    const { groups, running } = await start()
    expect([groups.has(gadgets), groups.has({ apiGroup: '', apiVersion: 'v1' })]).toEqual([true, true])
    expect(groups.has({ ...gadgets, apiVersion: 'v2' })).toBe(false)
    says = ['metrics.example.com/v1', 'v1']
    await clock.advance(GROUPS_REFRESH_MS)
    await rest()
    expect([asked, groups.has(gadgets)]).toEqual([2, false])
    expect(changes).toEqual([
      ['example.com/v1', 'v1'],
      ['example.com/v1', 'metrics.example.com/v1'],
    ])
    await clock.advance(GROUPS_REFRESH_MS)
    await rest()
    expect([asked, changes.length]).toEqual([3, 2])
    await running.stop(never)
  })

  it('are asked for when the link is back, if it was not a moment ago', async () => {
    const { groups, running } = await start()
    groups.reachable()
    groups.reachable()
    await rest()
    expect(asked).toBe(1)
    await clock.advance(GROUPS_MIN_GAP_MS)
    await rest()
    expect(asked).toBe(2)
    says = networkError('unreachable', 'nobody is there')
    await clock.advance(GROUPS_REFRESH_MS)
    await rest()
    says = []
    groups.reachable()
    await clock.advance(0)
    await rest()
    expect(groups.has(gadgets)).toBe(false)
    await running.stop(never)
  })

  it('hold while no hub answers, and after a start without a link', async () => {
    const first = await start()
    says = networkError('unreachable', 'nobody is there')
    for (let again = 0; again < 5; again++) await clock.advance(GROUPS_REFRESH_MS)
    expect(first.groups.has(gadgets)).toBe(true)
    await first.running.stop(never)
    expect(log).toEqual([expect.stringContaining('the last answer stays')])
    const second = await start()
    expect([second.groups.has(gadgets), changes.length]).toEqual([true, 1])
    await second.running.stop(never)
  })

  it('are none where what was kept is damaged', async () => {
    kept.bytes = Buffer.from('{"no": "list"}')
    says = networkError('unreachable', 'nobody is there')
    const { groups, running } = await start()
    expect(groups.has(gadgets)).toBe(false)
    await running.stop(never)
  })

  it.each(['hub-lacks-rights', 'not-found'])('are none where the hub says %s, which is logged once', async (code) => {
    const { groups, running } = await start()
    says = refusal(code)
    for (let again = 0; again < 3; again++) {
      await clock.advance(GROUPS_REFRESH_MS)
      await rest()
    }
    expect([asked, groups.has(gadgets), changes.length]).toEqual([4, false, 2])
    expect(log).toEqual([expect.stringContaining('kept for each reader apart')])
    says = ['example.com/v1']
    await clock.advance(GROUPS_REFRESH_MS)
    await rest()
    expect(groups.has(gadgets)).toBe(true)
    await running.stop(never)
  })

  it('are news once they were erased', async () => {
    const { groups, running } = await start()
    kept.bytes = undefined
    groups.forget()
    expect(groups.has(gadgets)).toBe(false)
    await clock.advance(GROUPS_REFRESH_MS)
    await rest()
    await clock.advance(0)
    await rest()
    expect([groups.has(gadgets), kept.bytes === undefined]).toEqual([true, false])
    await running.stop(never)
  })
})
