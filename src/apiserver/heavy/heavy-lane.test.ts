import { EventEmitter } from 'node:events'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import type { ApiError } from '../../kube/status/status.ts'
import { ManualClock } from '../../runtime/clock.ts'
import {
  HEAVY_TASK_MS,
  HEAVY_THREAD_IDLE_MS,
  HEAVY_THREAD_START_MS,
  HeavyLane,
  type HeavyThread,
  MAX_WAITING_HEAVY_TASKS,
  MAX_WAITING_HEAVY_TASKS_PER_CALLER,
} from './heavy-lane.ts'
import type { HeavyResult, HeavyTask } from './heavy-task.ts'

const logger = pino({ level: 'silent' })
const forEver = (): AbortSignal => new AbortController().signal

function readTask(name: string, json: string): HeavyTask {
  const resource = { group: '', version: 'v1', resource: name }
  return { step: 'read', resource, body: { bytes: Buffer.from(json), encoding: 'json', validation: 'Warn' } }
}

const task = readTask('configmaps', '{}')
const made: HeavyResult = { outcome: 'made', object: '{}', warnings: [] }

/** A thread that does what the test says. */
class FakeThread extends EventEmitter {
  readonly tasks: HeavyTask[] = []
  isTerminated = false

  postMessage(sent: HeavyTask): void {
    this.tasks.push(sent)
  }

  unref(): void {}

  terminate(): Promise<number> {
    this.isTerminated = true
    return Promise.resolve(1)
  }
}

function world() {
  const clock = new ManualClock()
  const threads: FakeThread[] = []
  const startThread = (): HeavyThread => {
    const thread = new FakeThread()
    threads.push(thread)
    queueMicrotask(() => thread.emit('message', 'ready'))
    return thread as unknown as HeavyThread
  }
  const lane = new HeavyLane({ clock, logger, startThread })
  /** `done`, or what it was refused with. */
  const run = (caller = 'a', signal: AbortSignal = forEver()): Promise<unknown> =>
    lane.run(task, caller, signal).then(
      () => 'done',
      (error: ApiError | Error) => ('code' in error ? error.code : error.message),
    )
  return { clock, threads, lane, run }
}

describe('HeavyLane', () => {
  it('starts a thread when it is needed, uses it again, and lets it go when it has rested', async () => {
    const { clock, threads, run } = world()
    expect(threads).toHaveLength(0)
    for (let round = 1; round <= 2; round++) {
      const done = run()
      expect(threads[0]?.tasks).toHaveLength(round)
      threads[0]?.emit('message', made)
      expect(await done).toBe('done')
    }
    await clock.advance(HEAVY_THREAD_IDLE_MS)
    expect([threads.length, threads[0]?.isTerminated, clock.pending]).toEqual([1, true, 0])
    const later = run()
    threads[1]?.emit('message', made)
    expect(await later).toBe('done')
  })

  it('does one task at a time, and callers in turn', async () => {
    const { threads, run } = world()
    const order: string[] = []
    const all = ['a', 'a', 'a', 'b'].map((caller) => run(caller).then(() => order.push(caller)))
    for (let index = 0; index < all.length; index++) {
      expect(threads[0]?.tasks).toHaveLength(index + 1)
      threads[0]?.emit('message', made)
      await new Promise(setImmediate)
    }
    await Promise.all(all)
    expect(order).toEqual(['a', 'a', 'b', 'a'])
  })

  it('ends a thread that takes too long, refuses its task with a 413, and goes on', async () => {
    const { clock, threads, run } = world()
    const [slow, next] = [run(), run('b')]
    await Promise.resolve()
    await clock.advance(HEAVY_TASK_MS)
    expect(await slow).toBe(413)
    expect([threads.length, threads[0]?.isTerminated]).toEqual([2, true])
    // Too late: nobody listens any more.
    threads[0]?.emit('message', made)
    threads[1]?.emit('message', made)
    expect(await next).toBe('done')
  })

  it('does not wait for a thread that never begins', async () => {
    const clock = new ManualClock()
    const lane = new HeavyLane({ clock, logger, startThread: () => new FakeThread() as unknown as HeavyThread })
    const outcome = lane.run(task, 'a', forEver()).catch((error: Error) => error.message)
    await clock.advance(HEAVY_TASK_MS)
    await clock.advance(HEAVY_THREAD_START_MS - HEAVY_TASK_MS)
    expect(await outcome).toBe('the thread for heavy work does not begin')
  })

  it('survives a thread that fails or runs out of memory', async () => {
    const { threads, run } = world()
    const large = run()
    threads[0]?.emit('error', Object.assign(new Error('too much'), { code: 'ERR_WORKER_OUT_OF_MEMORY' }))
    threads[0]?.emit('exit', 1)
    expect(await large).toBe(413)
    const broken = run()
    threads[1]?.emit('exit', 1)
    expect(await broken).toBe('the thread for heavy work has ended')
    const fine = run()
    threads[2]?.emit('message', made)
    expect(await fine).toBe('done')
  })

  it('refuses with a 429 what one caller has too much, and what all have', async () => {
    const { run, lane } = world()
    const waiting = [run(), ...Array.from({ length: MAX_WAITING_HEAVY_TASKS_PER_CALLER }, () => run())]
    expect(await run()).toBe(429)
    const others = Array.from(
      { length: MAX_WAITING_HEAVY_TASKS - MAX_WAITING_HEAVY_TASKS_PER_CALLER },
      (_, index) => index,
    )
    waiting.push(...others.map((index) => run(`b${index}`)))
    // Whoever has far more than others gives way, until all have as much.
    const late = Array.from({ length: MAX_WAITING_HEAVY_TASKS_PER_CALLER - 1 }, (_, index) => run(`c${index}`))
    expect(await run('d')).toBe(429)
    await lane.stop()
    const outcomes = await Promise.all([...waiting, ...late])
    const refused = outcomes.filter((outcome) => outcome === 429)
    expect(refused).toHaveLength(late.length)
    expect(new Set(outcomes)).toEqual(new Set(['the server is stopping', 429]))
    expect(await run()).toBe('the server is stopping')
  })

  it('forgets a task whose client has gone before its turn', async () => {
    const { threads, run } = world()
    const first = run()
    const client = new AbortController()
    const left = run('b', client.signal)
    client.abort(new Error('gone'))
    expect(await left).toBe('gone')
    threads[0]?.emit('message', made)
    expect(await first).toBe('done')
    expect(threads[0]?.tasks).toHaveLength(1)
    expect(await run('b', AbortSignal.abort(new Error('gone before')))).toBe('gone before')
  })
})
