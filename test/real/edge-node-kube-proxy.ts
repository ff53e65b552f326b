/**
 * kube-proxy as kubeadm installs it: a pod in the network of the node, whose kubeconfig comes from a ConfigMap and names
 * an API server that this node does not reach. It borrows `nft` from this machine.
 */
import { existsSync } from 'node:fs'
import { kubectl } from './control-plane.ts'
import type { EdgeNode } from './edge-node.ts'
import { Pod } from './edge-node-pods.ts'
import { NODE_NAME } from './tunnel-cluster.ts'

const account = '/var/run/secrets/kubernetes.io/serviceaccount'

const configuration = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clientConnection:
  kubeconfig: /config/kubeconfig.conf
conntrack:
  maxPerCore: 0
  min: 0
`
const kubeconfig = `apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: ${account}/ca.crt
    server: https://control-plane.example:6443
  name: default
contexts:
- context:
    cluster: default
    namespace: default
    user: default
  name: default
current-context: default
users:
- name: default
  user:
    tokenFile: ${account}/token
`

/** What an installer puts into the cluster, once for all nodes. */
export async function installKubeProxy(node: EdgeNode): Promise<void> {
  const namespace = 'kube-system'
  await node.kubectl('create', 'serviceaccount', 'kube-proxy', '-n', namespace)
  const rights = ['--clusterrole=system:node-proxier', `--serviceaccount=${namespace}:kube-proxy`]
  await node.kubectl('create', 'clusterrolebinding', 'kube-proxy', ...rights)
  const data = { 'config.conf': configuration, 'kubeconfig.conf': kubeconfig }
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kube-proxy', namespace }, data }
  await kubectl(node.world.plane, ['create', '-f', '-'], JSON.stringify(object))
}

/** What a DaemonSet makes of it on this node. */
export async function runKubeProxyPod(node: EdgeNode): Promise<Pod> {
  const flags = ['--config=/config/config.conf', `--hostname-override=${NODE_NAME}`, '--v=2']
  return await Pod.run(node, 'kube-proxy', {
    namespace: 'kube-system',
    hostNetwork: true,
    serviceAccountName: 'kube-proxy',
    configMap: 'kube-proxy',
    folders: ['/usr', '/lib', '/lib64'].filter((folder) => existsSync(folder)),
    env: { PATH: '/bin:/usr/sbin' },
    container: { command: ['/peers/kube-proxy', ...flags], securityContext: { privileged: true } },
  })
}
