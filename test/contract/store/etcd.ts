/** A real etcd on loopback, which a test may kill and start again. The binary comes from where the other peers are. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemClock } from '../../../src/runtime/clock.ts'
import { peersDirectory } from '../../../tools/peers/directory.ts'
import { removeFolder } from '../../remove-folder.ts'

const readyTimeoutMs = 30_000
const readyPollMs = 50
const maxStarts = 5
const logTailBytes = 4_000
const selfSigning =
  'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=etcd ' +
  '-addext subjectAltName=IP:127.0.0.1 -keyout tls.key -out tls.crt'

export class EtcdProcess {
  /** `http://127.0.0.1:port`, or `https:` where it was started with TLS. */
  readonly url: string
  readonly #directory: string
  readonly #healthUrl: string
  readonly #peerUrl: string
  readonly #flags: readonly string[]
  #child: ChildProcess | undefined
  readonly #killOnExit = (): void => {
    this.#child?.kill('SIGKILL')
  }

  private constructor(
    directory: string,
    scheme: 'http' | 'https',
    [clientPort, peerPort, healthPort]: readonly number[],
    flags: readonly string[],
  ) {
    this.#directory = directory
    this.url = `${scheme}://127.0.0.1:${clientPort}`
    this.#peerUrl = `http://127.0.0.1:${peerPort}`
    this.#healthUrl = `http://127.0.0.1:${healthPort}`
    this.#flags = flags
    process.once('exit', this.#killOnExit)
  }

  static async start(flags: readonly string[] = []): Promise<EtcdProcess> {
    const directory = await mkdtemp(join(tmpdir(), 'causeway-etcd-'))
    return await EtcdProcess.#startOnFreePorts(directory, 'http', flags)
  }

  /** Ports that were free a moment ago may be somebody else's by now: then others are tried. */
  static async #startOnFreePorts(
    directory: string,
    scheme: 'http' | 'https',
    flags: readonly string[],
  ): Promise<EtcdProcess> {
    for (let attempt = 1; ; attempt += 1) {
      const etcd = new EtcdProcess(directory, scheme, await freePorts(), flags)
      try {
        await etcd.restart()
        return etcd
      } catch (error) {
        await etcd.kill()
        process.removeListener('exit', etcd.#killOnExit)
        if (attempt === maxStarts || !String(error).includes('address already in use')) throw error
      }
    }
  }

  /** With TLS, and asking for a client certificate; one certificate, which signs itself, serves both sides. */
  static async startWithTls(): Promise<{ etcd: EtcdProcess; certificate: Buffer; key: Buffer }> {
    const directory = await mkdtemp(join(tmpdir(), 'causeway-etcd-'))
    await promisify(execFile)('openssl', selfSigning.split(' '), { cwd: directory })
    const flags = ['--cert-file=tls.crt', '--key-file=tls.key', '--trusted-ca-file=tls.crt', '--client-cert-auth']
    const etcd = await EtcdProcess.#startOnFreePorts(directory, 'https', flags)
    const [certificate, key] = await Promise.all(['tls.crt', 'tls.key'].map((name) => readFile(join(directory, name))))
    return { etcd, certificate: certificate as Buffer, key: key as Buffer }
  }

  async restart(): Promise<void> {
    const log = await open(join(this.#directory, 'etcd.log'), 'a')
    this.#child = spawn(binary(), this.#arguments(), { cwd: this.#directory, stdio: ['ignore', log.fd, log.fd] })
    await once(this.#child, 'spawn')
    await log.close()
    const deadlineMs = systemClock.monotonicMs() + readyTimeoutMs
    while (!(await isHealthy(this.#healthUrl))) {
      const late = systemClock.monotonicMs() > deadlineMs
      if (late || this.#child.exitCode !== null) throw new Error(`etcd is not ready: ${await this.#logTail()}`)
      await systemClock.sleep(readyPollMs)
    }
  }

  async kill(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  async stop(): Promise<void> {
    await this.kill()
    process.removeListener('exit', this.#killOnExit)
    removeFolder(this.#directory)
  }

  #arguments(): string[] {
    return [
      `--data-dir=${join(this.#directory, 'data')}`,
      `--listen-client-urls=${this.url}`,
      `--advertise-client-urls=${this.url}`,
      `--listen-peer-urls=${this.#peerUrl}`,
      `--initial-advertise-peer-urls=${this.#peerUrl}`,
      `--initial-cluster=default=${this.#peerUrl}`,
      `--listen-metrics-urls=${this.#healthUrl}`,
      '--unsafe-no-fsync=true',
      ...this.#flags,
    ]
  }

  async #logTail(): Promise<string> {
    return (await readFile(join(this.#directory, 'etcd.log'), 'utf8')).slice(-logTailBytes)
  }
}

function binary(): string {
  return join(peersDirectory(), 'etcd')
}

async function isHealthy(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health`)).ok
  } catch {
    return false
  }
}

function freePorts(): Promise<number[]> {
  return Promise.all([freePort(), freePort(), freePort()])
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as { port: number }
  await once(listener.close(), 'close')
  return port
}
