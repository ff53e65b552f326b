/**
 * `npm run bench:apiserver`: our API server on LMDB beside a real kube-apiserver with etcd, one after the other on the same
 * machine, with the same driver. Acknowledged means flushed to disk on both sides.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { missingPeers, startControlPlane } from '../../test/real/control-plane.ts'
import type { Target } from './load.ts'
import { measure, type Results } from './measure.ts'

const milliseconds = Number(process.env['BENCH_MS'] ?? 5_000)
const command = fileURLToPath(new URL('../../cli/main.js', import.meta.url))

interface Run {
  readonly target: Target
  readonly readyMs: number
  /** Resident memory of the server and its store, in MiB. */
  memory(): number
  stop(): Promise<void>
}

async function startOurs(): Promise<Run> {
  const directory = mkdtempSync(join(tmpdir(), 'causeway-bench-'))
  const flags = [
    '--data-dir',
    directory,
    '--secure-port',
    '0',
    '--health-address',
    '127.0.0.1:0',
    '--log-level',
    'warn',
  ]
  const startMs = performance.now()
  const child = spawn(process.execPath, [command, 'apiserver', ...flags], { stdio: ['ignore', 'pipe', 'inherit'] })
  const server = await readyLine(child)
  const readyMs = performance.now() - startMs
  const read = (name: string): Buffer => readFileSync(join(directory, name))
  const target = {
    name: 'causeway on LMDB',
    server,
    ca: read('ca.crt'),
    cert: read('admin.crt'),
    key: read('admin.key'),
  }
  const stop = async (): Promise<void> => {
    const exited = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    await exited
    rmSync(directory, { recursive: true, force: true })
  }
  return { target, readyMs, memory: () => residentMiB(child.pid ?? 0), stop }
}

function readyLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const found = /^ready .* on (https:\S+)/m.exec(text)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once('exit', (code) => reject(new Error(`causeway apiserver ended with ${code}`)))
  })
}

async function startReal(): Promise<Run> {
  const startMs = performance.now()
  const plane = await startControlPlane({ durable: true })
  const target = {
    name: 'kube-apiserver and etcd',
    server: plane.server,
    ca: readFileSync(plane.caFile),
    cert: readFileSync(plane.clientCertificateFile),
    key: readFileSync(plane.clientKeyFile),
  }
  const memory = (): number => plane.pids().reduce((sum, pid) => sum + residentMiB(pid), 0)
  return { target, readyMs: performance.now() - startMs, memory, stop: () => plane.stop() }
}

function residentMiB(pid: number): number {
  const kib = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) / 1024
}

async function runAll(start: () => Promise<Run>): Promise<Results> {
  const run = await start()
  try {
    const atStart = run.memory()
    const results = await measure(run.target, milliseconds)
    return { 'ready after ms': run.readyMs, ...results, 'MiB at start': atStart, 'MiB at end': run.memory() }
  } finally {
    await run.stop()
  }
}

const ours = await runAll(startOurs)
const missing = missingPeers(['etcd', 'kube-apiserver'])
const real = missing.length === 0 ? await runAll(startReal) : undefined
if (real === undefined) console.log(`no ${missing.join(', ')} here: ours alone`)
console.log(`${''.padEnd(40)}${'causeway'.padStart(12)}${'kubernetes'.padStart(12)}${'ratio'.padStart(8)}`)
for (const [name, value] of Object.entries(ours)) {
  const other = real?.[name]
  const columns = [value.toFixed(1).padStart(12), (other?.toFixed(1) ?? '-').padStart(12)]
  console.log(name.padEnd(40) + columns.join('') + (other === undefined ? '' : (value / other).toFixed(2).padStart(8)))
}
