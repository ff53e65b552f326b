/**
 * `causeway run`: any program, unmodified, as a pod on an edge would run it.
 */
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { KubeClient } from '../kube/client/client.ts'
import type { CommandContext } from './context.ts'
import { askRole } from './control-client.ts'
import { connectionOf } from './kube-connection.ts'
import { AccountFolder } from './run/account-folder.ts'
import { adminKubeconfigOf } from './run/admin-kubeconfig.ts'
import { isInForeground, ProgramEnded, SignalRelay } from './run/child.ts'
import { chooseEdge, type EndpointAddress, endpointOf, endpointUrl } from './run/edge-endpoint.ts'
import { folderToHide, kubeconfigEnvironment, podEnvironment } from './run/environment.ts'
import { FreshAccount } from './run/fresh-account.ts'
import { ACCOUNT_FOLDER, namespaceCommand } from './run/mount-script.ts'
import { attemptCommand, findNamespaceKind } from './run/namespaces.ts'
import { programProblem } from './run/program-path.ts'
import { type AccountName, fetchAccount, parseAccountName } from './run/service-account.ts'

const HELP = `
The program finds what a pod on that edge finds: token, ca.crt and namespace in
${ACCOUNT_FOLDER}, and the endpoint of the
edge in KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. The token comes
from a TokenRequest with --kubeconfig and is renewed while the program runs.
Input, output, signals and the exit code are those of the program.

Only the program sees those files: they are mounted in a namespace of its own.
That takes root, or a kernel that lets users make namespaces; --kubeconfig-only
works everywhere, for programs that take a kubeconfig.

As in a pod there is no other kubeconfig: KUBECONFIG is not passed on, and
~/.kube looks empty if it has a config. Where /var/run/secrets does not exist,
new entries the program makes directly in /run are its own too.

Examples:
  causeway run -- kubectl get pods
  causeway run --node edge-1 --service-account shop/cart -- python3 cart.py
  causeway run --kubeconfig-only -- helm list
`

interface RunFlags {
  readonly node?: string
  readonly serviceAccount: string
  readonly dataDir: string
  readonly kubeconfig?: string
  readonly kubeconfigOnly?: boolean
}

export function addRunCommand(program: Command, context: CommandContext): void {
  program
    .command('run')
    .description('run a program as a pod on an edge would run')
    .usage('[options] -- <program> [arguments...]')
    .showHelpAfterError('(put -- before the program: causeway run -- kubectl get pods -A; see --help)')
    .argument('<program...>', 'the program and its arguments')
    .option('--node <name>', 'the edge; without it the only one of the data folder')
    .option('--service-account <namespace/name>', 'who the program is', 'default/default')
    .option('--data-dir <path>', 'folder of the running edge, or of "causeway up"', '.causeway')
    .option('--kubeconfig <path>', 'how to ask for tokens; without it admin.kubeconfig in the data folder')
    .option('--kubeconfig-only', 'give the program a kubeconfig in KUBECONFIG, and no files of a pod')
    .addHelpText('after', HELP)
    .action(async (command: readonly string[], flags: RunFlags) => {
      throw new ProgramEnded(await runAsPod(context, command, flags))
    })
}

async function runAsPod(context: CommandContext, command: readonly string[], flags: RunFlags): Promise<number> {
  const { environment, workingDir, stderr } = context
  const account = parseAccountName(flags.serviceAccount)
  const problem = programProblem(command[0] ?? '', environment['PATH'] ?? '', workingDir)
  if (problem !== undefined) {
    stderr.write(`error: ${problem.message}\n`)
    return problem.exitCode
  }
  const dataDir = resolve(workingDir, flags.dataDir)
  const kubeconfig = kubeconfigOf(flags, dataDir, workingDir)
  const endpoint = endpointOf(chooseEdge(await askRole(dataDir, '/v1/status'), flags.node, dataDir))
  const client = new KubeClient(await connectionOf(context, kubeconfig), { clock: context.clock })
  const relay = new SignalRelay(context.signals, isInForeground)
  try {
    return await withAccount({ context, client, account, relay }, async (folder, signal) => {
      const start = { context, folder, endpoint, command }
      const ready = flags.kubeconfigOnly === true ? await withKubeconfig(start, account) : await inNamespace(start)
      signal.throwIfAborted()
      return await relay.run(ready.command, ready.environment, workingDir)
    })
  } catch (error) {
    // What was under way may have failed in other words.
    relay.signal.throwIfAborted()
    throw error
  } finally {
    relay.release()
    await client.close()
  }
}

function kubeconfigOf({ kubeconfig }: RunFlags, dataDir: string, workingDir: string): string {
  return kubeconfig === undefined ? adminKubeconfigOf(dataDir) : resolve(workingDir, kubeconfig)
}

interface AccountWork {
  readonly context: CommandContext
  readonly client: KubeClient
  readonly account: AccountName
  readonly relay: SignalRelay
}

/** The files are fresh while `work` runs, and gone when it has ended, however it ends. */
async function withAccount(
  { context, client, account, relay }: AccountWork,
  work: (folder: AccountFolder, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const { clock, stderr, environment } = context
  const first = await fetchAccount(client, account, relay.signal)
  const folder = await AccountFolder.make(environment['TMPDIR'] || tmpdir())
  try {
    await folder.write(first)
    const fresh = new FreshAccount(first, {
      clock,
      fetch: (signal) => fetchAccount(client, account, signal),
      write: (files) => folder.write(files),
      warn: (message) => stderr.write(`causeway run: ${message}\n`),
    })
    try {
      return await work(folder, relay.signal)
    } finally {
      await fresh.stop()
    }
  } finally {
    await folder.remove()
  }
}

interface Start {
  readonly context: CommandContext
  readonly folder: AccountFolder
  readonly endpoint: EndpointAddress
  readonly command: readonly string[]
}

async function withKubeconfig({ context, folder, endpoint, command }: Start, { namespace }: AccountName) {
  await folder.writeKubeconfig(endpointUrl(endpoint), namespace)
  return { command, environment: kubeconfigEnvironment(context.environment, folder.kubeconfig, endpoint.host) }
}

async function inNamespace({ context, folder, endpoint, command }: Start) {
  const { environment } = context
  const preparation = {
    files: folder.files,
    stage: folder.stage,
    target: ACCOUNT_FOLDER,
    hidden: folderToHide(environment),
    userId: process.getuid?.() ?? -1,
    groupId: process.getgid?.() ?? -1,
  }
  const kind = await findNamespaceKind(preparation, attemptCommand)
  return { command: namespaceCommand(kind, preparation, command), environment: podEnvironment(environment, endpoint) }
}
