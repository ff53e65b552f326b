/** Runs the Go tool and says in a few lines why it failed. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const reasonLines = 8
const maxOutputBytes = 64 * 1024 * 1024
const downloadFailure =
  /dial tcp|no such host|i\/o timeout|TLS handshake|connection refused|\b(403|404|410) |proxyconnect/
const run = promisify(execFile)

export class GoError extends Error {}

export async function hasGo(): Promise<boolean> {
  return await run('go', ['version']).then(
    () => true,
    () => false,
  )
}

/** What it printed. Linked statically, so that the program runs in a container of another system too. */
export async function go(folder: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '-mod=mod' }
  try {
    return (await run('go', args, { cwd: folder, env, maxBuffer: maxOutputBytes })).stdout
  } catch (error) {
    const { stdout, stderr, message } = error as Error & { stdout?: string; stderr?: string }
    // With -json it says on its standard output what is wrong.
    throw new GoError(`go ${args.join(' ')}\n    ${reason(stderr || stdout || message).join('\n    ')}`, {
      cause: error,
    })
  }
}

function reason(output: string): string[] {
  const hint = downloadFailure.test(output)
    ? ['a download failed: check the network, and what `go env GOPROXY` says']
    : []
  return [...output.trim().split('\n').slice(-reasonLines), ...hint]
}
