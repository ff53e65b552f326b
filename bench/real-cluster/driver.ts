/**
 * The load: a Go program of its own, in the folder driver. Node needs twice the processor time for the same requests, and on
 * a small machine what generates the load would then be what limits it.
 */
import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const source = fileURLToPath(new URL('../../../bench/real-cluster/driver', import.meta.url))

/** What every command needs to know. */
export interface Target {
  /** Base address of the API server itself. */
  readonly direct: string
  readonly caFile: string
  readonly tokens: readonly string[]
}

export interface Command {
  readonly op: 'requests' | 'events' | 'hold' | 'release' | 'exec'
  readonly server?: string
  readonly path?: string
  readonly gzip?: boolean
  readonly clients?: number
  readonly streams?: number
  readonly writes?: number
  readonly ms?: number
}

/** The names are those of driver/main.go. */
export interface Answer {
  readonly count: number
  /** Requests, or changes that were heard; those before the measurement began included. */
  readonly total: number
  readonly bytes: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly failed: number
  readonly failure?: string
  /** Of the driver itself. */
  readonly cpuMs: number
  readonly error?: string
}

export class Driver {
  readonly #target: Target
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: AsyncIterator<string>

  private constructor(target: Target, child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#target = target
    this.#child = child
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    process.once('exit', () => child.kill('SIGKILL'))
  }

  /** Builds the program into the folder, for which Go must be here. */
  static async start(folder: string, target: Target): Promise<Driver> {
    const program = join(folder, 'driver')
    const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' }
    try {
      await promisify(execFile)('go', ['build', '-o', program, '.'], { cwd: source, env })
    } catch (error) {
      throw new Error('the load generator could not be built, for which this bench needs Go', { cause: error })
    }
    return new Driver(target, spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] }))
  }

  /** One at a time. */
  async ask(command: Command): Promise<Answer> {
    this.#child.stdin.write(`${JSON.stringify({ ...this.#target, ...command })}\n`)
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error('the load generator ended')
    const answer = JSON.parse(value) as Answer
    if (answer.error !== undefined) throw new Error(answer.error)
    return answer
  }

  stop(): void {
    this.#child.kill('SIGKILL')
  }
}
