/** The connection a program means when it says nothing: the user's kubeconfig, else the pod it runs in. */
import { existsSync } from 'node:fs'
import { type ConnectionConfig, ConnectionConfigError } from './connection.ts'
import { isInCluster, loadInClusterConfig } from './in-cluster.ts'
import { type KubeconfigOptions, kubeconfigFiles, loadKubeconfig } from './kubeconfig.ts'

export async function loadConnection(options: KubeconfigOptions = {}): Promise<ConnectionConfig> {
  const files = kubeconfigFiles(options)
  if (options.file !== undefined || files.some((file) => existsSync(file))) return await loadKubeconfig(options)
  if (isInCluster(options.environment)) {
    return await loadInClusterConfig({ environment: options.environment })
  }
  throw new ConnectionConfigError(
    `no API server configured: neither ${files.join(' nor ')} exists nor is this a pod; set KUBECONFIG`,
  )
}
