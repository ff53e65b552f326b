import { EventEmitter } from 'node:events'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { ManualClock, systemClock } from '../../runtime/clock.ts'
import type { HeavyThread } from './heavy-lane.ts'
import type { HeavyResult, HeavyTask } from './heavy-task.ts'
import { HeavyWork } from './heavy-work.ts'
import { MAX_SHORT_TASK_VALUES } from './task-size.ts'

const logger = pino({ level: 'silent' })
const forEver = (): AbortSignal => new AbortController().signal

function readTask(name: string, json: string): HeavyTask {
  const resource = { group: '', version: 'v1', resource: name }
  return { step: 'read', resource, body: { bytes: Buffer.from(json), encoding: 'json', validation: 'Warn' } }
}

describe('short work', () => {
  it('does not wait for long work', async () => {
    const threads: EventEmitter[] = []
    const startThread = (): HeavyThread => {
      const thread = Object.assign(new EventEmitter(), {
        postMessage: () => {},
        unref: () => {},
        terminate: () => Promise.resolve(0),
      })
      threads.push(thread)
      return thread as unknown as HeavyThread
    }
    const work = new HeavyWork({ clock: new ManualClock(), logger, startThread })
    const running = await work.start()
    const long = work.run(readTask('configmaps', `[${'1,'.repeat(MAX_SHORT_TASK_VALUES)}1]`), 'a', forEver())
    const short = work.run(readTask('configmaps', '{}'), 'b', forEver())
    const made: HeavyResult = { outcome: 'made', object: '{}', warnings: [] }
    threads[1]?.emit('message', made)
    expect(await short).toEqual(made)
    await running.stop(AbortSignal.abort())
    await expect(long).rejects.toThrow('the server is stopping')
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
