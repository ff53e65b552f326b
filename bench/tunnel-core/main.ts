/**
 * `npm run bench:tunnel-core`: the session alone in memory, then bulk and echo through a relay over loopback TLS, ours beside a
 * bare one, in turns so that a busy machine disturbs both alike. Bulk is also given per second of processor time, source and
 * sink included, which a busy machine disturbs least.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isMainThread, Worker } from 'node:worker_threads'
import { measureMemory } from './memory.ts'
import { type Half, halfOfThisThread, runHalf } from './relay.ts'

const milliseconds = Number(process.env['BENCH_MS'] ?? 3_000)
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3)

interface Target {
  readonly port: number
  receivedBytes: number
  close(): void
}

interface Relay {
  readonly port: number
  stop(): Promise<void>
}

/** Counts what starts with `b`, echoes what starts with `e`, and sends for ever to whoever starts with `d`. */
async function startTarget(): Promise<Target> {
  const target = { port: 0, receivedBytes: 0, close: () => server.close() }
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {})
    socket.once('data', (first: Buffer) => {
      if (first[0] === 0x65) socket.pipe(socket)
      else if (first[0] === 0x64) flood(socket)
      else socket.on('data', (chunk: Buffer) => (target.receivedBytes += chunk.length))
      if (first[0] === 0x65) socket.write(first)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(target, { port: (server.address() as { port: number }).port })
}

function flood(socket: Socket): void {
  const chunk = Buffer.alloc(64 * 1024, 7)
  const fill = (): void => {
    while (!socket.destroyed && socket.write(chunk)) {}
  }
  socket.on('drain', fill)
  fill()
}

async function startRelay(kind: Half['kind'], target: Target, tls: Half['tls']): Promise<Relay> {
  const far = await startHalf({ kind, side: 'far', toPort: target.port, tls })
  const near = await startHalf({ kind, side: 'near', toPort: far.port, tls })
  return {
    port: near.port,
    stop: async () => void (await Promise.all([near.worker.terminate(), far.worker.terminate()])),
  }
}

async function startHalf(half: Half): Promise<{ port: number; worker: Worker }> {
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: half })
  const port = await new Promise<number>((resolve, reject) => worker.once('message', resolve).once('error', reject))
  return { port, worker }
}

async function open(port: number, first: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.on('error', () => {})
  socket.write(first)
  return socket
}

interface Bulk {
  readonly perSecond: number
  readonly perCpuSecond: number
}

async function measureBulk(relay: Relay, target: Target, streams: number, direction: 'up' | 'down'): Promise<Bulk> {
  let downBytes = 0
  const first = direction === 'up' ? 'b' : 'd'
  const sockets = await Promise.all(Array.from({ length: streams }, () => open(relay.port, first)))
  for (const socket of sockets) {
    if (direction === 'up') flood(socket)
    else {
      socket.on('data', (chunk: Buffer) => {
        downBytes += chunk.length
      })
    }
  }
  await pause(milliseconds / 3)
  const before = target.receivedBytes + downBytes
  const startMs = performance.now()
  const startCpu = process.cpuUsage()
  await pause(milliseconds)
  const megabytes = (target.receivedBytes + downBytes - before) / 1e6
  const { user, system } = process.cpuUsage(startCpu)
  const result = {
    perSecond: (megabytes * 1e3) / (performance.now() - startMs),
    perCpuSecond: (megabytes * 1e6) / (user + system),
  }
  for (const socket of sockets) socket.destroy()
  await pause(200)
  return result
}

async function measureEcho(relay: Relay): Promise<number> {
  const socket = await open(relay.port, 'e')
  await new Promise((resolve) => socket.once('data', resolve))
  const samples: number[] = []
  const untilMs = performance.now() + milliseconds / 2
  while (performance.now() < untilMs) {
    const startMs = performance.now()
    socket.write('x')
    await new Promise((resolve) => socket.once('data', resolve))
    samples.push(performance.now() - startMs)
  }
  socket.destroy()
  samples.sort((a, b) => a - b)
  return samples[Math.floor(samples.length / 2)] ?? Number.NaN
}

async function measureOpens(relay: Relay): Promise<number> {
  let opens = 0
  const startMs = performance.now()
  const untilMs = startMs + milliseconds / 2
  const opener = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      const socket = await open(relay.port, 'e')
      await new Promise((resolve) => socket.once('data', resolve))
      socket.destroy()
      opens += 1
    }
  }
  await Promise.all(Array.from({ length: 8 }, opener))
  return (opens * 1000) / (performance.now() - startMs)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function certificate(): Half['tls'] {
  const directory = mkdtempSync(join(tmpdir(), 'causeway-bench-'))
  const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-days', '1', '-keyout', key, '-out', cert]
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', ...subject],
    {
      stdio: 'ignore',
    },
  )
  const tls = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  rmSync(directory, { recursive: true })
  return tls
}

type Measured = Readonly<Record<string, number>>

/** Measures both in turns and prints the medians of every figure with their ratio. */
async function compare(name: string, measure: (kind: Half['kind']) => Promise<Measured>): Promise<void> {
  const samples: Record<Half['kind'], Measured[]> = { bare: [], ours: [] }
  for (let round = 0; round < rounds; round++) {
    for (const kind of ['bare', 'ours'] as const) samples[kind].push(await measure(kind))
  }
  for (const figure of Object.keys(samples.bare[0] ?? {})) {
    const [bare, ours] = [samples.bare, samples.ours].map((all) => median(all.map((one) => one[figure] ?? Number.NaN)))
    const label = `${name}, ${figure}`.padEnd(40)
    console.log(
      label,
      `bare ${bare?.toFixed(2)}`,
      `ours ${ours?.toFixed(2)}`,
      `ratio ${((ours ?? 0) / (bare ?? 1)).toFixed(2)}`,
    )
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

async function main(): Promise<void> {
  for (const streams of [1, 16]) {
    console.log(`memory, ${streams} streams`.padEnd(22), `${measureMemory(streams, milliseconds / 3).toFixed(0)} MB/s`)
  }
  const tls = certificate()
  const target = await startTarget()
  const relays = { bare: await startRelay('bare', target, tls), ours: await startRelay('ours', target, tls) }
  for (const streams of [1, 16]) {
    for (const direction of ['up', 'down'] as const) {
      await compare(`bulk ${direction}, ${streams} streams`, async (kind) => {
        const { perSecond, perCpuSecond } = await measureBulk(relays[kind], target, streams, direction)
        return { 'MB/s': perSecond, 'MB per CPU s': perCpuSecond }
      })
    }
  }
  await compare('echo', async (kind) => ({ 'p50 ms': await measureEcho(relays[kind]) }))
  await compare('opens', async (kind) => ({ 'per s': await measureOpens(relays[kind]) }))
  await Promise.all([relays.bare.stop(), relays.ours.stop()])
  target.close()
  // Sockets that were destroyed mid-flood may linger in the target.
  process.exit(0)
}

if (isMainThread) await main()
else await runHalf(halfOfThisThread())
