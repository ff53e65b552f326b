/** Our built server beside a real one: the same administrator, and nobody at work but the API server itself. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { REPLACEABLE_CONTROLLERS } from '../../../src/apiserver/controllers/replaceable.ts'
import { removeFolder } from '../../remove-folder.ts'
import type { ControlPlane } from '../harness.ts'

const command = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url))

export interface OwnServer {
  readonly kubeconfigFile: string
  stop(): Promise<void>
}

export async function startOwnServer(real: ControlPlane): Promise<OwnServer> {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-twin-'))
  const tokens = join(folder, 'tokens.csv')
  await writeFile(tokens, await readFile(join(real.directory, 'tokens.csv')))
  const child = spawn(process.execPath, [command, 'apiserver', ...flags(folder, tokens)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await urlOf(child)
  const kubeconfigFile = join(folder, 'twin.kubeconfig')
  const config = await readFile(real.kubeconfigFile, 'utf8')
  await writeFile(kubeconfigFile, config.replace(real.server, url).replace(real.caFile, join(folder, 'data', 'ca.crt')))
  return {
    kubeconfigFile,
    async stop() {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
      removeFolder(folder)
    },
  }
}

/** No controller runs beside the real server, and its pods need no ServiceAccount. */
function flags(folder: string, tokens: string): string[] {
  return [
    ...['--data-dir', join(folder, 'data'), '--storage', 'memory'],
    ...['--secure-port', '0', '--health-address', '127.0.0.1:0', '--token-auth-file', tokens],
    ...['--skip-controllers', REPLACEABLE_CONTROLLERS.join(','), '--disable-admission-plugins', 'ServiceAccount'],
  ]
}

async function urlOf(child: ChildProcess): Promise<string> {
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`causeway ended with ${String(code)}`)))
  ended.catch(() => {})
  let printed = ''
  while (child.stdout !== null && !/^ready /m.test(printed)) {
    const [text] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer]
    printed += text.toString()
  }
  return /https:\S+/.exec(printed)?.[0] ?? ''
}
