import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { FreshAccount, RUN_TOKEN_CHECK_MS } from './fresh-account.ts'
import type { AccountFiles } from './service-account.ts'

const files = (token: string): AccountFiles => ({ token, caPem: '', namespace: 'x', tokenLifeMs: 3_600_000 })
const dueMs = 3_600_000 * 0.8

let clock: ManualClock
let written: string[]
let warnings: string[]
let failure: Error | undefined
let asked: number

beforeEach(() => {
  clock = new ManualClock()
  written = []
  warnings = []
  failure = undefined
  asked = 0
})

function fresh(): FreshAccount {
  return new FreshAccount(files('t0'), {
    clock,
    fetch: async () => {
      asked++
      if (failure !== undefined) throw failure
      return files(`t${asked}`)
    },
    write: async ({ token }) => {
      written.push(token)
    },
    warn: (message) => warnings.push(message),
  })
}

describe('the token of a running program', () => {
  it('is replaced at four fifths of its life, again and again', async () => {
    const account = fresh()
    await clock.advance(dueMs - 1)
    expect(asked).toBe(0)
    await clock.advance(1)
    expect(written).toEqual(['t1'])
    await clock.advance(dueMs)
    expect(written).toEqual(['t1', 't2'])
    await account.stop()
    expect(clock.pending).toBe(0)
  })

  it('is replaced soon after the machine woke up', async () => {
    const account = fresh()
    clock.jumpTo(clock.nowMs() + 8 * 3_600_000)
    await clock.advance(RUN_TOKEN_CHECK_MS)
    expect(written).toEqual(['t1'])
    await account.stop()
  })

  it('stays while the API server is away, which is said once', async () => {
    const account = fresh()
    failure = new Error('nobody there')
    await clock.advance(dueMs + 5 * RUN_TOKEN_CHECK_MS)
    expect(asked).toBe(6)
    expect(written).toEqual([])
    expect(warnings).toEqual(['the token could not be renewed and will be tried again: nobody there'])
    failure = undefined
    await clock.advance(RUN_TOKEN_CHECK_MS)
    expect(written).toEqual(['t7'])
    await account.stop()
  })

  it('is not written once the program has ended', async () => {
    let answer: (files: AccountFiles) => void = () => {}
    const account = new FreshAccount(files('t0'), {
      clock,
      fetch: () =>
        new Promise((resolve) => {
          answer = resolve
        }),
      write: async ({ token }) => {
        written.push(token)
      },
      warn: (message) => warnings.push(message),
    })
    await clock.advance(dueMs)
    const stopped = account.stop()
    answer(files('late'))
    await stopped
    expect([written, warnings, clock.pending]).toEqual([[], [], 0])
  })
})
