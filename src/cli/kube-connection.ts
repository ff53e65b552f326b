/** Which API server a command talks to, with errors a person can act on. */
import type { Command } from 'commander'
import { DEFAULT_NAMESPACE } from '../hub/cluster/names.ts'
import { KubeClient } from '../kube/client/client.ts'
import { type ConnectionConfig, ConnectionConfigError } from '../kube/client/connection.ts'
import { loadConnection } from '../kube/client/default-connection.ts'
import type { CommandContext } from './context.ts'
import { UsageError } from './failure.ts'

/** `file`, else KUBECONFIG, else the user's own kubeconfig, else the pod this runs in. */
export async function connectionOf(
  { environment }: Pick<CommandContext, 'environment'>,
  file: string | undefined,
): Promise<ConnectionConfig> {
  try {
    return await loadConnection({ environment, ...(file === undefined ? {} : { file }) })
  } catch (error) {
    if (error instanceof ConnectionConfigError)
      throw new UsageError(`${error.message}; name one with --kubeconfig`, { cause: error })
    throw error
  }
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
    .option('--namespace <name>', "the hub's namespace", DEFAULT_NAMESPACE)
}

export async function withClient(
  context: CommandContext,
  { kubeconfig }: ClusterFlags,
  work: (client: KubeClient) => Promise<void>,
): Promise<void> {
  const client = new KubeClient(await connectionOf(context, kubeconfig), { clock: context.clock })
  try {
    await work(client)
  } finally {
    await client.close()
  }
}
