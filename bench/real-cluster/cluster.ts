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
  readonly admin: Admin
  /** Of service accounts, one for each pod that plays client. */
  readonly tokens: readonly string[]
  /** Approves whatever asks for a certificate until the work is done, as the controllers of OpenYurt would. */
  approveDuring<T>(work: Promise<T>): Promise<T>
  stop(): Promise<void>
}

/** What a bench wants of its cluster. */
export interface ClusterWish {
  /** How many pods will play client at a time. */
  readonly clients: number
  /** Makes what this bench reads besides the objects of every bench; the folder has the API server's certificates. */
  readonly seedMore?: (admin: Admin, directory: string) => Promise<void>
}

export async function startCluster({ clients, seedMore }: ClusterWish): Promise<BenchCluster> {
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
    await seed(admin)
    await seedMore?.(admin, plane.directory)
    const tokens = await makeTokens(admin, clients)
    return { plane, admin, tokens, approveDuring: (work) => approveDuring(plane, admin, work), stop }
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
