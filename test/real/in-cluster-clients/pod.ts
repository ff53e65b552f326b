/**
 * Runs a program as a pod sees the world: the service account's three files at their place, two variables, an empty home.
 * The files stand in a mount namespace of the program's own, so nothing on this machine changes.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { removeFolder } from '../../remove-folder.ts'

export interface Pod {
  readonly host: string
  readonly port: number
  readonly caPem: string
  readonly token: string
  readonly namespace: string
  readonly command: readonly string[]
  /** Where programs are looked for. */
  readonly path: string
}

/** A line of a program's output; the suite that uses them says which steps there are. */
export interface Line {
  readonly step: string
  readonly [field: string]: unknown
}

/** Others than root get the right to mount together with a user namespace. */
const unshare = ['--mount', ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'])]
const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'
const enterPod = `
mount -t tmpfs none /var/run
mkdir -p ${accountFolder}
mount --bind "$1" ${accountFolder}
shift
exec "$@"`

/** What this machine lacks to run a program as a pod. */
export function missingForPods(): string[] {
  return spawnSync('unshare', [...unshare, 'true']).status === 0 ? [] : ['right to make a mount namespace']
}

export class PodProcess {
  readonly #child: ChildProcess
  readonly #directory: string
  readonly #lines: AsyncIterator<string>
  readonly #errors: Promise<string>
  readonly #exited: Promise<number | null>
  /** Everything it said so far. */
  readonly transcript: Line[] = []

  private constructor(child: ChildProcess, directory: string) {
    if (child.stdout === null || child.stderr === null) throw new Error('the program was started without pipes')
    this.#child = child
    this.#directory = directory
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    this.#errors = text(child.stderr)
    this.#exited = new Promise((resolve) => child.once('exit', resolve))
  }

  static async start(pod: Pod): Promise<PodProcess> {
    const directory = await mkdtemp(join(tmpdir(), 'causeway-pod-'))
    const account = join(directory, 'account')
    const home = join(directory, 'home')
    await Promise.all([mkdir(account), mkdir(home)])
    // As the kubelet writes them: several client libraries fail at a trailing newline.
    const files = { token: pod.token, namespace: pod.namespace, 'ca.crt': pod.caPem }
    for (const [name, content] of Object.entries(files)) await writeFile(join(account, name), content)
    const child = spawn('unshare', [...unshare, 'sh', '-ec', enterPod, 'pod', account, ...pod.command], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group of its own, to be ended as one.
      detached: true,
      env: {
        PATH: pod.path,
        HOME: home,
        KUBERNETES_SERVICE_HOST: pod.host,
        KUBERNETES_SERVICE_PORT: String(pod.port),
      },
    })
    return new PodProcess(child, directory)
  }

  /** Reads on until it says that step; fails with its errors when it ends before. */
  async until(step: string): Promise<Line> {
    for (;;) {
      const { value, done } = await this.#lines.next()
      if (done === true) throw new Error(`the program ended before "${step}": ${await this.#errors}`)
      const line = JSON.parse(value) as Line
      this.transcript.push(line)
      if (line.step === step) return line
    }
  }

  /** Its exit code and what it wrote to standard error, once it has ended by itself. */
  async end(): Promise<{ readonly code: number | null; readonly errors: string }> {
    return { code: await this.#exited, errors: await this.#errors }
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null && this.#child.pid !== undefined)
      process.kill(-this.#child.pid, 'SIGKILL')
    await this.#exited
    removeFolder(this.#directory)
  }
}
