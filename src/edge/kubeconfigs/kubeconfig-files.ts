/**
 * Kubeconfigs with which the kubelet and kube-proxy of this node reach the API server through the endpoint. They name files
 * and hold no secret themselves: what is renewed is renewed in those files, and Kubernetes clients read them again.
 */
import { join, resolve } from 'node:path'
import { formatAddress } from '../../network/listen.ts'
import { readFileBounded, writeFileAtomically } from '../../runtime/files/atomic-file.ts'
import { diskOperations, type FileOperations } from '../../runtime/files/file-operations.ts'
import { nodePairPaths } from '../certificates/node-pair-files.ts'

export interface KubeconfigPaths {
  readonly kubelet: string
  readonly kubeProxy: string
  readonly kubeProxyToken: string
}

export function kubeconfigPaths(dataDir: string): KubeconfigPaths {
  return {
    kubelet: join(dataDir, 'kubelet.kubeconfig'),
    kubeProxy: join(dataDir, 'kube-proxy.kubeconfig'),
    kubeProxyToken: join(dataDir, 'kube-proxy.token'),
  }
}

export interface KubeconfigsOptions {
  readonly node: string
  readonly dataDir: string
  /** The CA that signed for the endpoint. */
  readonly kubernetesCaFile: string
  /** Where the endpoint listens. */
  readonly host: string
  readonly port: number
  readonly files?: FileOperations
}

/** Writes both where they are missing or say something else. Throws `IdentityError`. */
export async function writeKubeconfigs(options: KubeconfigsOptions): Promise<void> {
  const { node, files = diskOperations } = options
  // A kubelet that is started in another folder resolves nothing against ours.
  const dataDir = resolve(options.dataDir)
  const paths = kubeconfigPaths(dataDir)
  const pair = nodePairPaths(dataDir).client
  const asNode = { 'client-certificate': pair.certificate, 'client-key': pair.key }
  const wanted = [
    [paths.kubelet, kubeconfigText(options, `system:node:${node}`, asNode)],
    [paths.kubeProxy, kubeconfigText(options, 'kube-proxy', { tokenFile: paths.kubeProxyToken })],
  ] as const
  for (const [path, text] of wanted) {
    const present = await readFileBounded(path, { files })
    if (present?.toString('utf8') !== text) await writeFileAtomically(path, text, { files })
  }
}

function kubeconfigText(
  { host, port, kubernetesCaFile }: KubeconfigsOptions,
  userName: string,
  user: Readonly<Record<string, string>>,
): string {
  const server = `https://${formatAddress({ host, port })}`
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'causeway', cluster: { server, 'certificate-authority': resolve(kubernetesCaFile) } }],
    users: [{ name: userName, user }],
    contexts: [{ name: 'causeway', context: { cluster: 'causeway', user: userName } }],
    'current-context': 'causeway',
  }
  return `${JSON.stringify(config, undefined, 2)}\n`
}
