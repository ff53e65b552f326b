/** Processes of the bench: itself in another role, the built command, and programs of others. None outlives it. */
import { type ChildProcess, execFile, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Api, type Client, callsTo } from './rpc.ts'

const self = fileURLToPath(import.meta.url)
const command = fileURLToPath(new URL('../../cli/main.js', import.meta.url))
const killAfterMs = 3_000

export function startRole<A extends Api>(role: string): { child: ChildProcess; calls: Client<A> } {
  const child = kept(fork(self, ['--role', role]))
  return { child, calls: callsTo<A>(child) }
}

/** The built command; resolves with its line `ready ...`. */
export async function startCommand(
  args: readonly string[],
  profileDir?: string,
): Promise<{ child: ChildProcess; line: string }> {
  const child = spawnCommand(args, profileDir)
  return { child, line: await firstLine(child, `causeway ${args[0]}`) }
}

/** The built command, ready or not. What is among the arguments wins over the flags that all have. */
export function spawnCommand([name = '', ...args]: readonly string[], profileDir?: string): ChildProcess {
  const profiling = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`]
  const flags = ['--health-address=127.0.0.1:0', '--log-level=error', '--drain-timeout=1s']
  return startProgram(process.execPath, [...profiling, command, name, ...flags, ...args], 'inherit')
}

/** A command that ends by itself; resolves with what it printed. */
export async function runCommand(args: readonly string[]): Promise<string> {
  return (await promisify(execFile)(process.execPath, [command, ...args])).stdout
}

export function startProgram(program: string, args: readonly string[], errors: 'inherit' | 'ignore'): ChildProcess {
  return kept(spawn(program, args, { stdio: ['ignore', 'pipe', errors] }))
}

export async function endProcess(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  await exited
  clearTimeout(timer)
}

/** Resident memory of all of them together. */
export function residentMiB(children: readonly ChildProcess[]): number {
  const one = ({ pid }: ChildProcess): number => {
    const kib = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return Number(kib) / 1024
  }
  return children.reduce((sum, child) => sum + one(child), 0)
}

/** Processor time used so far: fields 14 and 15, in hundredths of a second; the name before them may hold anything. */
export function cpuMs(processes: readonly { readonly pid?: number | undefined }[]): number {
  const one = ({ pid }: { readonly pid?: number | undefined }): number => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  }
  return processes.reduce((sum, each) => sum + one(each), 0)
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/** Ends with the bench at the latest. */
export function kept(child: ChildProcess): ChildProcess {
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

async function firstLine(child: ChildProcess, name: string): Promise<string> {
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${name} ended before it was ready`)))
  ended.catch(() => {})
  if (child.stdout === null) throw new Error(`the output of ${name} is not read`)
  const [text] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer]
  child.stdout.resume()
  return text.toString()
}
