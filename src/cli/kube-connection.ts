/** Which API server a command talks to, with errors a person can act on. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { KubeClient } from '../kube/client/client.ts'
import { type ConnectionConfig, ConnectionConfigError } from '../kube/client/connection.ts'
import { loadConnection } from '../kube/client/default-connection.ts'
import { USUAL_HUB_NAMESPACE } from '../protocol/names.ts'
import type { CommandContext } from './context.ts'
import { UsageError } from './failure.ts'

/** Some reasons end where a part follows that is not shown. */
const openEnd = /[\s:;,.]+$/

/** `file`, else KUBECONFIG, else the user's own kubeconfig, else the pod this runs in. `example` is one that could be named. */
export async function connectionOf(
  { environment }: Pick<CommandContext, 'environment'>,
  file: string | undefined,
  example?: string,
): Promise<ConnectionConfig> {
  try {
    return await loadConnection({ environment, file })
  } catch (error) {
    if (!(error instanceof ConnectionConfigError)) throw error
    const wish = file === undefined ? 'name one with --kubeconfig' : 'name another with --kubeconfig'
    const hint = file === undefined && example !== undefined ? `, such as --kubeconfig ${example}` : ''
    throw new UsageError(`${error.message.replace(openEnd, '')}; ${wish}${hint}`, { cause: error })
  }
}

/** The kubeconfig of "causeway up" in this folder, if there is one. Only ever proposed: the user may well mean another cluster. */
function kubeconfigHere(workingDir: string): string | undefined {
  const path = join('.causeway', 'admin.kubeconfig')
  return existsSync(join(workingDir, path)) ? path : undefined
}

export interface ClusterFlags {
  readonly kubeconfig?: string
  readonly namespace: string
}

/** A command that works on the hub's objects in the cluster, with the rights of whoever runs it. */
export function clusterCommand(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .option('--kubeconfig <path>', 'how to reach the API server; without it KUBECONFIG or ~/.kube/config')
    .option('--namespace <name>', "the hub's namespace", USUAL_HUB_NAMESPACE)
}

export async function withClient(
  context: CommandContext,
  { kubeconfig }: ClusterFlags,
  work: (client: KubeClient) => Promise<void>,
): Promise<void> {
  const connection = await connectionOf(context, kubeconfig, kubeconfigHere(context.workingDir))
  const client = new KubeClient(connection, { clock: context.clock })
  try {
    await work(client)
  } finally {
    await client.close()
  }
}
