import { describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import {
  MAX_UNSENT_BYTES_PER_CONNECTION,
  MIN_READ_BYTES,
  STALLED_READER_BYTES,
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
    const account = answers.open(atOnce, cut)
    return { account, cut }
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
