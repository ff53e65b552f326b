import { expect, it, vi } from 'vitest'
import { ManualClock } from '../runtime/clock.ts'
import { endProcess, LAST_WORDS_TIMEOUT_MS } from './ending.ts'

/** An output whose reader takes what was written when the test says so. */
function heldOutput() {
  const waiting: (() => void)[] = []
  return {
    write: (_text: string, done?: () => void) => waiting.push(() => done?.()),
    read: () => {
      for (const done of waiting.splice(0)) done()
    },
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

it('ends with its code when both outputs are written', async () => {
  const [stdout, stderr, exit] = [heldOutput(), heldOutput(), vi.fn()]
  void endProcess(3, { stdout, stderr, exit, clock: new ManualClock() })
  stdout.read()
  await settled()
  expect(exit).not.toHaveBeenCalled()
  stderr.read()
  await settled()
  expect(exit).toHaveBeenCalledExactlyOnceWith(3)
})

it('does not wait for ever for a reader that has stopped', async () => {
  const [clock, exit] = [new ManualClock(), vi.fn()]
  void endProcess(0, { stdout: heldOutput(), stderr: heldOutput(), exit, clock })
  await clock.advance(LAST_WORDS_TIMEOUT_MS - 1)
  expect(exit).not.toHaveBeenCalled()
  await clock.advance(1)
  expect(exit).toHaveBeenCalledExactlyOnceWith(0)
})
