import { describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import {
  MAX_UNSENT_BYTES_PER_CONNECTION,
  MIN_READ_BYTES,
  STALLED_READER_BYTES,
  STALLED_READER_CHECK_MS,
  STALLED_READER_MS,
  STALLED_READER_UNDER_PRESSURE_MS,
} from './limits.ts'
import { UnsentAnswers } from './unsent-answers.ts'

const atOnce = { add: (job: () => void): void => job() }
const mebibyte = 1024 * 1024

function world(maxBytes = 64 * mebibyte) {
  const clock = new ManualClock()
  const stalled = vi.fn()
  const answers = new UnsentAnswers({ clock, stalled, maxBytes })
  const open = () => {
    const cut = vi.fn(() => account.close())
    const cutStalled = vi.fn((_nowMs: number) => 0)
    const account = answers.open(atOnce, { cut, cutStalled })
    return { account, cut, cutStalled }
  }
  return { clock, stalled, answers, open }
}

describe('a client that never reads', () => {
  it('is cut after a while, and its bytes are free again', async () => {
    const { clock, stalled, answers, open } = world()
    const { account, cut } = open()
    account.add(STALLED_READER_BYTES)
    await clock.advance(STALLED_READER_MS - 1_000)
    expect(cut).not.toHaveBeenCalled()
    await clock.advance(2_000)
    expect(cut).toHaveBeenCalledOnce()
    expect(stalled).toHaveBeenCalledExactlyOnceWith(STALLED_READER_BYTES)
    expect(answers.bytes).toBe(0)
    await clock.advance(10_000)
    expect(clock.pending).toBe(0)
  })

  it('is cut too where it takes a byte now and then', async () => {
    const { clock, open } = world()
    const { account, cut } = open()
    account.add(2 * STALLED_READER_BYTES)
    for (let second = 0; second <= STALLED_READER_MS / 1_000; second++) {
      account.taken(MIN_READ_BYTES / 64)
      await clock.advance(1_000)
    }
    expect(cut).toHaveBeenCalledOnce()
  })

  it('is served nothing more before it has read', () => {
    const { open } = world()
    const { account } = open()
    const served = vi.fn()
    account.whenRoom(served)
    expect(served).toHaveBeenCalledTimes(1)
    account.add(MAX_UNSENT_BYTES_PER_CONNECTION)
    account.whenRoom(served)
    account.whenRoom(served)
    expect(served).toHaveBeenCalledTimes(1)
    account.taken(1)
    expect(served).toHaveBeenCalledTimes(3)
  })

  it('gives way at once where others wait for its memory', async () => {
    const { clock, open } = world(8 * mebibyte)
    const [large, small, reader, honest] = [open(), open(), open(), open()]
    large.account.add(6 * mebibyte)
    small.account.add(mebibyte / 2)
    reader.account.add(2 * mebibyte)
    const served = vi.fn()
    honest.account.whenRoom(served)
    expect(served).not.toHaveBeenCalled()
    for (let second = 0; second <= STALLED_READER_UNDER_PRESSURE_MS / 1_000; second++) {
      reader.account.taken(MIN_READ_BYTES)
      await clock.advance(1_000)
    }
    expect(served).toHaveBeenCalledOnce()
    expect([large.cut, small.cut, reader.cut].map(({ mock }) => mock.calls.length)).toEqual([1, 0, 0])
  })
})

describe('a connection that holds requests back', () => {
  it('is asked for its stalled answers at each check, and serves when they are gone', async () => {
    const { clock, stalled, open } = world()
    const { account, cut, cutStalled } = open()
    account.add(MAX_UNSENT_BYTES_PER_CONNECTION)
    const served = vi.fn()
    account.whenRoom(served)
    await clock.advance(STALLED_READER_CHECK_MS)
    expect(cutStalled).toHaveBeenCalledOnce()
    expect(stalled).not.toHaveBeenCalled()
    cutStalled.mockImplementationOnce(() => {
      account.taken(mebibyte)
      return mebibyte
    })
    await clock.advance(STALLED_READER_CHECK_MS)
    expect(served).toHaveBeenCalledOnce()
    expect(stalled).toHaveBeenCalledExactlyOnceWith(mebibyte)
    expect(cut).not.toHaveBeenCalled()
  })

  it('is the only one that is asked', async () => {
    const { clock, open } = world()
    const [full, waiting, other] = [open(), open(), open()]
    full.account.add(MAX_UNSENT_BYTES_PER_CONNECTION)
    waiting.account.add(MAX_UNSENT_BYTES_PER_CONNECTION)
    waiting.account.whenRoom(() => {})
    other.account.add(1)
    await clock.advance(STALLED_READER_CHECK_MS)
    expect([full, waiting, other].map(({ cutStalled }) => cutStalled.mock.calls.length)).toEqual([0, 1, 0])
  })

  it('lets its callers take turns', () => {
    const { open } = world()
    const { account } = open()
    account.add(MAX_UNSENT_BYTES_PER_CONNECTION)
    const served: string[] = []
    for (const name of ['greedy 1', 'greedy 2', 'greedy 3']) account.whenRoom(() => served.push(name), 'greedy')
    account.whenRoom(() => served.push('modest 1'), 'modest')
    account.whenRoom(() => served.push('nameless 1'))
    account.taken(1)
    expect(served).toEqual(['greedy 1', 'modest 1', 'nameless 1', 'greedy 2', 'greedy 3'])
  })
})

it('a client that reads one answer and leaves the others is no excuse where everybody waits', async () => {
  const { clock, open } = world(8 * mebibyte)
  const [large, honest] = [open(), open()]
  large.account.add(9 * mebibyte)
  large.cutStalled.mockImplementation((nowMs) => {
    if (nowMs < STALLED_READER_UNDER_PRESSURE_MS) return 0
    large.account.taken(8 * mebibyte)
    return 8 * mebibyte
  })
  const served = vi.fn()
  honest.account.whenRoom(served)
  for (let second = 0; second <= STALLED_READER_UNDER_PRESSURE_MS / 1_000; second++) {
    large.account.taken(MIN_READ_BYTES)
    await clock.advance(1_000)
  }
  expect(served).toHaveBeenCalledOnce()
  expect(large.cut).not.toHaveBeenCalled()
})

it('a slow client that reads on is left alone, however long it takes', async () => {
  const { clock, open, answers } = world()
  const { account, cut } = open()
  account.add(8 * mebibyte)
  while (account.bytes > 0) {
    account.taken(Math.min(account.bytes, MIN_READ_BYTES))
    await clock.advance(STALLED_READER_MS / 2)
  }
  expect(cut).not.toHaveBeenCalled()
  expect(answers.bytes).toBe(0)
})

it('a connection that ends serves nothing of what it held back', () => {
  const { open } = world()
  const { account } = open()
  const served = vi.fn()
  account.add(MAX_UNSENT_BYTES_PER_CONNECTION)
  account.whenRoom(served)
  account.close()
  account.taken(MAX_UNSENT_BYTES_PER_CONNECTION)
  expect(served).not.toHaveBeenCalled()
})
