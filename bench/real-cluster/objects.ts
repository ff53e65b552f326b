/** What is read and watched during a bench, and as whom. */
import type { Admin } from './admin.ts'

const smallNamespace = 'bench'
const bigNamespace = 'bench-big'
const tokenSeconds = 7_200

export const SMALL_LIST = 100
export const BIG_LIST = 1_000

export const PATHS = {
  get: `${podsOf(smallNamespace)}/pod-7`,
  list: podsOf(smallNamespace),
  bigList: podsOf(bigNamespace),
  watched: `/api/v1/namespaces/${smallNamespace}/configmaps/watched`,
}

/** From the watch cache, as informers ask. */
export function anyVersion(path: string): string {
  return `${path}?resourceVersion=0`
}

export function podsOf(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/pods`
}

export async function seed(admin: Admin): Promise<void> {
  await makePods(admin, smallNamespace, SMALL_LIST)
  await makePods(admin, bigNamespace, BIG_LIST)
  await admin.post(`/api/v1/namespaces/${smallNamespace}/configmaps`, { metadata: { name: 'watched' } })
}

/** In a namespace of their own. */
export async function makePods(admin: Admin, namespace: string, count: number): Promise<void> {
  await makeNamespace(admin, namespace)
  await admin.inParallel(count, (index) => admin.post(podsOf(namespace), pod(`pod-${index}`)))
}

export async function makeNamespace(admin: Admin, name: string): Promise<void> {
  await admin.post('/api/v1/namespaces', { metadata: { name } })
}

/** About 2.5 kB of JSON once the API server has filled in its defaults. */
export function pod(name: string, nodeName?: string): object {
  const env = ['LOG_LEVEL', 'REGION', 'CUSTOMER', 'QUEUE'].map((key) => ({ name: key, value: `${key}-of-${name}` }))
  const resources = { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '128Mi' } }
  const livenessProbe = { httpGet: { path: '/healthz', port: 8080 } }
  const container = { name: 'app', image: 'registry.example/app:1', env, resources, livenessProbe }
  const labels = { app: 'bench', tier: 'edge', 'app.kubernetes.io/name': name }
  const placed = nodeName === undefined ? {} : { nodeName }
  return { metadata: { name, labels }, spec: { containers: [container], ...placed } }
}

/** One for each pod that plays client, so that no limit for a single caller is what is measured. */
export async function makeTokens(admin: Admin, count: number): Promise<string[]> {
  const group = (name: string): object => ({ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name })
  await admin.post('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'bench' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    // YurtHub reads settings of its own, for which OpenYurt would install a role.
    subjects: [group(`system:serviceaccounts:${smallNamespace}`), group('openyurt:yurthub')],
  })
  const tokens: string[] = []
  await admin.inParallel(count, async (index) => {
    const path = `/api/v1/namespaces/${smallNamespace}/serviceaccounts`
    await admin.post(path, { metadata: { name: `client-${index}` } })
    const spec = { expirationSeconds: tokenSeconds }
    const made = await admin.call('POST', `${path}/client-${index}/token`, { spec })
    tokens[index] = (JSON.parse(made) as { status: { token: string } }).status.token
  })
  return tokens
}
