/** Builds and starts the Go program in `endpoint-transparency-kubelet/`: a kubelet for kubectl to talk to, without containers. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'
import { removeFolder } from '../remove-folder.ts'
import { type ControlPlane, Daemon } from './control-plane.ts'

const name = 'endpoint-transparency-kubelet'

export type BuiltKubelet = { readonly program: string; remove(): void } | { readonly missing: string }

export function buildKubelet(): BuiltKubelet {
  const directory = mkdtempSync(join(tmpdir(), `${name}-`))
  const remove = (): void => removeFolder(directory)
  const program = join(directory, 'kubelet')
  const options = { cwd: fileURLToPath(new URL(name, import.meta.url)), env: { ...process.env, CGO_ENABLED: '0' } }
  const { status, error, stderr } = spawnSync('go', ['build', '-o', program, '.'], { ...options, encoding: 'utf8' })
  if (status === 0) return { program, remove }
  remove()
  return { missing: `kubelet for kubectl to talk to (${(error?.message ?? stderr).split('\n')[0]})` }
}

const startPatience = { timeout: 60_000 }

export class PlayedKubelet {
  /** Where everything runs that is to be executed. */
  readonly folder: string
  readonly port: number
  readonly #daemon: Daemon

  private constructor(folder: string, port: number, daemon: Daemon) {
    this.folder = folder
    this.port = port
    this.#daemon = daemon
  }

  /** With the certificate of the API server, which the API server does not mind to meet there. */
  static async start(program: string, plane: ControlPlane): Promise<PlayedKubelet> {
    const folder = mkdtempSync(join(tmpdir(), `${name}-`))
    const pair = ['apiserver.crt', 'apiserver.key'].map((file) => join(plane.directory, file))
    const daemon = await Daemon.start('kubelet', folder, pair, program)
    const port = await vi.waitFor(() => {
      const [, found] = /^(\d+)\n/.exec(said(folder)) ?? []
      if (found === undefined) throw new Error(`no port: ${said(folder)}`)
      return Number(found)
    }, startPatience)
    return new PlayedKubelet(folder, port, daemon)
  }

  /** Everything it has printed. */
  get said(): string {
    return said(this.folder)
  }

  async stop(): Promise<void> {
    await this.#daemon.kill()
    removeFolder(this.folder)
  }
}

function said(folder: string): string {
  return readFileSync(join(folder, 'kubelet.log'), 'utf8')
}
