/** The ClusterIP and the name of the API server on a real node, where no variable names the endpoint. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { EdgeNode, PATIENCE, prepareEdgeNode } from './edge-node.ts'
import { CLUSTER_IP, Pod, SERVICE_NAME } from './edge-node-pods.ts'
import { describeReal } from './harness.ts'

const ownAccount = 'system:serviceaccount:default:default'
const withoutVariables = '--disabled-resource-filters=masterservice'
const service = { host: CLUSTER_IP, port: '443' }

const { image, missing } = prepareEdgeNode()

let node: EdgeNode
let pods: readonly Pod[]

/** From pods of both kinds, and from the node itself: by address and by name. */
async function expectServed(): Promise<void> {
  for (const pod of pods) {
    expect(await pod.whoami()).toBe(ownAccount)
    expect(await pod.whoami({ host: SERVICE_NAME, port: '443' })).toBe(ownAccount)
  }
  const server = ['--server', `https://${CLUSTER_IP}`]
  expect(await node.kubectlOnNode('kubelet.kubeconfig', ...server, 'get', '--raw', '/readyz')).toBe('ok')
}

/** On the node itself, where there is nobody to translate. */
async function expectNotServed(): Promise<void> {
  await expect(
    node.kubectlOnNode('kubelet.kubeconfig', '--server', `https://${CLUSTER_IP}`, 'version'),
  ).rejects.toThrow('refused')
}

describeReal(
  'a node whose pods know the API server by its ClusterIP',
  () => {
    beforeAll(async () => {
      node = new EdgeNode(image)
      await node.start()
      await node.startEdge(withoutVariables)
      await node.untilServed()
      await node.stopEdge()
    }, 300_000)
    afterAll(async () => {
      await node?.stop()
    }, 300_000)

    it('boots in any order: kube-proxy needs none of its own rules to get there', async () => {
      await node.startKubeProxy('iptables')
      await node.startKubelet()
      await vi.waitFor(async () => expect(await node.kubeProxy.logTail()).toContain('connection refused'), PATIENCE)
      await expectNotServed()
      await node.startEdge(withoutVariables)
      await node.untilReady()
      await node.untilTranslated()
    })

    it('kube-proxy leads it to the endpoint by iptables', async () => {
      pods = [await Pod.run(node, 'own-network'), await Pod.run(node, 'host-network', { hostNetwork: true })]
      for (const pod of pods) expect(await pod.env()).toEqual(service)
      await expectServed()
    })

    it('and by nftables', async () => {
      await node.stopKubeProxy()
      await expectNotServed()
      await node.startKubeProxy('nftables')
      await node.untilTranslated()
      await expectServed()
    })

    it('without kube-proxy the edge does, and leaves no rule behind', async () => {
      await node.stopKubeProxy()
      await node.stopEdge()
      const before = await node.rules()
      await node.startEdge('--disable-resource-filters=masterservice', '--nat')
      await node.untilServed()
      await node.untilTranslated()
      await expectServed()
      await node.stopEdge()
      expect(await node.rules()).toBe(before)
      await expectNotServed()
    })

    it('both together: a kubelet that is started again tells new pods the endpoint, and the old ones stay served', async () => {
      await node.startEdge('--nat')
      await node.untilServed()
      await node.restartKubelet()
      const told = await Pod.run(node, 'told')
      expect(await told.env()).toEqual({ host: '169.254.30.10', port: '10550' })
      pods = [...pods, told]
      await expectServed()
    })
  },
  ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl', 'kubelet'],
  missing,
)
