/** What is read, watched and entered during the bench, and as whom. */
import type { Admin } from './admin.ts'

const smallNamespace = 'bench'
const bigNamespace = 'bench-big'
const quietNamespace = 'bench-quiet'
const execNode = 'exec-node'
const serviceAccounts = 50
const tokenSeconds = 7_200

export const SMALL_LIST = 100
export const BIG_LIST = 1_000

export const PATHS = {
  get: `/api/v1/namespaces/${smallNamespace}/pods/pod-7`,
  list: `/api/v1/namespaces/${smallNamespace}/pods`,
  /** From the watch cache, as informers ask. */
  bigList: `/api/v1/namespaces/${bigNamespace}/pods?resourceVersion=0`,
  watched: `/api/v1/namespaces/${smallNamespace}/configmaps/watched`,
  idleWatch: `/api/v1/namespaces/${quietNamespace}/configmaps?watch=true&timeoutSeconds=1800`,
  exec: `/api/v1/namespaces/${quietNamespace}/pods/exec/exec?command=cat&stdout=true`,
}

export async function seed(admin: Admin, kubeletPort: number): Promise<void> {
  for (const name of [smallNamespace, bigNamespace, quietNamespace])
    await admin.post('/api/v1/namespaces', { metadata: { name } })
  await admin.post(`/api/v1/namespaces/${smallNamespace}/configmaps`, { metadata: { name: 'watched' } })
  const makePods = async (namespace: string, count: number): Promise<void> =>
    await admin.inParallel(count, (index) => admin.post(`/api/v1/namespaces/${namespace}/pods`, pod(`pod-${index}`)))
  await makePods(smallNamespace, SMALL_LIST)
  await makePods(bigNamespace, BIG_LIST)
  await registerNode(admin, kubeletPort)
  await admin.post(`/api/v1/namespaces/${quietNamespace}/pods`, pod('exec', execNode))
}

/** About 2.5 kB of JSON once the API server has filled in its defaults. */
function pod(name: string, nodeName?: string): object {
  const env = ['LOG_LEVEL', 'REGION', 'CUSTOMER', 'QUEUE'].map((key) => ({ name: key, value: `${key}-of-${name}` }))
  const resources = { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '128Mi' } }
  const livenessProbe = { httpGet: { path: '/healthz', port: 8080 } }
  const container = { name: 'app', image: 'registry.example/app:1', env, resources, livenessProbe }
  const labels = { app: 'bench', tier: 'edge', 'app.kubernetes.io/name': name }
  const placed = nodeName === undefined ? {} : { nodeName }
  return { metadata: { name, labels }, spec: { containers: [container], ...placed } }
}

/** The API server goes to a pod's node for an exec. */
async function registerNode(admin: Admin, Port: number): Promise<void> {
  await admin.post('/api/v1/nodes', { metadata: { name: execNode } })
  const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }]
  const status = { addresses, daemonEndpoints: { kubeletEndpoint: { Port } } }
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: execNode }, status }
  await admin.call('PUT', `/api/v1/nodes/${execNode}/status`, node)
}

/** One for each pod that plays client, so that no limit for a single caller is what is measured. */
export async function makeTokens(admin: Admin): Promise<string[]> {
  const group = (name: string): object => ({ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name })
  await admin.post('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'bench' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    // YurtHub reads settings of its own, for which OpenYurt would install a role.
    subjects: [group(`system:serviceaccounts:${smallNamespace}`), group('openyurt:yurthub')],
  })
  const tokens: string[] = []
  await admin.inParallel(serviceAccounts, async (index) => {
    const path = `/api/v1/namespaces/${smallNamespace}/serviceaccounts`
    await admin.post(path, { metadata: { name: `client-${index}` } })
    const spec = { expirationSeconds: tokenSeconds }
    const made = await admin.call('POST', `${path}/client-${index}/token`, { spec })
    tokens[index] = (JSON.parse(made) as { status: { token: string } }).status.token
  })
  return tokens
}
