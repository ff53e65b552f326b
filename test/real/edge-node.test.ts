/** A real node whose only API server is the endpoint: its kubelet, its pods, and what they notice when the edge stumbles. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { peersDirectory } from './control-plane.ts'
import { EdgeNode, PATIENCE, prepareEdgeNode } from './edge-node.ts'
import { installKubeProxy, runKubeProxyPod } from './edge-node-kube-proxy.ts'
import { CLUSTER_IP, Pod, SERVICE_NAME } from './edge-node-pods.ts'
import { describeReal } from './harness.ts'
import { NODE_NAME } from './tunnel-cluster.ts'

const endpoint = { host: '169.254.30.10', port: '10550' }
const ownAccount = 'system:serviceaccount:default:default'

const { image, missing } = prepareEdgeNode()

let node: EdgeNode
let pod: Pod

async function heartbeat(): Promise<string> {
  const path = 'jsonpath={.spec.renewTime}'
  return await node.kubectl('get', 'lease', NODE_NAME, '-n', 'kube-node-lease', '-o', path)
}

describeReal(
  'a node to which the endpoint is the API server',
  () => {
    beforeAll(async () => {
      node = new EdgeNode(image)
      await node.start()
      await node.startEdge()
      await node.untilServed()
    }, 300_000)
    afterAll(async () => {
      await node?.stop()
    }, 300_000)

    it('a kubelet joins with the certificate that the edge keeps for it', async () => {
      await node.startKubelet()
      await node.untilReady()
    })

    it('a pod is told the endpoint, and is itself there', async () => {
      pod = await Pod.run(node, 'own-network')
      expect(await pod.env()).toEqual(endpoint)
      expect(await pod.whoami()).toBe(ownAccount)
    })

    it('so is a pod in the network of the node', async () => {
      const hostPod = await Pod.run(node, 'host-network', { hostNetwork: true })
      expect(await hostPod.env()).toEqual(endpoint)
      expect(await hostPod.whoami()).toBe(ownAccount)
    })

    it('a pod that names another API server in its variables is led to the endpoint', async () => {
      const env = { KUBERNETES_SERVICE_HOST: CLUSTER_IP, KUBERNETES_SERVICE_PORT: '443' }
      const literal = await Pod.run(node, 'literal', { env })
      expect(await literal.env()).toEqual(endpoint)
      expect(await literal.whoami()).toBe(ownAccount)
    })

    it('a pod with a wrong token is nobody there', async () => {
      const at = ['--server', `https://${endpoint.host}:${endpoint.port}`]
      const trust = ['--certificate-authority', '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt']
      const wrong = [...at, ...trust, '--token', 'no such token']
      await expect(pod.exec('/peers/kubectl', ...wrong, 'get', '--raw', '/api')).rejects.toThrow('(Unauthorized)')
    })

    it('logs and commands come back from the cloud through the same tunnel', async () => {
      await vi.waitFor(async () => expect(await node.kubectl('logs', 'own-network')).toContain('tick 1\n'), PATIENCE)
      expect(await pod.exec('cat', '/etc/hosts')).toContain(SERVICE_NAME)
    })

    it('an administrator on the node gets into a pod through the endpoint to the cloud and back', async () => {
      const asAdmin = [
        '--kubeconfig',
        node.world.plane.kubeconfigFile,
        '--server',
        `https://${endpoint.host}:${endpoint.port}`,
      ]
      const ask = async (...args: string[]) =>
        (await node.network.run(join(peersDirectory(), 'kubectl'), ...asAdmin, ...args)).stdout
      expect(await ask('exec', 'own-network', '--', 'cat', '/etc/hosts')).toContain(SERVICE_NAME)
      expect(await ask('logs', 'own-network', '--limit-bytes=7')).toBe('tick 1\n')
    })

    it('an edge that dies and comes back finds everything as it was', async () => {
      await vi.waitFor(heartbeat, PATIENCE)
      await node.edge.kill()
      await expect(node.kubectlOnNode('kubelet.kubeconfig', 'version')).rejects.toThrow('refused')
      const before = await heartbeat()
      await node.startEdge()
      await node.untilServed()
      await vi.waitFor(async () => expect(await heartbeat()).not.toBe(before), PATIENCE)
      await vi.waitFor(async () => expect(await pod.whoami()).toBe(ownAccount), PATIENCE)
      expect(await pod.restarts()).toBe('0')
    })

    it('a hub that dies and comes back is a pause for clients, and no failure', async () => {
      const startHub = await node.killHub()
      const asked = node.kubectlOnNode('kubelet.kubeconfig', 'get', '--raw', '/readyz', '--request-timeout=60s')
      const [answer] = await Promise.all([asked, startHub()])
      expect(answer).toBe('ok')
      const before = await heartbeat()
      await vi.waitFor(async () => expect(await heartbeat()).not.toBe(before), PATIENCE)
      await vi.waitFor(async () => expect(await pod.whoami()).toBe(ownAccount), PATIENCE)
    })

    it('an interface that somebody deletes comes back, and the endpoint with it', async () => {
      await node.network.run('ip', 'link', 'delete', 'edge-dummy0')
      await vi.waitFor(async () => {
        const { stdout } = await node.network.run('ip', 'address', 'show', 'dev', 'edge-dummy0')
        expect(stdout).toContain(endpoint.host)
      }, PATIENCE)
      await vi.waitFor(async () => expect(await pod.whoami()).toBe(ownAccount), PATIENCE)
    })

    it('nothing on the node has ever tried another way to the cloud', async () => {
      expect(await node.network.strangers()).toBe(0)
    })

    it('kube-proxy in a pod is led to the endpoint by its ConfigMap, and then leads the ClusterIP there', async () => {
      await installKubeProxy(node)
      const kubeProxy = await runKubeProxyPod(node)
      expect(await kubeProxy.exec('cat', '/config/kubeconfig.conf')).toContain('server: https://169.254.30.10:10550')
      await node.untilTranslated()
      for (const host of [CLUSTER_IP, SERVICE_NAME]) expect(await pod.whoami({ host, port: '443' })).toBe(ownAccount)
      expect(await pod.whoami()).toBe(ownAccount)
    })

    it('an edge that is stopped takes its interface with it', async () => {
      await node.stopEdge()
      expect((await node.network.run('ip', '-brief', 'link')).stdout).not.toContain('edge-dummy0')
    })
  },
  ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl', 'kubelet'],
  missing,
)
