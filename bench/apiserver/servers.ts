/** The API servers that are compared, each as its users run it: its own process, its state in a temporary directory. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { peersDirectory, startControlPlane } from '../../test/real/control-plane.ts'
import type { Target } from './load.ts'

const command = fileURLToPath(new URL('../../cli/main.js', import.meta.url))

export interface Server {
  readonly target: Target
  readonly readyMs: number
  /** Resident memory of the server and of its store, where that is a process of its own, in MiB. */
  memory(): number
  stop(): Promise<void>
}

export async function startOnLmdb(): Promise<Server> {
  return await startOurs([])
}

/** Ready and memory count etcd in, as they do for the real pair. */
export async function startOnEtcd(): Promise<Server> {
  const startMs = performance.now()
  const etcd = await startEtcd()
  const ours = await startOurs([`--etcd-servers=${etcd.endpoint}`])
  return {
    target: ours.target,
    readyMs: performance.now() - startMs,
    memory: () => ours.memory() + residentMiB(etcd.child),
    async stop() {
      await ours.stop()
      await end(etcd.child, etcd.directory)
    },
  }
}

export async function startKubernetes(): Promise<Server> {
  const startMs = performance.now()
  const plane = await startControlPlane({ durable: true })
  const target = {
    server: plane.server,
    ca: readFileSync(plane.caFile),
    cert: readFileSync(plane.clientCertificateFile),
    key: readFileSync(plane.clientKeyFile),
  }
  const memory = (): number => plane.pids().reduce((sum, pid) => sum + residentMiB({ pid }), 0)
  return { target, readyMs: performance.now() - startMs, memory, stop: () => plane.stop() }
}

async function startOurs(storageFlags: readonly string[]): Promise<Server> {
  const directory = temporaryDirectory()
  const flags = ['--secure-port=0', '--health-address=127.0.0.1:0', '--log-level=warn', ...storageFlags]
  const startMs = performance.now()
  const child = start(process.execPath, [command, 'apiserver', `--data-dir=${directory}`, ...flags], 'inherit')
  await ready(child)
  const readyMs = performance.now() - startMs
  const target = readKubeconfig(join(directory, 'admin.kubeconfig'))
  return { target, readyMs, memory: () => residentMiB(child), stop: () => end(child, directory) }
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      if (text.startsWith('ready ')) resolve()
    })
    child.once('exit', (code) => reject(new Error(`causeway apiserver ended with ${code}`)))
  })
}

/** Ours are JSON and hold everything themselves. */
function readKubeconfig(file: string): Target {
  const { clusters, users } = JSON.parse(readFileSync(file, 'utf8')) as Kubeconfig
  const cluster = clusters[0]?.cluster
  const user = users[0]?.user
  if (cluster === undefined || user === undefined) throw new Error(`${file} names no cluster or no user`)
  const decode = (text: string): Buffer => Buffer.from(text, 'base64')
  return {
    server: cluster.server,
    ca: decode(cluster['certificate-authority-data']),
    cert: decode(user['client-certificate-data']),
    key: decode(user['client-key-data']),
  }
}

interface Kubeconfig {
  readonly clusters: readonly { cluster: { server: string; 'certificate-authority-data': string } }[]
  readonly users: readonly { user: { 'client-certificate-data': string; 'client-key-data': string } }[]
}

/** With the flush to disk on, as it is by default. Whoever connects waits for it by himself. */
async function startEtcd(): Promise<{ endpoint: string; child: ChildProcess; directory: string }> {
  const directory = temporaryDirectory()
  const endpoint = `http://127.0.0.1:${await freePort()}`
  const peers = `http://127.0.0.1:${await freePort()}`
  const flags = [
    `--data-dir=${join(directory, 'etcd')}`,
    `--listen-client-urls=${endpoint}`,
    `--advertise-client-urls=${endpoint}`,
    `--listen-peer-urls=${peers}`,
    `--initial-advertise-peer-urls=${peers}`,
    `--initial-cluster=default=${peers}`,
    '--log-level=error',
  ]
  // It calls its own end an error, several times.
  const child = start(join(peersDirectory(), 'etcd'), flags, 'ignore')
  return { endpoint, child, directory }
}

/** Whatever happens to the bench, nothing of it stays behind. */
function start(program: string, args: readonly string[], errors: 'inherit' | 'ignore'): ChildProcess {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', errors] })
  process.once('exit', () => child.kill('SIGKILL'))
  return child
}

async function end(child: ChildProcess, directory: string): Promise<void> {
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await exited
  rmSync(directory, { recursive: true, force: true })
}

function temporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'causeway-bench-'))
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const listener = createServer().listen(0, '127.0.0.1', () => {
      const { port } = listener.address() as { port: number }
      listener.close(() => resolve(port))
    })
  })
}

function residentMiB({ pid }: { readonly pid?: number | undefined }): number {
  const kib = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) / 1024
}
