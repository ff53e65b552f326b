/** An API server and a hub, each as its users run it: a process of its own, its state in a temporary directory. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readJoinToken } from '../../src/identity/join-token.ts'

const command = fileURLToPath(new URL('../../cli/main.js', import.meta.url))

export interface BenchCluster {
  readonly url: string
  /** Good for any number of nodes. */
  readonly jwt: string
  hubMemory(): { readonly nowMiB: number; readonly peakMiB: number }
  /** Processor time used so far. */
  cpuMs(): { readonly hub: number; readonly apiServer: number }
  stop(): Promise<void>
}

export async function startCluster(storage: string, profileDir: string | undefined): Promise<BenchCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-join-'))
  const common = ['--health-address=127.0.0.1:0', '--log-level=warn']
  const api = start(['apiserver', `--data-dir=${folder}/api`, '--secure-port=0', `--storage=${storage}`, ...common])
  await ready(api)
  const kubeconfig = `--kubeconfig=${join(folder, 'api/admin.kubeconfig')}`
  const profiling = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`]
  const hub = start(['hub', kubeconfig, `--data-dir=${folder}/hub`, '--listen=127.0.0.1:0', ...common], profiling)
  const url = /https:\/\/\S+/.exec(await ready(hub))?.[0] ?? ''
  const token = execFileSync(process.execPath, [command, 'token', 'create', kubeconfig], { encoding: 'utf8' })
  return {
    url,
    jwt: readJoinToken(token).jwt,
    hubMemory: () => ({ nowMiB: memoryMiB(hub, 'VmRSS'), peakMiB: memoryMiB(hub, 'VmHWM') }),
    cpuMs: () => ({ hub: cpuMs(hub), apiServer: cpuMs(api) }),
    stop: async () => {
      for (const child of [hub, api]) {
        child.kill('SIGTERM')
        await once(child, 'exit')
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Whatever happens to the bench, nothing of it stays behind. */
function start(args: readonly string[], nodeFlags: readonly string[] = []): ChildProcess {
  const child = spawn(process.execPath, [...nodeFlags, command, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  process.once('exit', () => child.kill('SIGKILL'))
  return child
}

/** Its first line. */
async function ready(child: ChildProcess): Promise<string> {
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('a server ended before it was ready')))
  ended.catch(() => {})
  if (child.stdout === null) throw new Error('the output of a server is not read')
  const [text] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer]
  return text.toString()
}

function memoryMiB({ pid }: ChildProcess, field: string): number {
  const kib = new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) / 1024
}

/** User and system time stand in fields 14 and 15, in hundredths of a second; the name before them may hold anything. */
function cpuMs({ pid }: ChildProcess): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}
