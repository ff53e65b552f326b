/** Which kind of namespace this user may make: found out by making one, since kernels and distributions forbid it in many ways. */
import { execFile } from 'node:child_process'
import { CommandError } from '../failure.ts'
import { type NamespaceKind, namespaceCommand, type Preparation } from './mount-script.ts'

/** A few mounts; longer means that something below /run does not answer. */
const NAMESPACE_PROBE_TIMEOUT_MS = 10_000

/** Resolves with what the command said on stderr if it failed, and with nothing if it did not. */
export type Attempt = (command: readonly string[]) => Promise<string | undefined>

export const attemptCommand: Attempt = (command) => {
  const [program = '', ...args] = command
  return new Promise((resolve) => {
    execFile(program, args, { timeout: NAMESPACE_PROBE_TIMEOUT_MS }, (error, _stdout, stderr) => {
      if (error === null) return resolve(undefined)
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
      const said = stderr.trim().replaceAll(/\s+/g, ' ')
      resolve(isMissing ? `there is no ${program} command` : said || error.message.split('\n', 1)[0])
    })
  })
}

const titles: Readonly<Record<NamespaceKind, string>> = {
  root: 'a mount namespace',
  user: 'an unprivileged user namespace',
}

/** Root first tries without a user namespace, in which much that root may do is forbidden. */
export async function findNamespaceKind(preparation: Preparation, attempt: Attempt): Promise<NamespaceKind> {
  const kinds: readonly NamespaceKind[] = preparation.userId === 0 ? ['root', 'user'] : ['user']
  const problems: string[] = []
  for (const kind of kinds) {
    const problem = await attempt(namespaceCommand(kind, preparation, ['true']))
    if (problem === undefined) return kind
    problems.push(`${titles[kind]}: ${problem}`)
  }
  throw new CommandError(
    `the files of a pod cannot be shown to the program here (${problems.join('; ')}); ` +
      'run as root, or use --kubeconfig-only, which works everywhere for programs that take a kubeconfig',
  )
}
