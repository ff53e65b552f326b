/** What the API server has before its answers are compared, and who may ask for it. */
import { expect, vi } from 'vitest'
import { type ControlPlane, kubectl } from './control-plane.ts'
import { NODE } from './endpoint-transparency-edge.ts'
import { CONFIG_MAPS } from './endpoint-transparency-reads.ts'

const account = 'worker'
const patience = { timeout: 30_000, interval: 50 }
const everything = ['*']
const writing = ['create', 'update', 'patch', 'delete', 'deletecollection']

export interface Fixtures {
  readonly token: string
  /** Of everything that was made here. */
  readonly version: string
}

export async function prepareFixtures(plane: ControlPlane): Promise<Fixtures> {
  const create = (...items: object[]): Promise<string> =>
    kubectl(plane, ['create', '--filename=-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shared' } }, ...rights())
  await create(...Array.from({ length: CONFIG_MAPS }, (_, index) => configMap(index)))
  await create(nodeObject(), ...['one', 'two', 'three'].map(pod), absentApi())
  await untilAbsent(plane)
  const list = await kubectl(plane, ['get', '--raw', '/api/v1/namespaces/shared/configmaps?limit=1'])
  const { metadata } = JSON.parse(list) as { metadata: { resourceVersion: string } }
  const token = await kubectl(plane, ['create', 'token', account, '--namespace=shared'])
  return { token: token.trim(), version: metadata.resourceVersion }
}

/** Until nothing that the API server says of the absent API is going to change any more. */
async function untilAbsent(plane: ControlPlane): Promise<void> {
  await kubectl(plane, ['wait', '--for=condition=Available=False', 'apiservice/v1.absent.example', '--timeout=60s'])
  const failure = (): Promise<string> =>
    kubectl(plane, ['get', '--raw', '/apis/absent.example/v1']).catch((error: Error) => error.message)
  await vi.waitFor(async () => expect(await failure()).toContain('ServiceUnavailable'), patience)
  const groups = (): Promise<string> => kubectl(plane, ['get', '--raw', '/apis'])
  await vi.waitFor(async () => expect(await groups()).toContain('absent.example'), patience)
}

/** All but reading Secrets. */
function rights(): object[] {
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const metadata = { name: account }
  const rules = [
    { apiGroups: everything, resources: everything, verbs: writing },
    {
      apiGroups: everything,
      resources: [
        'configmaps',
        'namespaces',
        'pods',
        'pods/log',
        'pods/exec',
        'pods/attach',
        'pods/portforward',
        'podtemplates',
        'services',
        'services/proxy',
        'componentstatuses',
        'things',
      ],
      verbs: everything,
    },
    { nonResourceURLs: everything, verbs: everything },
  ]
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: account }
  const subjects = [{ kind: 'ServiceAccount', name: account, namespace: 'shared' }]
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: account, namespace: 'shared' } },
    { apiVersion, kind: 'ClusterRole', metadata, rules },
    { apiVersion, kind: 'ClusterRoleBinding', metadata, roleRef, subjects },
  ]
}

function configMap(index: number): object {
  const labels = { half: index % 2 === 0 ? 'even' : 'odd' }
  const metadata = { name: `item-${index}`, namespace: 'shared', labels }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { text: `${index} ünïcödé <&> `.repeat(100) } }
}

function nodeObject(): object {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } }
}

function pod(name: string): object {
  const spec = { nodeName: NODE, containers: [{ name: 'main', image: 'none' }] }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'shared' }, spec }
}

/** A group that a Service is to serve which does not exist. */
function absentApi(): object {
  const spec = {
    group: 'absent.example',
    version: 'v1',
    groupPriorityMinimum: 100,
    versionPriority: 100,
    insecureSkipTLSVerify: true,
    service: { namespace: 'shared', name: 'absent' },
  }
  return { apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService', metadata: { name: 'v1.absent.example' }, spec }
}
