/** A real control plane with its signers, prepared for hubs that have the rights of deploy/hub-rbac.yaml and no more. */
import { join } from 'node:path'
import { vi } from 'vitest'
import { endAll } from '../e2e/harness.ts'
import { HubCluster } from '../e2e/hub-cluster.ts'
import { type ControlPlane, type ControlPlaneOptions, Daemon, kubectl, startControlPlane } from './control-plane.ts'

export const HUB_NAMESPACE = 'causeway-system'
export const HUB_USER = `system:serviceaccount:${HUB_NAMESPACE}:causeway-hub`

const rightsPatience = { timeout: 60_000, interval: 50 }

export interface HubPlane {
  readonly plane: ControlPlane
  readonly cluster: HubCluster
  stop(): Promise<void>
}

export async function startHubPlane(...apiServerFlags: string[]): Promise<HubPlane> {
  return await startHubPlaneWith({ apiServerFlags })
}

export interface HubPlaneOptions extends ControlPlaneOptions {
  /** Controllers to run besides those that sign certificates. */
  readonly controllers?: readonly string[]
}

export async function startHubPlaneWith(options: HubPlaneOptions): Promise<HubPlane> {
  const plane = await startControlPlane(options)
  await applyHubRights(plane)
  const signers = await Daemon.start('kube-controller-manager', plane.directory, [
    `--kubeconfig=${plane.kubeconfigFile}`,
    `--controllers=${['csrsigning', 'csrapproving', ...(options.controllers ?? [])].join()}`,
    `--cluster-signing-cert-file=${plane.caFile}`,
    `--cluster-signing-key-file=${join(plane.directory, 'ca.key')}`,
    '--leader-elect=false',
    '--secure-port=0',
  ])
  const hubKubeconfig = await writeHubKubeconfig(plane)
  const cluster = await HubCluster.at({ admin: plane.kubeconfigFile, hub: hubKubeconfig })
  const stop = async (): Promise<void> => {
    await cluster.close()
    await endAll()
    await signers.kill()
    await plane.stop()
  }
  return { plane, cluster, stop }
}

/** The API server believes in roles and bindings a moment after they were made. */
export async function applyHubRights(plane: ControlPlane): Promise<void> {
  await kubectl(plane, ['apply', '-f', join(import.meta.dirname, '../../deploy/hub-rbac.yaml')])
  const rights = [
    ['update', 'secrets', '-n', HUB_NAMESPACE],
    ['get', 'services/kubernetes', '-n', 'default'],
    ['watch', 'certificatesigningrequests'],
    ['watch', 'apiservices'],
  ]
  for (const right of rights)
    await vi.waitFor(() => kubectl(plane, ['auth', 'can-i', ...right, `--as=${HUB_USER}`]), rightsPatience)
}

/** With a token of the ServiceAccount, as a pod would have one. */
async function writeHubKubeconfig(plane: ControlPlane): Promise<string> {
  const file = join(plane.directory, 'hub.kubeconfig')
  const token = await kubectl(plane, ['create', 'token', 'causeway-hub', '-n', HUB_NAMESPACE, '--duration=1h'])
  const set = (...args: string[]): Promise<string> => kubectl({ kubeconfigFile: file }, ['config', ...args])
  await set('set-cluster', 'real', `--server=${plane.server}`, `--certificate-authority=${plane.caFile}`)
  await set('set-credentials', 'hub', `--token=${token.trim()}`)
  await set('set-context', 'real', '--cluster=real', '--user=hub')
  await set('use-context', 'real')
  return file
}
