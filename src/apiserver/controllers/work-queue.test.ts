import { afterEach, describe, expect, it } from 'vitest'
import { insufficientStorage } from '../../kube/status/availability-errors.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { FIRST_RETRY_MS, type KeyHandler, MAX_PARALLEL_KEYS, MAX_RETRY_MS, WorkQueue } from './work-queue.ts'

const clock = new ManualClock()
const logger = createLogger({ level: 'fatal', format: 'json', destination: { write: () => {} }, clock })
const queues: WorkQueue[] = []

function queueOf(handle: KeyHandler): WorkQueue {
  const queue = new WorkQueue({ clock, logger, handle })
  queues.push(queue)
  return queue
}

afterEach(async () => {
  for (const queue of queues.splice(0)) await queue.stop()
  expect(clock.pending).toBe(0)
})

describe('a work queue', () => {
  it('looks once at a key that is added several times', async () => {
    const seen: string[] = []
    const queue = queueOf(async (key) => void seen.push(key))
    for (const key of ['a', 'b', 'a', 'a']) queue.add(key)
    await clock.advance(0)
    expect(seen).toEqual(['a', 'b'])
  })

  it('looks again after, never during, a look that was under way when the key was added', async () => {
    const ends: (() => void)[] = []
    const queue = queueOf(() => new Promise((resolve) => ends.push(() => resolve(undefined))))
    queue.add('a')
    await clock.advance(0)
    queue.add('a')
    queue.add('a')
    await clock.advance(0)
    expect(ends).toHaveLength(1)
    ends[0]?.()
    await clock.advance(0)
    expect(ends).toHaveLength(2)
    ends[1]?.()
    await clock.advance(0)
    expect(ends).toHaveLength(2)
  })

  it('works on a limited number of keys at a time', async () => {
    const ends: (() => void)[] = []
    const queue = queueOf(() => new Promise((resolve) => ends.push(() => resolve(undefined))))
    for (let index = 0; index < MAX_PARALLEL_KEYS + 3; index++) queue.add(`key-${index}`)
    await clock.advance(0)
    expect(ends).toHaveLength(MAX_PARALLEL_KEYS)
    ends[0]?.()
    await clock.advance(0)
    expect(ends).toHaveLength(MAX_PARALLEL_KEYS + 1)
    // The last ones only start when others end.
    for (let index = 1; index < MAX_PARALLEL_KEYS + 3; index++) {
      ends[index]?.()
      await clock.advance(0)
    }
    expect(ends).toHaveLength(MAX_PARALLEL_KEYS + 3)
  })

  it('tries again what failed, later each time up to a limit, and forgets failures after a success', async () => {
    let isBroken = true
    const looks: number[] = []
    const queue = queueOf(async () => {
      looks.push(clock.monotonicMs())
      if (isBroken) throw new Error('not yet')
      return undefined
    })
    queue.add('a')
    await clock.advance(MAX_RETRY_MS * 20)
    const gaps = looks.slice(1).map((at, index) => at - (looks[index] ?? 0))
    expect(gaps.slice(0, 4)).toEqual([1, 2, 4, 8].map((factor) => factor * FIRST_RETRY_MS))
    expect(gaps.at(-1)).toBe(MAX_RETRY_MS)
    isBroken = false
    await clock.advance(MAX_RETRY_MS)
    const before = looks.length
    isBroken = true
    queue.add('a')
    await clock.advance(FIRST_RETRY_MS)
    expect(looks.length).toBe(before + 2)
  })

  it('looks again when the handler asks for it, and at once when the key is added before', async () => {
    let looks = 0
    const queue = queueOf(async () => {
      looks += 1
      return looks < 3 ? 1_000 : undefined
    })
    queue.add('a')
    await clock.advance(999)
    expect(looks).toBe(1)
    await clock.advance(1)
    expect(looks).toBe(2)
    queue.add('a')
    await clock.advance(5_000)
    expect(looks).toBe(3)
  })

  it.each([
    ['a lack of room without where in the program it was met', insufficientStorage('full'), { why: 'full' }],
    ['other failures with all there is', new Error('odd'), { err: { message: 'odd', stack: expect.anything() } }],
  ])('tells the log of %s', async (_, failure, told) => {
    const lines: string[] = []
    const destination = { write: (line: string) => void lines.push(line) }
    const ownLogger = createLogger({ level: 'warn', format: 'json', destination, clock })
    const handle = (): Promise<undefined> => Promise.reject(failure)
    const queue = new WorkQueue({ clock, logger: ownLogger, handle })
    queue.add('a')
    await clock.advance(0)
    await queue.stop()
    const line = JSON.parse(lines[0] ?? '') as Record<string, unknown>
    expect(line).toMatchObject({ key: 'a', failures: 1, ...told })
    expect('err' in line).toBe('err' in told)
  })

  it('stops after what is under way, which sees its signal abort, and takes nothing more', async () => {
    const seen: string[] = []
    let wasAborted = false
    const queue = queueOf(async (key, signal) => {
      seen.push(key)
      if (key === 'idle') return 1_000
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      wasAborted = true
      throw new Error('interrupted')
    })
    queue.add('busy')
    queue.add('idle')
    await clock.advance(0)
    await queue.stop()
    expect(wasAborted).toBe(true)
    queue.add('late')
    await clock.advance(10_000)
    expect(seen).toEqual(['busy', 'idle'])
  })
})
