/**
 * A role of the built command as a process of its own that is measured from the inside: how long did one turn of its event loop
 * take while a request was served, in processor time. That is how long everybody else had to wait.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { environmentWithoutOurs } from '../e2e/harness.ts'

const command = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const meter = new URL('./turn-meter.mjs', import.meta.url).href

export interface ProcessOptions {
  readonly folder: string
  readonly environment?: Readonly<Record<string, string>>
}

export class MeteredProcess {
  #child: ChildProcess | undefined
  #log = ''

  /** Resolves when it is ready. */
  async start(args: readonly string[], { folder, environment = {} }: ProcessOptions): Promise<void> {
    const child = spawn(process.execPath, ['--import', meter, command, ...args], {
      cwd: folder,
      env: { ...environmentWithoutOurs(), ...environment },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    this.#child = child
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#log = (this.#log + text).slice(-20_000)
    })
    await new Promise<void>((resolve, reject) => {
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        if (text.startsWith('ready')) resolve()
      })
      child.once('exit', (code, signal) => reject(new Error(`it ended: ${code} ${signal}\n${this.#log}`)))
    })
  }

  get isAlive(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null
  }

  /** The end of what it has logged. */
  get log(): string {
    return this.#log
  }

  async measureDuring<Result>(action: () => Promise<Result>): Promise<{ result: Result; longestTurnMs: number }> {
    await this.#tell('start')
    const result = await action()
    const { longestMs = Number.POSITIVE_INFINITY } = this.isAlive ? await this.#tell('stop') : {}
    return { result, longestTurnMs: Math.round(longestMs) }
  }

  async #tell(word: 'start' | 'stop'): Promise<{ longestMs?: number }> {
    const child = this.#child as ChildProcess
    return await new Promise((resolve) => {
      const gone = (): void => resolve({})
      child.once('exit', gone)
      child.once('message', (answer) => {
        child.off('exit', gone)
        resolve(answer as { longestMs?: number })
      })
      child.send(word)
    })
  }

  async stop(): Promise<void> {
    if (!this.isAlive) return
    const ended = once(this.#child as ChildProcess, 'exit')
    this.#child?.kill('SIGKILL')
    await ended
  }
}
