/** A real kubelet joins our API server: certificates, Node, status, Lease, and a pod that is bound to it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readMaterial } from '../../src/kube/client/connection.ts'
import {
  type Condition,
  certificateSigningRequests,
  events,
  KubeClient,
  type KubeObject,
  leases,
  loadKubeconfig,
  nodes,
  pods,
  type ResourceClient,
} from '../../src/kube/index.ts'
import { removeFolder } from '../remove-folder.ts'
import { describeReal, kubectl } from './harness.ts'
import { missingForNode, type RealNode, startNode } from './node.ts'

const command = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const nodeName = 'edge-1'
const bootstrapToken = 'bootstrap-token'
const bootstrapLine = `${bootstrapToken},system:bootstrap:edge,bootstrap,"system:bootstrappers"\n`

describeReal(
  'a real kubelet against causeway apiserver',
  () => {
    let folder: string
    let server: ChildProcess
    let client: KubeClient
    let kubeconfigFile: string
    let node: RealNode | undefined

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'causeway-kubelet-'))
      await writeFile(join(folder, 'tokens.csv'), bootstrapLine)
      server = await startServer(folder)
      kubeconfigFile = join(folder, 'data/admin.kubeconfig')
      client = new KubeClient(await loadKubeconfig({ file: kubeconfigFile }))
      await letBootstrappersJoin({ kubeconfigFile })
      const { ca } = client.connection.tls
      if (ca === undefined) throw new Error('the kubeconfig names no CA')
      const caPem = (await readMaterial(ca, 'the CA')).toString()
      node = await startNode({ name: nodeName, server: client.connection.server, caPem, bootstrapToken })
    })
    afterAll(async () => {
      await node?.stop()
      await client?.close()
      if (server !== undefined && server.exitCode === null && server.signalCode === null) {
        server.kill('SIGKILL')
        await once(server, 'exit')
      }
      removeFolder(folder)
    })

    it('gets its client certificate by a request that is approved and signed, and registers its Node', async () => {
      const registered = await until(client.resource(nodes), nodeName, () => true)
      expect(registered.metadata?.labels).toMatchObject({ 'kubernetes.io/hostname': nodeName })
      const { items } = await client.resource(certificateSigningRequests).list()
      const request = items.find(({ spec }) => spec?.signerName === 'kubernetes.io/kube-apiserver-client-kubelet')
      expect(request).toMatchObject({
        spec: { username: 'system:bootstrap:edge' },
        status: { conditions: [{ type: 'Approved', reason: 'AutoApproved' }] },
      })
    })

    it('gets its serving certificate once somebody approves it', async () => {
      const requests = client.resource(certificateSigningRequests)
      const asked = await until(requests, undefined, ({ spec }) => spec?.signerName === 'kubernetes.io/kubelet-serving')
      expect(asked).toMatchObject({ spec: { username: `system:node:${nodeName}` } })
      const name = asked.metadata?.name ?? ''
      await kubectl({ kubeconfigFile }, ['certificate', 'approve', name])
      await until(requests, name, ({ status }) => status?.certificate)
    })

    it('renews a Lease and reports its status: not ready without a network, ready with one', async () => {
      const lease = await until(client.resource(leases).in('kube-node-lease'), nodeName, () => true)
      expect(lease).toMatchObject({ spec: { holderIdentity: nodeName } })
      const readiness = (status: string) => (object: KubeObject) =>
        conditionsOf(object).find(({ type, status: found }) => type === 'Ready' && found === status)
      // Before it has asked containerd for the first time, it has other reasons.
      await until(client.resource(nodes), nodeName, (object) =>
        readiness('False')(object)?.message?.includes('cni plugin not initialized'),
      )
      await node?.addNetwork()
      await until(client.resource(nodes), nodeName, readiness('True'))
    })

    it('takes a pod that is bound to it, reports on it, and confirms its end', async () => {
      const inDefault = client.resource(pods).in('default')
      const containers = [{ name: 'c', image: 'localhost/nothing:1' }]
      await inDefault.create({ metadata: { name: 'p' }, spec: { nodeName, hostNetwork: true, containers } })
      const seen = await until(inDefault, 'p', ({ status }) => (status as { containerStatuses?: [] }).containerStatuses)
      const containerStatuses = [{ name: 'c', ready: false }]
      expect(seen).toMatchObject({ status: { phase: 'Pending', startTime: expect.any(String), containerStatuses } })
      // Only after the token of its ServiceAccount is mounted does the kubelet ask for a sandbox, whose image nobody has.
      await until(client.resource(events).in('default'), undefined, ({ reason }) => reason === 'FailedCreatePodSandBox')
      await inDefault.delete('p')
      await untilGone(inDefault, 'p')
    })
  },
  ['kubelet', 'kubectl'],
  missingForNode(),
)

async function startServer(folder: string): Promise<ChildProcess> {
  const flags = ['--data-dir', join(folder, 'data'), '--secure-port', '0', '--health-address', '127.0.0.1:0']
  const more = ['--storage', 'memory', '--token-auth-file', join(folder, 'tokens.csv')]
  const child = spawn(process.execPath, [command, 'apiserver', ...flags, ...more], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`causeway ended with ${String(code)}`)))
  ended.catch(() => {})
  await Promise.race([once(child.stdout, 'data'), ended])
  return child
}

/** What an administrator does once for a cluster. */
async function letBootstrappersJoin(server: { readonly kubeconfigFile: string }): Promise<void> {
  const bind = (name: string, role: string): Promise<string> =>
    kubectl(server, ['create', 'clusterrolebinding', name, `--clusterrole=${role}`, '--group=system:bootstrappers'])
  await bind('bootstrappers', 'system:node-bootstrapper')
  await bind('auto-approve', 'system:certificates.k8s.io:certificatesigningrequests:nodeclient')
}

/** The first state of an object for which the condition holds; of any object if no name is given. */
async function until<T extends KubeObject>(
  resource: ResourceClient<T>,
  name: string | undefined,
  condition: (object: T) => unknown,
): Promise<T> {
  const watch = await watchOne(resource, name)
  for await (const { type, object } of watch) if (type !== 'DELETED' && condition(object)) return object
  throw new Error('the watch ended before the condition held')
}

async function untilGone<T extends KubeObject>(resource: ResourceClient<T>, name: string): Promise<void> {
  const { metadata, items } = await resource.list({ fieldSelector: `metadata.name=${name}` })
  if (items.length === 0) return
  const query = { fieldSelector: `metadata.name=${name}`, resourceVersion: metadata.resourceVersion ?? '' }
  for await (const { type } of await resource.watch(query)) if (type === 'DELETED') return
  throw new Error('the watch ended before the object was gone')
}

async function watchOne<T extends KubeObject>(resource: ResourceClient<T>, name: string | undefined) {
  const selector = name === undefined ? {} : { fieldSelector: `metadata.name=${name}` }
  return await resource.watch({ sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan', ...selector })
}

function conditionsOf({ status }: KubeObject): Condition[] {
  return (status as { conditions?: Condition[] } | undefined)?.conditions ?? []
}
