/** The stock programs of konnectivity, each on loopback with its files in one temporary directory. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { removeFolder } from '../remove-folder.ts'
import { eventually } from '../worlds/hub-world.ts'
import { Daemon, freePorts, peersDirectory } from './control-plane.ts'

const programs = ['konnectivity-agent', 'konnectivity-server', 'konnectivity-test-client', 'konnectivity-test-server']
const clientTimeoutMs = 120_000
/** The client closes its connections on any signal, also on those by which the Go runtime wakes its own threads. */
const withoutSignals = { GODEBUG: 'asyncpreemptoff=1' }

export function missingKonnectivity(): string[] {
  return programs.filter((program) => !existsSync(join(peersDirectory(), program)))
}

/** Removed at the end of the test. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'konnectivity-'))
  onTestFinished(() => removeFolder(directory))
  return directory
}

export interface Pem {
  readonly cert: string
  readonly key: string
}

/** The files of a key pair, as flags name them. */
export async function writePair(directory: string, name: string, { cert, key }: Pem): Promise<[string, string]> {
  const files: [string, string] = [join(directory, `${name}.crt`), join(directory, `${name}.key`)]
  await writeFile(files[0], cert)
  await writeFile(files[1], key)
  return files
}

export interface StockAgentOptions {
  readonly port: number
  readonly caPem: string
  readonly pair?: Pem
  readonly flags?: readonly string[]
}

/** Ended at the end of the test. */
export async function startStockAgent({ port, caPem, pair, flags = [] }: StockAgentOptions): Promise<Daemon> {
  const directory = await temporaryDirectory()
  const caFile = join(directory, 'ca.crt')
  await writeFile(caFile, caPem)
  const [health, admin] = await freePorts(2)
  const [cert, key] = pair === undefined ? [] : await writePair(directory, 'agent', pair)
  const agent = await Daemon.start('konnectivity-agent', directory, [
    '--proxy-server-host=127.0.0.1',
    `--proxy-server-port=${port}`,
    `--ca-cert=${caFile}`,
    ...(cert === undefined ? [] : [`--agent-cert=${cert}`, `--agent-key=${key}`]),
    '--health-server-host=127.0.0.1',
    `--health-server-port=${health}`,
    `--admin-server-port=${admin}`,
    '--sync-interval=100ms',
    '--sync-interval-cap=200ms',
    '--probe-interval=100ms',
    ...flags,
  ])
  onTestFinished(() => agent.kill())
  return agent
}

/** The stock test server; its port. */
export async function startTestServer(): Promise<number> {
  const directory = await temporaryDirectory()
  const [port = 0] = await freePorts(1)
  const server = await Daemon.start('konnectivity-test-server', directory, [`--server-port=${port}`])
  onTestFinished(() => server.kill())
  await eventually(() => answers({ host: '127.0.0.1', port }))
  return port
}

/** Rejects where nobody listens yet. */
export async function answers(address: { host: string; port: number } | { path: string }): Promise<void> {
  const probe = connect(address)
  await once(probe, 'connect')
  probe.destroy()
}

/** A web server that answers with many bytes. */
export async function startBulkServer(body: Buffer): Promise<number> {
  const server = createServer((_request, response) => response.end(body)).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  return (server.address() as AddressInfo).port
}

export interface ClientRun {
  readonly ok: boolean
  readonly output: string
}

/** The stock test client through a front on a unix socket. */
export function runTestClient(
  socketPath: string,
  requestPort: number,
  mode: 'grpc' | 'http-connect',
  flags: readonly string[] = [],
): Promise<ClientRun> {
  const args = [
    `--mode=${mode}`,
    `--proxy-uds=${socketPath}`,
    '--proxy-host=',
    '--proxy-port=0',
    '--request-host=127.0.0.1',
    `--request-port=${requestPort}`,
    ...flags,
  ]
  return new Promise((resolve) => {
    execFile(
      join(peersDirectory(), 'konnectivity-test-client'),
      args,
      { timeout: clientTimeoutMs, env: { ...process.env, ...withoutSignals } },
      (error, stdout, stderr) => resolve({ ok: error === null, output: stdout + stderr }),
    )
  })
}
