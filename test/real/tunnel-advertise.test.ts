/**
 * The mode of the agent in which it is the API server to its node: kube-apiserver advertises the very address that the edge
 * binds, and the node is in a network from which nothing but the hub can be reached.
 */
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { RunningHub } from '../e2e/hub-cluster.ts'
import { Daemon, kubectl, peersDirectory } from './control-plane.ts'
import { describeReal } from './harness.ts'
import { type HubPlane, startHubPlaneWith } from './hub-plane.ts'
import { missingForNode, type RealNode, startNode } from './node.ts'
import { allowBootstrap, approveServingCertificate, KUBELET_PORT, NODE_NAME, untilReady } from './tunnel-cluster.ts'
import { type BuiltImage, buildToolboxImage, TOOLBOX_IMAGE } from './tunnel-image.ts'

const run = promisify(execFile)
const patience = { timeout: 120_000, interval: 200 }
const command = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** The cable: its end at the hub, and its end at the node. */
const hubAddress = '10.98.76.1'
const nodeAddress = '10.98.76.2'
/** Nobody has it until the edge puts it on an interface of its own. */
const advertised = '10.97.76.1'

const lacking = missingForNode()
if (spawnSync('unshare', ['--net', 'true']).status !== 0) lacking.push('right to make network namespaces')
const image: BuiltImage = lacking.length > 0 ? { missing: 'nothing to run it with' } : buildToolboxImage()
const missing = [...lacking, ...('missing' in image ? [`image (${image.missing})`] : [])]

const namespace = `causeway-${randomBytes(3).toString('hex')}`
const [near, far] = [`cw${namespace.slice(-6)}a`, `cw${namespace.slice(-6)}b`] as const
let world: HubPlane
let hub: RunningHub
let edge: Daemon
let node: RealNode | undefined
let port: string

const ip = (...args: string[]): Buffer => execFileSync('ip', args)

function layCable(): void {
  ip('netns', 'add', namespace)
  ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', namespace)
  ip('address', 'add', `${hubAddress}/30`, 'dev', near)
  ip('link', 'set', near, 'up')
  ip('-n', namespace, 'link', 'set', 'lo', 'up')
  ip('-n', namespace, 'address', 'add', `${nodeAddress}/30`, 'dev', far)
  ip('-n', namespace, 'link', 'set', far, 'up')
}

const inside = (program: string, ...args: string[]): string[] => [`--net=/run/netns/${namespace}`, program, ...args]

/** kubectl on the node, as an administrator who came there with the address everybody uses. */
async function kubectlOnNode(...args: string[]): Promise<string> {
  return await kubectlAt(`https://${advertised}:${port}`, ...args)
}

async function kubectlAt(server: string, ...args: string[]): Promise<string> {
  const own = ['--kubeconfig', world.plane.kubeconfigFile, '--server', server, '--request-timeout=30s']
  return (await run('nsenter', inside(join(peersDirectory(), 'kubectl'), ...own, ...args))).stdout
}

async function startEdge(...flags: string[]): Promise<void> {
  const forward = ['--target', `kube-apiserver:6443:${port}`, '--bind-address', advertised]
  const own = ['--data-dir', world.cluster.path('edge'), '--health-address', '127.0.0.1:0', ...forward]
  edge = await Daemon.start(
    'edge',
    world.cluster.folder,
    inside(process.execPath, command, 'edge', ...own, ...flags),
    'nsenter',
  )
}

async function heartbeat(): Promise<string> {
  const lease = ['get', 'lease', NODE_NAME, '-n', 'kube-node-lease', '-o', 'jsonpath={.spec.renewTime}']
  return await kubectl(world.plane, lease)
}

describeReal(
  'a node to which the edge is the API server',
  () => {
    beforeAll(async () => {
      if ('missing' in image) throw new Error(image.missing)
      layCable()
      const flags = [`--advertise-address=${advertised}`, '--endpoint-reconciler-type=master-count']
      const apiServerFlags = [...flags, '--enable-bootstrap-token-auth=true']
      world = await startHubPlaneWith({ apiServerFlags, serverAddresses: [advertised] })
      port = new URL(world.plane.server).port
      hub = await world.cluster.hub('hub', '--listen', `${hubAddress}:0`, '--advertise', hubAddress)
      const token = world.cluster.path(await world.cluster.token('token', { node: NODE_NAME }))
      await startEdge('--hub', hub.url, '--token-file', token)
    }, 120_000)
    afterAll(async () => {
      try {
        await node?.stop()
      } finally {
        await edge?.kill()
        await world?.stop()
        spawnSync('ip', ['netns', 'del', namespace])
        if (!('missing' in image)) image.remove()
      }
    })

    it('kubectl reaches it there, before anything else on the node is up, and nowhere else', async () => {
      await vi.waitFor(async () => expect(await kubectlOnNode('get', '--raw', '/readyz')).toBe('ok'), patience)
      for (const address of ['127.0.0.1', hubAddress])
        await expect(kubectlAt(`https://${address}:${port}`, 'version')).rejects.toThrow('was refused')
      expect(await kubectlOnNode('get', 'namespace', 'default', '-o', 'name')).toBe('namespace/default\n')
    })

    it('the service "kubernetes" leads every pod there', async () => {
      const ready = [
        'get',
        'endpointslice',
        'kubernetes',
        '-o',
        'jsonpath={.endpoints[*].addresses[*]}:{.ports[*].port}',
      ]
      await vi.waitFor(async () => expect(await kubectlOnNode(...ready)).toBe(`${advertised}:${port}`), patience)
    })

    it('a kubelet bootstraps, registers, and runs a pod, knowing no other address', async () => {
      if ('missing' in image) throw new Error(image.missing)
      node = await startNode({
        name: NODE_NAME,
        server: `https://${advertised}:${port}`,
        caPem: readFileSync(world.plane.caFile, 'utf8'),
        bootstrapToken: await allowBootstrap(world),
        kubeletPort: KUBELET_PORT,
        networkNamespace: namespace,
        nodeIp: nodeAddress,
        images: { archive: image.archive, sandbox: TOOLBOX_IMAGE },
      })
      await approveServingCertificate(world)
      await node.addNetwork()
      await untilReady(world)
      const spec = {
        nodeName: NODE_NAME,
        hostNetwork: true,
        containers: [{ name: 'main', image: TOOLBOX_IMAGE, imagePullPolicy: 'Never' }],
      }
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'quiet' }, spec }
      await kubectl(world.plane, ['create', '-f', '-'], JSON.stringify(pod))
      await kubectl(world.plane, ['wait', '--for=condition=Ready', 'pod/quiet', '--timeout=120s'])
    })

    it('an edge that dies and comes back finds its address again, and the kubelet its API server', async () => {
      await vi.waitFor(heartbeat, patience)
      await edge.kill()
      await expect(kubectlOnNode('version')).rejects.toThrow('was refused')
      const before = await heartbeat()
      await startEdge()
      await vi.waitFor(async () => expect(await kubectlOnNode('get', '--raw', '/readyz')).toBe('ok'), patience)
      await vi.waitFor(async () => expect(await heartbeat()).not.toBe(before), patience)
    })

    it('a cable that is pulled is noticed, clients are told, and once it is back so are they', async () => {
      ip('link', 'set', near, 'down')
      await vi.waitFor(async () => expect(await edge.logTail()).toContain('session lost'), patience)
      await vi.waitFor(
        async () => await expect(kubectlOnNode('version', '--request-timeout=5s')).rejects.toThrow(/reset by peer|EOF/),
        patience,
      )
      ip('link', 'set', near, 'up')
      const before = await heartbeat()
      await vi.waitFor(async () => expect(await kubectlOnNode('get', '--raw', '/readyz')).toBe('ok'), patience)
      await vi.waitFor(async () => expect(await heartbeat()).not.toBe(before), patience)
    })
  },
  ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl', 'kubelet'],
  missing,
)
