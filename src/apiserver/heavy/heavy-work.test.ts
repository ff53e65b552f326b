import { EventEmitter } from 'node:events'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import type { ApiError } from '../../kube/status/status.ts'
import { ManualClock, systemClock } from '../../runtime/clock.ts'
import type { HeavyResult, HeavyTask } from './heavy-task.ts'
import {
  HEAVY_TASK_MS,
  HEAVY_THREAD_IDLE_MS,
  type HeavyThread,
  HeavyWork,
  MAX_WAITING_HEAVY_TASKS,
  MAX_WAITING_HEAVY_TASKS_PER_CALLER,
} from './heavy-work.ts'

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
    return thread as unknown as HeavyThread
  }
  const work = new HeavyWork({ clock, logger, startThread })
  /** `done`, or what it was refused with. */
  const run = (caller = 'a', signal: AbortSignal = forEver()): Promise<unknown> =>
    work.run(task, caller, signal).then(
      () => 'done',
      (error: ApiError | Error) => ('code' in error ? error.code : error.message),
    )
  return { clock, threads, work, run }
}

describe('HeavyWork', () => {
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
    await clock.advance(HEAVY_TASK_MS)
    expect(await slow).toBe(413)
    expect([threads.length, threads[0]?.isTerminated]).toEqual([2, true])
    // Too late: nobody listens any more.
    threads[0]?.emit('message', made)
    threads[1]?.emit('message', made)
    expect(await next).toBe('done')
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
    const { run, work } = world()
    const running = await work.start()
    const waiting = [run(), ...Array.from({ length: MAX_WAITING_HEAVY_TASKS_PER_CALLER }, () => run())]
    expect(await run()).toBe(429)
    const rest = MAX_WAITING_HEAVY_TASKS - MAX_WAITING_HEAVY_TASKS_PER_CALLER
    waiting.push(...Array.from({ length: rest }, (_, index) => run(`b${index}`)))
    expect(await run('c')).toBe(429)
    await running.stop(AbortSignal.abort())
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['the server is stopping']))
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

describe('a real thread', () => {
  it('makes objects, refuses what is wrong, and says so', async () => {
    const work = new HeavyWork({ clock: systemClock, logger })
    const running = await work.start()
    const read = (json: string): Promise<HeavyResult> => work.run(readTask('configmaps', json), 'a', forEver())
    expect(await read('{"metadata":{"name":"x"},"date":{}}')).toEqual({
      outcome: 'made',
      object: '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"}}',
      warnings: ['unknown field "date"'],
    })
    expect(await read('{"data":[]}')).toMatchObject({ outcome: 'refused', status: { code: 400 } })
    expect(await work.run(readTask('nothings', '{}'), 'a', forEver())).toMatchObject({ outcome: 'failed' })
    await running.stop(AbortSignal.abort())
  })
})
