/**
 * Runs the built command as a user would: a process of its own, in a folder of its own, with a clean environment.
 * Whatever is started here is gone after `endAll`, which every test file calls after each test.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { removeFolder } from '../remove-folder.ts'

/** For what must come, from processes that share a machine with a dozen others: it ends what hangs and judges no speed. */
export const patience = { timeout: 120_000, interval: 200 }

const COMMAND = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface LaunchOptions {
  readonly workingDir: string
  readonly environment?: Readonly<Record<string, string>>
  /** A file descriptor to read from; nothing without it. */
  readonly stdin?: number
  /** A file descriptor to write to, in place of `Launched.stdout`. */
  readonly stdout?: number
  /** Takes a rest after each piece of its outputs. */
  readonly readSlowly?: boolean
}

export type LogEntry = Readonly<Record<string, unknown>> & { readonly level: string; readonly msg: string }

const launched = new Set<Launched>()
const workingDirs: string[] = []

export class Launched {
  readonly exited: Promise<Exit>
  readonly #child: ChildProcessByStdio<null, Readable | null, Readable>
  readonly #changed = new EventTarget()
  #stdout = ''
  #stderr = ''

  constructor(args: readonly string[], options: LaunchOptions) {
    const { workingDir, environment = {}, stdin, stdout, readSlowly = false } = options
    this.#child = spawn(process.execPath, [COMMAND, ...args], {
      cwd: workingDir,
      env: { ...environmentWithoutOurs(), ...environment },
      stdio: [stdin ?? 'ignore', stdout ?? 'pipe', 'pipe'],
    }) as ChildProcessByStdio<null, Readable | null, Readable>
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text
      this.#changed.dispatchEvent(new Event('output'))
    })
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text
      this.#changed.dispatchEvent(new Event('output'))
    })
    if (readSlowly) for (const output of [this.#child.stdout, this.#child.stderr]) restAfterEachPiece(output)
    this.exited = new Promise((resolve, reject) => {
      this.#child.once('error', reject)
      this.#child.once('close', (code, signal) => resolve({ code, signal }))
    })
    launched.add(this)
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error('the process could not be started')
    return this.#child.pid
  }

  get stdout(): string {
    return this.#stdout
  }

  get stderr(): string {
    return this.#stderr
  }

  /** What was logged so far; throws when a line on stderr is not a log entry. */
  get log(): readonly LogEntry[] {
    const lines = this.#stderr.split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line) as LogEntry)
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Closes our ends of its outputs, as a reader that goes away does. */
  closeOutputs(...names: ('stdout' | 'stderr')[]): void {
    for (const name of names) this.#child[name]?.destroy()
  }

  /** Resolves with the base URL of the health server once the ready screen is complete. */
  async ready(): Promise<string> {
    const [, url = ''] = await this.#printed(() =>
      /^ready[\s\S]*health +(http:\/\/\S+)\/readyz[\s\S]*stop .*\n/.exec(this.#stdout),
    )
    return url
  }

  /** Resolves with what the pattern finds in the output. */
  async shows(pattern: RegExp): Promise<RegExpExecArray> {
    return await this.#printed(() => pattern.exec(this.#stdout))
  }

  /** Resolves once a line with that text is complete, so that `log` has it too. */
  async logged(text: string): Promise<void> {
    await this.#printed(() => this.#stderr.slice(0, this.#stderr.lastIndexOf('\n') + 1).includes(text) || undefined)
  }

  /** Resolves with the base URL of the health server, whatever port it was given. */
  async healthUrl(): Promise<string> {
    const [, address = ''] = await this.#printed(() =>
      /^\{.*"component":"health","address":"([^"]+)","msg":"listening"\}\n/m.exec(this.#stderr),
    )
    return `http://${address}`
  }

  /** Resolves once `find` finds something in the output; rejects when the process ends before. */
  async #printed<T>(find: () => T | null | undefined): Promise<T> {
    let over = false
    const watchExit = this.exited.then((exit) => {
      over = true
      this.#changed.dispatchEvent(new Event('output'))
      return exit
    })
    for (;;) {
      const found = find()
      if (found !== null && found !== undefined) return found
      if (over) throw new Error(`ended with ${JSON.stringify(await watchExit)}:\n${this.#stdout}${this.#stderr}`)
      await new Promise((resolve) => this.#changed.addEventListener('output', resolve, { once: true }))
    }
  }
}

function restAfterEachPiece(output: Readable | null): void {
  output?.on('data', () => {
    output.pause()
    setTimeout(() => output.resume(), 5)
  })
}

/** Starts the command and leaves it running. */
export function launch(args: readonly string[], options: LaunchOptions): Launched {
  return new Launched(args, options)
}

/** Runs the command to its end. */
export async function run(args: readonly string[], options: LaunchOptions) {
  const process = launch(args, options)
  const { code } = await process.exited
  return { code, stdout: process.stdout, stderr: process.stderr, log: () => process.log }
}

/** The environment of a process that shall believe it is another time. */
export function clockShiftedBy(ms: number): Record<string, string> {
  const code = `const now=Date.now;Date.now=()=>now()+${ms}`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` }
}

export function makeWorkingDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'causeway-e2e-'))
  workingDirs.push(dir)
  return dir
}

/** Ends every process started here, for good, and removes every folder made here. */
export async function endAll(): Promise<void> {
  for (const process of launched) process.kill('SIGKILL')
  await Promise.all([...launched].map(({ exited }) => exited))
  launched.clear()
  for (const dir of workingDirs.splice(0)) removeFolder(dir)
}

/** A variable of the developer's shell must not decide a test, and no test touches the interfaces of the machine. */
export function environmentWithoutOurs(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('CAUSEWAY_'))
  const endpoint = { CAUSEWAY_EDGE_ENDPOINT_ADDRESS: 'none', CAUSEWAY_EDGE_ENDPOINT_PORT: '0' }
  return { ...Object.fromEntries(others), ...endpoint }
}
