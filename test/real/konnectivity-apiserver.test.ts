/** A kube-apiserver that reaches kubelets by the konnectivity front, and a stock agent behind the hub. */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { AgentTokens } from '../../src/hub/konnectivity/agent-tokens.ts'
import { tokenReviewer } from '../../src/hub/konnectivity/token-review.ts'
import { KubeClient } from '../../src/kube/client/client.ts'
import { loadKubeconfig } from '../../src/kube/client/kubeconfig.ts'
import { eventually, serverIdentity } from '../worlds/hub-world.ts'
import { startGrpcFront } from '../worlds/konnectivity-front.ts'
import { startAgentHub } from '../worlds/konnectivity-world.ts'
import { kubectl, startControlPlane } from './control-plane.ts'
import { describeReal } from './harness.ts'
import { missingKonnectivity, startStockAgent, temporaryDirectory } from './konnectivity-peers.ts'

const egress = (socket: string): object => ({
  apiVersion: 'apiserver.k8s.io/v1beta1',
  kind: 'EgressSelectorConfiguration',
  egressSelections: [
    {
      name: 'cluster',
      connection: { proxyProtocol: 'GRPC', transport: { uds: { udsName: socket } } },
    },
  ],
})

/** An address that nobody has: only the way through the front leads to the kubelet. */
const nodeAddress = '10.99.99.1'

const podOf = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: { nodeName: 'edge-1', containers: [{ name: 'c', image: 'x' }] },
})

const objects = (kubeletPort: number): object => ({
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'edge-1' },
      status: {
        addresses: [{ type: 'InternalIP', address: nodeAddress }],
        daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
      },
    },
    podOf('web'),
  ],
})

function suite(): void {
  it('reads 5 MB of logs, again and again, and hears why it cannot', async () => {
    const hub = await startAgentHub()
    const lines = `${'a line of a log '.repeat(8)}\n`.repeat(40_000)
    const identity = await serverIdentity(hub.cluster.ca, hub.clock)
    const kubelet = createServer({ cert: identity.certificatePem, key: identity.privateKeyPem }, (_request, response) =>
      response.end(lines),
    ).listen(0, '127.0.0.1')
    onTestFinished(() => {
      kubelet.closeAllConnections()
      kubelet.close()
    })
    await once(kubelet, 'listening')
    const { port } = kubelet.address() as AddressInfo
    const asked: string[] = []
    const socket = await startGrpcFront((host, askedPort) => {
      asked.push(`${host}:${askedPort}`)
      const route = hub.agents.of('edge-1')
      if (route === undefined) return Promise.reject(new Error('node edge-1 is not connected to this hub'))
      return route.dial({ address: `127.0.0.1:${askedPort}`, deadlineMs: 60_000 })
    })
    const configFile = join(await temporaryDirectory(), 'egress.json')
    await writeFile(configFile, JSON.stringify(egress(socket)))
    const plane = await startControlPlane({ apiServerFlags: [`--egress-selector-config-file=${configFile}`] })
    onTestFinished(() => plane.stop())
    const agent = await startStockAgent({ ...hub, pair: await hub.credential('edge-1') })
    await eventually(() => expect(hub.agents.of('edge-1')).toBeDefined())
    await kubectl(plane, ['create', '-f', '-'], JSON.stringify(objects(port)))
    const insecure = ['logs', 'web', '--insecure-skip-tls-verify-backend']
    for (let count = 0; count < 3; count++) expect((await kubectl(plane, insecure)) === lines).toBe(true)
    expect(new Set(asked)).toEqual(new Set([`${nodeAddress}:${port}`]))
    await agent.kill()
    await eventually(() => expect(hub.agents.all).toEqual([]))
    await expect(kubectl(plane, insecure)).rejects.toThrow(/node edge-1 is not connected to this hub/)
  })
}

function tokenSuite(): void {
  it('takes an agent by the token of its pod, on the node of that pod, and no other token', async () => {
    const plane = await startControlPlane()
    onTestFinished(() => plane.stop())
    await kubectl(plane, ['create', '-f', '-'], JSON.stringify(objects(10250)))
    await kubectl(plane, ['create', 'serviceaccount', 'agent'])
    await kubectl(plane, ['create', 'serviceaccount', 'other'])
    const pod = { ...podOf('agent-pod'), spec: { ...podOf('agent-pod').spec, serviceAccountName: 'agent' } }
    await kubectl(plane, ['create', '-f', '-'], JSON.stringify(pod))
    const client = new KubeClient(await loadKubeconfig({ file: plane.kubeconfigFile }))
    onTestFinished(() => client.close())
    const tokens = new AgentTokens({ allowed: ['default/agent'], ...tokenReviewer(client) })
    const bound = ['--bound-object-kind=Pod', '--bound-object-name=agent-pod']
    const good = await kubectl(plane, ['create', 'token', 'agent', ...bound])
    expect((await tokens.identify(`Bearer ${good}`)).node).toBe('edge-1')
    for (const account of ['agent', 'other']) {
      const token = await kubectl(plane, ['create', 'token', account])
      await expect(tokens.identify(`Bearer ${token}`)).rejects.toMatchObject({ code: 'token-invalid' })
    }
    await expect(tokens.identify('Bearer forged')).rejects.toMatchObject({ code: 'token-invalid' })
    const hub = await startAgentHub({ tokens })
    const tokenFile = join(await temporaryDirectory(), 'token')
    await writeFile(tokenFile, good.trim())
    await startStockAgent({ ...hub, flags: [`--service-account-token-path=${tokenFile}`] })
    await eventually(() => expect(hub.agents.of('edge-1')?.description).toContain('token of default/agent'))
    const identity = hub.agents.of('edge-1')?.identity
    await kubectl(plane, ['delete', 'pod', 'agent-pod', '--force', '--grace-period=0'])
    // The API server remembers for some seconds that a token was good.
    await vi.waitFor(() => expect(identity?.recheck()).rejects.toMatchObject({ code: 'token-invalid' }), {
      timeout: 90_000,
      interval: 250,
    })
    await hub.agents.recheck('edge-1')
    await eventually(() => expect(hub.agents.of('edge-1')).toBeUndefined())
  })
}

describeReal(
  'the tokens of agents at a kube-apiserver',
  tokenSuite,
  ['etcd', 'kube-apiserver', 'kubectl'],
  missingKonnectivity(),
)
describeReal(
  'a kube-apiserver with the konnectivity front',
  suite,
  ['etcd', 'kube-apiserver', 'kubectl'],
  missingKonnectivity(),
)
