/** Asks the registry, through npm itself, for the hash of a published package: whoever installs it then checks it. */
import { spawnSync } from 'node:child_process'

const integrityForm = /^sha(256|384|512)-[A-Za-z0-9+/]+={0,2}$/
const askTimeoutMs = 120_000

/** Of `name@version`; `undefined` if the registry does not know it. Throws if it could not be asked. */
export function publishedIntegrity(what: string): string | undefined {
  const { error, stdout } = spawnSync('npm', ['view', what, 'dist.integrity', '--json'], {
    encoding: 'utf8',
    timeout: askTimeoutMs,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  if (error !== undefined) throw error
  return readIntegrity(what, stdout)
}

/** npm prints nothing at all for an unknown version of a known package, and an error as JSON for an unknown package. */
export function readIntegrity(what: string, printed: string): string | undefined {
  const answer: unknown = printed.trim() === '' ? undefined : JSON.parse(printed)
  if (answer === undefined) return undefined
  if (typeof answer === 'string' && integrityForm.test(answer)) return answer
  const { code, summary } = (answer as { error?: { code?: string; summary?: string } }).error ?? {}
  if (code === 'E404') return undefined
  throw new Error(`npm could not say what the integrity of ${what} is: ${summary ?? printed.trim()}`)
}
