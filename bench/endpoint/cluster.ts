/**
 * The real cluster that all ways lead to: etcd, kube-apiserver and the signers of kube-controller-manager. What is read in it
 * is in objects.ts.
 */
import { join } from 'node:path'
import { type ControlPlane, Daemon, kubectl, startControlPlane } from '../../test/real/control-plane.ts'
import { Admin } from './admin.ts'
import { makeTokens, seed } from './objects.ts'

const approvePollMs = 300

export interface BenchCluster {
  readonly plane: ControlPlane
  /** Of service accounts, one for each pod that plays client. */
  readonly tokens: readonly string[]
  /** Approves whatever asks for a certificate until the work is done, as the controllers of OpenYurt would. */
  approveDuring<T>(work: Promise<T>): Promise<T>
  stop(): Promise<void>
}

/** `kubeletPortOf` starts what the API server finds behind the pod of the exec row, given the folder of its certificates. */
export async function startCluster(kubeletPortOf: (directory: string) => Promise<number>): Promise<BenchCluster> {
  const plane = await startControlPlane({
    apiServerFlags: ['--kubelet-client-certificate=admin.crt', '--kubelet-client-key=admin.key'],
  })
  const signers = await startSigners(plane)
  const admin = new Admin(plane)
  const stop = async (): Promise<void> => {
    admin.close()
    await signers.kill()
    await plane.stop()
  }
  try {
    await seed(admin, await kubeletPortOf(plane.directory))
    const tokens = await makeTokens(admin)
    return { plane, tokens, approveDuring: (work) => approveDuring(plane, admin, work), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startSigners({ directory, kubeconfigFile, caFile }: ControlPlane): Promise<Daemon> {
  return await Daemon.start('kube-controller-manager', directory, [
    `--kubeconfig=${kubeconfigFile}`,
    '--controllers=csrsigning,csrapproving',
    `--cluster-signing-cert-file=${caFile}`,
    `--cluster-signing-key-file=${join(directory, 'ca.key')}`,
    '--leader-elect=false',
    '--secure-port=0',
  ])
}

interface RequestList {
  readonly items: readonly { readonly metadata: { readonly name: string }; readonly status: object }[]
}

async function approveDuring<T>(plane: ControlPlane, admin: Admin, work: Promise<T>): Promise<T> {
  const timer = setInterval(() => void approveWaiting(plane, admin).catch(() => {}), approvePollMs)
  try {
    return await work
  } finally {
    clearInterval(timer)
  }
}

/** What fails here is tried again a moment later. */
async function approveWaiting(plane: ControlPlane, admin: Admin): Promise<void> {
  const text = await admin.call('GET', '/apis/certificates.k8s.io/v1/certificatesigningrequests')
  const waiting = (JSON.parse(text) as RequestList).items.filter(({ status }) => !('conditions' in status))
  for (const { metadata } of waiting) await kubectl(plane, ['certificate', 'approve', metadata.name])
}
