/**
 * A thread for heavy work and those who wait for it. The thread is started when it is first needed and let go when it has
 * rested for a while; a task that takes too long or too much memory ends the thread and nothing else.
 */
import { Worker } from 'node:worker_threads'
import { tooManyRequests } from '../../kube/status/availability-errors.ts'
import { requestEntityTooLarge } from '../../kube/status/request-errors.ts'
import { ApiError } from '../../kube/status/status.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { FairQueue } from './fair-queue.ts'
import type { HeavyMessage, HeavyResult, HeavyTask } from './heavy-task.ts'

/** What one task may take. The worst objects that are let in take a second; a machine may have other things to do. */
export const HEAVY_TASK_MS = 10_000
/** For a thread to begin, on a machine that has other things to do. */
export const HEAVY_THREAD_START_MS = 30_000
/** Tasks of all callers that wait for one thread; each holds a body of some megabytes. */
export const MAX_WAITING_HEAVY_TASKS = 32
/** Tasks of one caller that wait for one thread. */
export const MAX_WAITING_HEAVY_TASKS_PER_CALLER = 8
/** A thread that had nothing to do for so long is let go, with its memory. */
export const HEAVY_THREAD_IDLE_MS = 60_000
/** A task that needs more ends its thread. */
const MAX_HEAVY_THREAD_MIB = 512

interface Waiting {
  readonly task: HeavyTask
  readonly resolve: (result: HeavyResult) => void
  readonly reject: (error: Error) => void
}

export interface HeavyLaneOptions {
  readonly clock: Clock
  readonly logger: Logger
  /** Other than a real thread, for tests. */
  readonly startThread?: () => HeavyThread
}

/** As much of a Worker as is needed here. */
export type HeavyThread = Pick<Worker, 'postMessage' | 'on' | 'terminate' | 'unref'>

export class HeavyLane {
  readonly #options: HeavyLaneOptions
  readonly #queue = new FairQueue<Waiting>()
  #thread: HeavyThread | undefined
  #running: Waiting | undefined
  #cancelTimer = (): void => {}
  #isStopped = false

  constructor(options: HeavyLaneOptions) {
    this.#options = options
  }

  /** Rejects with an ApiError where there is no place, where it takes too long, or where `signal` aborts before its turn. */
  run(task: HeavyTask, caller: string, signal: AbortSignal): Promise<HeavyResult> {
    if (this.#isStopped) return Promise.reject(new Error('the server is stopping'))
    if (signal.aborted) return Promise.reject(signal.reason as Error)
    if (!this.#hasRoomFor(caller)) return Promise.reject(tooBusy())
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#queue.remove(caller, waiting)
        reject(signal.reason as Error)
      }
      const settled = <Value>(settle: (value: Value) => void) => {
        return (value: Value): void => {
          signal.removeEventListener('abort', leave)
          settle(value)
        }
      }
      const waiting = { task, resolve: settled(resolve), reject: settled(reject) }
      signal.addEventListener('abort', leave, { once: true })
      this.#queue.push(caller, waiting)
      this.#next()
    })
  }

  /** Where there is none, whoever has far more than others gives way. */
  #hasRoomFor(caller: string): boolean {
    if (this.#queue.sizeOf(caller) >= MAX_WAITING_HEAVY_TASKS_PER_CALLER) return false
    if (this.#queue.size < MAX_WAITING_HEAVY_TASKS) return true
    const displaced = this.#queue.displace(caller)
    displaced?.reject(tooBusy())
    return displaced !== undefined
  }

  #next(): void {
    if (this.#running !== undefined) return
    const next = this.#queue.shift()
    this.#cancelTimer()
    if (next === undefined) {
      if (this.#thread !== undefined) this.#timer(HEAVY_THREAD_IDLE_MS, () => this.#letGo())
      return
    }
    this.#running = next
    if (this.#thread === undefined) {
      this.#thread = this.#startThread()
      const late = new Error('the thread for heavy work does not begin')
      this.#timer(HEAVY_THREAD_START_MS, () => this.#giveUp(late))
    } else this.#limitTask()
    this.#thread.postMessage(next.task)
  }

  /** The first task has had to wait for its thread, which is no fault of its own. */
  #begin(): void {
    if (this.#running === undefined) return
    this.#cancelTimer()
    this.#limitTask()
  }

  #limitTask(): void {
    this.#timer(HEAVY_TASK_MS, () => this.#giveUp(tooExpensive(`it took more than ${HEAVY_TASK_MS / 1000} seconds`)))
  }

  #timer(delayMs: number, action: () => void): void {
    this.#cancelTimer = this.#options.clock.schedule(delayMs, action)
  }

  #startThread(): HeavyThread {
    const thread = (this.#options.startThread ?? startWorker)()
    const isPresent = (): boolean => this.#thread === thread
    thread.on('message', (result: HeavyMessage) => {
      if (!isPresent()) return
      if (result === 'ready') {
        this.#begin()
        return
      }
      const done = this.#running
      this.#running = undefined
      done?.resolve(result)
      this.#next()
    })
    thread.on('error', (error: NodeJS.ErrnoException) => {
      const isMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
      if (!isMemory) this.#options.logger.error({ err: error }, 'the thread for heavy work failed')
      if (isPresent()) this.#giveUp(isMemory ? tooExpensive(`it took more than ${MAX_HEAVY_THREAD_MIB} MiB`) : error)
    })
    thread.on('exit', () => {
      if (isPresent()) this.#giveUp(new Error('the thread for heavy work has ended'))
    })
    // Nobody waits for a thread that nobody asked for anything.
    thread.unref()
    return thread
  }

  /** The running task is over, and so is its thread. */
  #giveUp(error: Error): void {
    const given = this.#running
    this.#running = undefined
    this.#letGo()
    if (error instanceof ApiError) this.#options.logger.warn({ reason: error.message }, 'an object was too much work')
    given?.reject(error)
    this.#next()
  }

  #letGo(): void {
    this.#cancelTimer()
    const thread = this.#thread
    this.#thread = undefined
    void thread?.terminate()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    const stopping = new Error('the server is stopping')
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) next.reject(stopping)
    const thread = this.#thread
    this.#giveUp(stopping)
    await thread?.terminate()
  }
}

function tooBusy(): ApiError {
  return tooManyRequests('too many large objects are being worked on, try again later', 1)
}

function tooExpensive(why: string): ApiError {
  return requestEntityTooLarge(`the object is too much work for this server: ${why}`)
}

function startWorker(): HeavyThread {
  const resourceLimits = { maxOldGenerationSizeMb: MAX_HEAVY_THREAD_MIB }
  if (!import.meta.url.endsWith('.ts')) {
    return new Worker(new URL('./heavy-worker.js', import.meta.url), { resourceLimits, execArgv: [] })
  }
  // Where the sources run as they are, in tests, the thread needs what runs them.
  const source = JSON.stringify(new URL('./heavy-worker.ts', import.meta.url).href)
  const start = `import('tsx/esm/api').then(({ register }) => (register(), import(${source})))`
  return new Worker(start, { eval: true, resourceLimits, execArgv: [] })
}
