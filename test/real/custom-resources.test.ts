/**
 * Custom resources of a real kube-apiserver, read by ServiceAccounts at an edge: shared, and called what their CRD calls them. Two
 * have our own informer, and a third the dynamic one of client-go, where that is built.
 */
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { API_SERVICES, type ApiService } from '../../src/hub/api-groups/local-groups.ts'
import { KubeClient, type KubeObject } from '../../src/kube/index.ts'
import { Reflector } from '../../src/kube/reflector/reflector.ts'
import { TransparencyClient } from './endpoint-transparency-client.ts'
import { EndpointWorld } from './endpoint-transparency-edge.ts'
import { describeReal, kubectl } from './harness.ts'
import { clients } from './in-cluster-clients/clients.ts'
import { missingForPods, PodProcess } from './in-cluster-clients/pod.ts'

const PATIENCE = { timeout: 60_000, interval: 100 }
const namespace = 'shared'
const accounts = ['first', 'second'] as const
const goAccount = 'third'
const go = clients.find(({ name }) => name === 'go')
const lacksGo = go === undefined || [...go.missing, ...missingForPods()].length > 0
const gadgets = { group: 'example.com', version: 'v1', resource: 'gadgets', namespaced: true }
const path = `/apis/example.com/v1/namespaces/${namespace}/gadgets`

const objects = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: Toolbox}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.remote.example.com}
spec:
  group: remote.example.com
  version: v1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {name: nobody, namespace: default}
---
apiVersion: v1
kind: Namespace
metadata: {name: ${namespace}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: ${namespace}}
rules: [{apiGroups: [example.com], resources: [gadgets], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: ${namespace}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: 'system:serviceaccounts:${namespace}'}]
`

function gadget(name: string, size: number): string {
  return JSON.stringify({ apiVersion: 'example.com/v1', kind: 'Gadget', metadata: { name, namespace }, spec: { size } })
}

/** What client-go says of a list without a link. */
const offlineList = { kind: 'Toolbox', cutOff: true }

interface Gadget extends KubeObject {
  spec?: { readonly size: number }
}

/** An informer of one account, by way of the endpoint. */
interface Follower {
  readonly token: string
  readonly client: KubeClient
  readonly asker: TransparencyClient
  readonly sizes: () => Record<string, number | undefined>
  /** What it was told went wrong. */
  readonly failures: unknown[]
}

describeReal('custom resources at an edge', () => {
  let world: EndpointWorld
  let followers: readonly Follower[] = []
  let goFollower: PodProcess | undefined
  const ended = new AbortController()

  beforeAll(async () => {
    world = await EndpointWorld.start({})
    await kubectl(world.plane, ['create', '-f', '-'], objects)
    for (const account of [...accounts, goAccount])
      await kubectl(world.plane, ['create', 'sa', account, '-n', namespace])
    await kubectl(world.plane, ['wait', '--for=condition=Established', 'crd/gadgets.example.com', '--timeout=60s'])
    await vi.waitFor(() => kubectl(world.plane, ['create', '-f', '-'], gadget('hammer', 1)), PATIENCE)
    await kubectl(world.plane, ['create', '-f', '-'], gadget('saw', 2))
  }, 300_000)
  afterAll(async () => {
    ended.abort(new Error('the test ends'))
    for (const { client, asker } of followers) {
      await client.close()
      asker.close()
    }
    await goFollower?.stop()
    await world?.stop()
  }, 300_000)

  async function metric(name: string): Promise<number> {
    const metrics = await (await fetch(`${world.health}/metrics`)).text()
    return Number(new RegExp(`^${name}(?:{[^}]*})? (\\d+)$`, 'm').exec(metrics)?.[1])
  }

  async function follow(account: string): Promise<Follower> {
    const token = (await kubectl(world.plane, ['create', 'token', account, '-n', namespace])).trim()
    const ca = await readFile(world.plane.caFile, 'utf8')
    const client = new KubeClient({
      source: 'the test',
      server: world.endpoint,
      namespace,
      tls: { ca: { data: Buffer.from(ca) }, skipVerify: false },
      credentials: { type: 'token', token: { data: Buffer.from(token) } },
    })
    const reflector = new Reflector<Gadget>(client.resource<Gadget>(gadgets).in(namespace))
    const failures: unknown[] = []
    void reflector.run({ failed: (error) => void failures.push(error) }, ended.signal)
    const sizes = (): Record<string, number | undefined> =>
      Object.fromEntries([...reflector.objects].map(([key, { spec }]) => [key.split('/')[1] ?? '', spec?.size]))
    return {
      token,
      client,
      asker: new TransparencyClient({ server: world.endpoint, ca, version: '2', token }),
      sizes,
      failures,
    }
  }

  async function listed({ asker }: Follower) {
    const { status, headers, body } = await asker.ask({ path: `${path}?resourceVersion=0` })
    const warning = headers.find(([name]) => name === 'warning')?.[1]
    return { status, warning, ...(JSON.parse(body.toString()) as { kind: string; items?: Gadget[] }) }
  }

  it('are of the groups that the API server serves itself, which the edge is told when it has a link again', async () => {
    await world.killHub()
    await world.startHub()
    const { items } = await world.cluster.client.resource<ApiService>(API_SERVICES).list()
    const local = items.filter(({ spec }) => spec?.service === undefined)
    expect(local.length).toBeLessThan(items.length)
    await vi.waitFor(
      async () => expect(await metric('causeway_edge_shared_group_versions')).toBe(local.length),
      PATIENCE,
    )
  })

  it('are watched once for both readers', async () => {
    followers = await Promise.all(accounts.map((account) => follow(account)))
    await vi.waitFor(() => {
      for (const { sizes } of followers) expect(sizes()).toEqual({ hammer: 1, saw: 2 })
    }, PATIENCE)
    expect(await metric('causeway_edge_feed_upstream_watches')).toBe(1)
    await kubectl(world.plane, [
      'patch',
      'gadget',
      'saw',
      '-n',
      namespace,
      '--type=merge',
      '--patch={"spec":{"size":3}}',
    ])
    await vi.waitFor(() => {
      for (const { sizes } of followers) expect(sizes()).toEqual({ hammer: 1, saw: 3 })
    }, PATIENCE)
    expect(await metric('causeway_edge_feed_upstream_watches')).toBe(1)
  })

  it('have lists that are called as in their CRD, by whomever they are answered', async () => {
    for (const follower of followers)
      for (let times = 0; times < 2; times++)
        expect(await listed(follower)).toMatchObject({ status: 200, kind: 'Toolbox', warning: undefined })
  })

  it.skipIf(lacksGo)('are read by a dynamic informer of client-go on the same watch', async () => {
    const { hostname: host, port } = new URL(world.endpoint)
    goFollower = await PodProcess.start({
      host,
      port: Number(port),
      caPem: await readFile(world.plane.caFile, 'utf8'),
      token: (await kubectl(world.plane, ['create', 'token', goAccount, '-n', namespace])).trim(),
      namespace,
      command: [...(go?.command ?? []), gadgets.group, gadgets.version, gadgets.resource],
      path: process.env['PATH'] ?? '',
    })
    await goFollower.until('watching')
    const seen = goFollower.transcript.filter(({ step }) => step === 'seen')
    const names = seen.map(({ kind, name }) => `${String(kind)} ${String(name)}`)
    expect(names.toSorted()).toEqual(['Gadget hammer', 'Gadget saw'])
    expect(await goFollower.until('listed')).toMatchObject({ kind: 'Toolbox', cutOff: false })
    expect(await metric('causeway_edge_feed_upstream_watches')).toBe(1)
  })

  it('are there without a link, under the same name and with a warning, also for kubectl', async () => {
    const [{ token } = { token: '' }] = followers
    const kubeconfigFile = world.writeKubeconfig(token)
    const names = ['get', 'gadgets', '-o', 'jsonpath={.items[*].metadata.name} {.items[*].kind}']
    expect(await kubectl({ kubeconfigFile }, names)).toBe('hammer saw Gadget Gadget')
    await world.killHub()
    for (const follower of followers) {
      await vi.waitFor(async () => expect((await listed(follower)).warning).toContain('cut off'), PATIENCE)
      const { status, kind, items = [], warning } = await listed(follower)
      expect([status, kind]).toEqual([200, 'Toolbox'])
      expect(warning).toContain('gadgets are as they were at')
      expect(items.map((item) => [item.kind, item.metadata?.name, item.spec?.size])).toEqual([
        ['Gadget', 'hammer', 1],
        ['Gadget', 'saw', 3],
      ])
    }
    expect(await kubectl({ kubeconfigFile }, names)).toBe('hammer saw Gadget Gadget')
    expect((await goFollower?.until('listed')) ?? offlineList).toMatchObject(offlineList)
  })

  it('are followed by both, who have noticed nothing, when the link is back', async () => {
    await kubectl(world.plane, ['delete', 'gadget', 'hammer', '-n', namespace])
    await kubectl(world.plane, ['create', '-f', '-'], gadget('drill', 4))
    await world.startHub()
    await vi.waitFor(() => {
      for (const { sizes } of followers) expect(sizes()).toEqual({ drill: 4, saw: 3 })
    }, PATIENCE)
    expect(followers.map(({ failures }) => failures)).toEqual([[], []])
    expect((await goFollower?.until('lost'))?.['name'] ?? 'hammer').toBe('hammer')
    // It has told them before it counts as following again.
    await vi.waitFor(async () => expect(await metric('causeway_edge_feed_upstream_watches')).toBe(1), PATIENCE)
  })
}, ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'])
