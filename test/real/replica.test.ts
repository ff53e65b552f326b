/**
 * A real node on which everything depends on the replica: its kubelet, its kube-proxy and its pods, while the link is there, while
 * it is cut, through a power cut without it, and when it comes back.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { kubectl } from './control-plane.ts'
import { EdgeNode, PATIENCE, prepareEdgeNode } from './edge-node.ts'
import { Pod } from './edge-node-pods.ts'
import { describeReal } from './harness.ts'
import { type AuditLog, prepareAuditLog } from './in-cluster-clients/audit.ts'
import { NODE_NAME } from './tunnel-cluster.ts'

const { image, missing } = prepareEdgeNode()
const nodeUser = `system:node:${NODE_NAME}`
const kubeProxyUser = 'system:serviceaccount:causeway-system:kube-proxy'
const podUser = 'system:serviceaccount:default:default'
const readersOnNode = [nodeUser, kubeProxyUser, podUser]
const ownPods = `/api/v1/pods?fieldSelector=spec.nodeName%3D${NODE_NAME}`
/** How long nothing may break; a minute, where somebody waits for it. */
const cutMs = Number(process.env['CUT_SECONDS'] ?? 20) * 1_000

/** A list and a watch by InClusterConfig, one line for each event; it ends with the watch. */
const line = 'jsonpath={.type} {.object.metadata.name} {.object.data.phase}{"\\n"}'
const follow = ['/peers/kubectl', 'get', 'configmaps', '--watch', '--output-watch-events', '-o', line]

let node: EdgeNode
let audit: AuditLog

/** What the follower was told, without the times and without what it was warned of. */
async function followed(): Promise<string[]> {
  const lines = (await node.machine.podLogs('follower')).split('\n').map((text) => text.split(' ').slice(1))
  return lines.filter(([stream]) => stream === 'stdout').map(([, , ...words]) => words.join(' ').trim())
}

async function complaints(): Promise<string[]> {
  const lines = (await node.machine.podLogs('follower')).split('\n').filter((text) => text.includes(' stderr '))
  return lines.filter((text) => !text.includes('Warning: this node is cut off'))
}

/** At the endpoint and of the API server itself; a list says how far the whole cluster had come, which moves all the time. */
async function expectSame(kubeconfig: string, path: string): Promise<void> {
  const parts = (text: string): object => {
    const { metadata, ...rest } = JSON.parse(text) as { metadata: object; items?: object[] }
    return rest.items === undefined ? { metadata, ...rest } : rest
  }
  await vi.waitFor(async () => {
    const here = parts(await node.kubectlOnNode(kubeconfig, 'get', '--raw', path))
    expect(here, path).toEqual(parts(await node.kubectl('get', '--raw', path)))
  }, PATIENCE)
}

async function rulesOfService(): Promise<string[]> {
  return (await node.rules())
    .split('\n')
    .filter((text) => text.includes('default/web'))
    .toSorted()
}

/** By the ClusterIP, from a pod that is none of its own, until each of these has answered. */
async function untilServiceLeadsTo(...pods: string[]): Promise<void> {
  const address = await node.kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}')
  const ask = ['/peers/kubectl', 'get', '--raw', '/', '--server', `http://${address}`, '--request-timeout=2s']
  const answered = new Set<string>()
  await vi.waitFor(async () => {
    answered.add((await node.machine.execInPod('follower', ...ask)).trim())
    expect([...answered].toSorted()).toEqual(pods)
  }, PATIENCE)
}

/** Whether the rules of kube-proxy lead to this address of a pod. */
async function rulesLeadTo(address: string): Promise<boolean> {
  return (await node.rules()).includes(`${address} . 8080`)
}

/** Of the pods of the Service, as the EndpointSlices of the API server have them. */
async function addressesInCloud(): Promise<string[]> {
  const path = 'jsonpath={.items[*].endpoints[*].addresses[*]}'
  return (await node.kubectl('get', 'endpointslices', '-l', 'kubernetes.io/service-name=web', '-o', path)).split(' ')
}

/** Empty before the kubelet has made it, which takes it ten seconds. */
async function leaseTime(): Promise<string> {
  const time = ['-o', 'jsonpath={.spec.renewTime}', '--ignore-not-found']
  return await node.kubectl('get', 'lease', NODE_NAME, '-n', 'kube-node-lease', ...time)
}

/** In steps of the kubelet's own status: the count of restarts as the kubelet wrote it. */
async function restartsOf(pod: string): Promise<string> {
  return await node.kubectl('get', 'pod', pod, '-o', 'jsonpath={.status.containerStatuses[0].restartCount}')
}

function tell(what: string, sinceMs: number): void {
  process.stdout.write(`${what}: ${((systemClock.monotonicMs() - sinceMs) / 1000).toFixed(2)} s\n`)
}

/** Asks the endpoint for the Node until it is given, as the node itself. */
async function untilServed(): Promise<void> {
  const own = ['cert', 'key'].map(
    (each) => `--${each} ${node.file(`kubelet-client.${each === 'cert' ? 'crt' : 'key'}`)}`,
  )
  const ask = `curl -sf -o /dev/null --cacert ${node.file('kubernetes-ca.crt')} ${own.join(' ')}`
  const loop = `until ${ask} https://127.0.0.1:10550/api/v1/nodes/${NODE_NAME}; do sleep 0.01; done`
  await once(spawn('nsenter', node.network.inside('sh', '-c', loop)), 'exit')
}

describeReal(
  'a node that lives by its replica',
  () => {
    beforeAll(async () => {
      audit = await prepareAuditLog()
      node = new EdgeNode(image)
      await node.start({ apiServerFlags: audit.flags, controllers: ['endpointslice-controller'] })
      await node.startEdge()
      await node.untilServed()
      await node.startKubelet()
      await node.untilReady()
      await node.startKubeProxy('nftables')
      await node.kubectl('create', 'role', 'reader', '--verb=get,list,watch', '--resource=configmaps')
      await node.kubectl('create', 'rolebinding', 'reader', '--role=reader', '--serviceaccount=default:default')
      await node.kubectl('create', 'configmap', 'settings', '--from-literal=phase=zero')
      await node.kubectl('create', 'secret', 'generic', 'password', '--from-literal=word=xyzzy')
      const spec = { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] }
      const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec }
      await kubectl(node.world.plane, ['create', '-f', '-'], JSON.stringify(service))
    }, 300_000)
    afterAll(async () => {
      await node?.stop()
      audit?.remove()
    }, 300_000)

    it('has its pods, its rules and its followers while the link is there', async () => {
      const container = { command: ['/bin/host', '8080'] }
      const web = { labels: { app: 'web' }, configMap: 'settings', secret: 'password', container }
      await Promise.all([
        Pod.run(node, 'web-a', web),
        Pod.run(node, 'web-b', web),
        Pod.run(node, 'follower', { container: { command: follow } }),
      ])
      await untilServiceLeadsTo('web-a', 'web-b')
      await vi.waitFor(async () => expect(await followed()).toContain('ADDED settings zero'), PATIENCE)
      const list = await node.machine.execInPod('web-a', '/peers/kubectl', 'get', 'configmaps', '-o', 'name')
      expect(list).toBe('configmap/kube-root-ca.crt\nconfigmap/settings\n')
    })

    it('everybody is given what the API server itself would give them', async () => {
      const ofKubelet = [
        `/api/v1/nodes/${NODE_NAME}`,
        ownPods,
        '/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Dsettings',
        '/api/v1/namespaces/default/secrets?fieldSelector=metadata.name%3Dpassword',
        '/apis/node.k8s.io/v1/runtimeclasses',
        `/apis/storage.k8s.io/v1/csinodes/${NODE_NAME}`,
      ]
      for (const path of ofKubelet) await expectSame('kubelet.kubeconfig', path)
      // Of the Service `kubernetes` the node is told another address, so only the others can be the same.
      const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
      await expectSame('kube-proxy.kubeconfig', `${slices}?labelSelector=kubernetes.io/service-name%3Dweb`)
    })

    it('the API server has one watch for each collection, whoever reads it', async () => {
      const watches = await audit.openWatches(...readersOnNode)
      const collections = watches.map((watch) => watch.split(' ').slice(1).join(' '))
      expect(collections).toContain(`/api/v1/pods?spec.nodeName=${NODE_NAME}`)
      expect(collections).toEqual([...new Set(collections)])
    })

    it('nothing on the node breaks when packets vanish on the link', async () => {
      const rules = await rulesOfService()
      const followedBefore = await followed()
      await node.network.cut()
      await systemClock.sleep(cutMs)
      expect(await rulesOfService()).toEqual(rules)
      expect(await followed()).toEqual(followedBefore)
      expect(await complaints()).toEqual([])
      for (const pod of ['web-a', 'web-b'])
        expect(await node.machine.execInPod(pod, 'cat', '/config/phase', '/secret/word')).toBe('zeroxyzzy')
      const list = await node.machine.execInPod('web-a', '/peers/kubectl', 'get', 'configmaps', '-o', 'name')
      expect(list).toBe('configmap/kube-root-ca.crt\nconfigmap/settings\n')
    })

    it('comes back from a power cut without the link', async () => {
      await node.kubectl('create', 'configmap', 'missed', '--from-literal=phase=one')
      for (const phase of ['two', 'three'])
        await node.kubectl('patch', 'configmap', 'missed', `--patch={"data":{"phase":"${phase}"}}`)
      await node.kubectl('delete', 'configmap', 'settings', '--wait=false')
      await node.kubectl('create', 'configmap', 'settings', '--from-literal=phase=later')
      const before = await followed()
      await node.cutPower()
      expect(await rulesOfService()).toEqual([])
      const startMs = systemClock.monotonicMs()
      await node.startEdge()
      const served = untilServed().then(() => tell('the endpoint serves after', startMs))
      await node.machine.powerOn()
      await node.startKubeProxy('nftables')
      await served
      for (const pod of ['web-a', 'web-b'])
        await vi.waitFor(async () => {
          expect(await node.machine.execInPod(pod, 'cat', '/config/phase', '/secret/word')).toBe('zeroxyzzy')
        }, PATIENCE)
      tell('pods run after', startMs)
      await untilServiceLeadsTo('web-a', 'web-b')
      tell('the Service leads to its pods at their new addresses after', startMs)
      // The cloud still has the old ones, and cannot have been told of others.
      const old = await addressesInCloud()
      expect(old).toHaveLength(2)
      for (const address of old) expect(await rulesLeadTo(address), address).toBe(false)
      const again = ['ADDED kube-root-ca.crt', 'ADDED settings zero']
      await vi.waitFor(async () => expect(await followed()).toEqual([...before, ...again]), PATIENCE)
      tell('a pod lists and watches after', startMs)
      expect(await complaints()).toEqual([])
    })

    it('a pod reads with the token that its kubelet was given for it, and kubectl works on the node', async () => {
      const list = await node.machine.execInPod('web-a', '/peers/kubectl', 'get', 'configmaps', '-o', 'name')
      expect(list).toBe('configmap/kube-root-ca.crt\nconfigmap/settings\n')
      const names = ['get', 'pods', '--field-selector', `spec.nodeName=${NODE_NAME}`, '-o', 'name']
      expect(await node.kubectlOnNode('kubelet.kubeconfig', ...names)).toBe('pod/follower\npod/web-a\npod/web-b\n')
      expect(await node.kubectlOnNode('kubelet.kubeconfig', 'get', 'node', NODE_NAME, '-o', 'name')).toBe(
        `node/${NODE_NAME}\n`,
      )
      const csiNode = await node.kubectlOnNode('kubelet.kubeconfig', 'get', 'csinode', NODE_NAME, '-o', 'name')
      expect(csiNode).toBe(`csinode.storage.k8s.io/${NODE_NAME}\n`)
    })

    it('hears of what it missed exactly once when the link is back, and nobody is disconnected', async () => {
      const before = await followed()
      const [restarts, lease] = [await restartsOf('follower'), await leaseTime()]
      await node.network.mend()
      const startMs = systemClock.monotonicMs()
      const missed = ['ADDED missed one', 'MODIFIED missed two', 'MODIFIED missed three']
      const replaced = ['DELETED settings zero', 'ADDED settings later']
      await vi.waitFor(async () => expect(await followed()).toEqual([...before, ...missed, ...replaced]), PATIENCE)
      tell('what was missed is there after', startMs)
      await vi.waitFor(async () => expect(await leaseTime()).not.toBe(lease), PATIENCE)
      tell('the kubelet reports again after', startMs)
      // The one of the power cut, and no other.
      await vi.waitFor(async () => expect(await restartsOf('follower')).toBe(String(Number(restarts) + 1)), PATIENCE)
      await node.kubectl('create', 'configmap', 'afterwards', '--from-literal=phase=one')
      const all = [...before, ...missed, ...replaced, 'ADDED afterwards one']
      await vi.waitFor(async () => expect(await followed()).toEqual(all), PATIENCE)
      expect(await complaints()).toEqual([])
    })

    it('its Service never stops to lead to its pods while the cloud learns of their new addresses', async () => {
      await untilServiceLeadsTo('web-a', 'web-b')
      await vi.waitFor(async () => {
        const told = await addressesInCloud()
        expect(told).toHaveLength(2)
        for (const address of told) expect(await rulesLeadTo(address), address).toBe(true)
      }, PATIENCE)
      await untilServiceLeadsTo('web-a', 'web-b')
    })
  },
  ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl', 'kubelet'],
  missing,
)
