/** A program in our place: its input and output are ours, signals to us are for it, and its end is our end. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { CommandError, LoggedError } from '../failure.ts'

/** Everything that ends, reloads or pokes programs, and can be caught. */
const forwardedSignals = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const
type ForwardedSignal = (typeof forwardedSignals)[number]
/** Signals that a terminal sends to everybody in front of it; passed on, the program would get them twice. */
const fromTerminal: ReadonlySet<ForwardedSignal> = new Set<ForwardedSignal>(['SIGINT', 'SIGQUIT', 'SIGWINCH'])
/** Signals by which no program ends. */
const harmless: ReadonlySet<ForwardedSignal> = new Set<ForwardedSignal>(['SIGWINCH'])

interface SignalSource {
  on(name: string, listener: (name: ForwardedSignal) => void): unknown
  off(name: string, listener: (name: ForwardedSignal) => void): unknown
}

/** How a program ended, carried to the end of ours without a word. */
export class ProgramEnded extends LoggedError {
  override readonly name = 'ProgramEnded'
  override readonly exitCode: number

  constructor(exitCode: number) {
    super(`the program ended with ${exitCode}`)
    this.exitCode = exitCode
  }
}

/** Whether what is typed at a terminal, such as Ctrl-C, goes to the group of this process. */
export function isInForeground(): boolean {
  try {
    return isForegroundGroup(readFileSync('/proc/self/stat', 'utf8'))
  } catch {
    return process.stdin.isTTY
  }
}

/** Whether this process belongs to the group in front of its terminal, by what /proc/self/stat holds. */
export function isForegroundGroup(stat: string): boolean {
  // The name in parentheses may hold anything. After it: state, parent, group, session, terminal, group in the foreground.
  const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return group !== undefined && group === foreground
}

export function exitCodeOf(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal])
}

/** Signals to this process: until there is a program they end the preparations, then they are for the program. */
export class SignalRelay {
  readonly #stop = new AbortController()
  readonly #source: SignalSource
  readonly #isInForeground: () => boolean
  #child: Pick<ChildProcess, 'kill'> | undefined

  constructor(source: SignalSource, isInForeground: () => boolean) {
    this.#source = source
    this.#isInForeground = isInForeground
    for (const name of forwardedSignals) source.on(name, this.#onSignal)
  }

  /** Aborts with a `ProgramEnded` when a signal comes before there is a program. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  release(): void {
    for (const name of forwardedSignals) this.#source.off(name, this.#onSignal)
  }

  /** Resolves with the exit code of the program. */
  async run(command: readonly string[], environment: NodeJS.ProcessEnv, workingDir: string): Promise<number> {
    this.signal.throwIfAborted()
    const [program = '', ...args] = command
    const child = spawn(program, args, { stdio: 'inherit', env: environment, cwd: workingDir })
    this.#child = child
    return await new Promise((resolve, reject) => {
      child.once('error', (cause) => {
        reject(new CommandError(`${program} could not be started: ${cause.message}`, { cause }))
      })
      child.once('exit', (code, signal) => resolve(exitCodeOf(code, signal)))
    })
  }

  readonly #onSignal = (name: ForwardedSignal): void => {
    if (this.#child !== undefined) {
      if (!fromTerminal.has(name) || !this.#isInForeground()) this.#child.kill(name)
    } else if (!harmless.has(name)) this.#stop.abort(new ProgramEnded(exitCodeOf(null, name)))
  }
}
