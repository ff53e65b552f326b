/** What this bench reads besides the objects of every bench: a collection in which nothing happens, and a pod to enter. */
import type { Admin } from '../real-cluster/admin.ts'
import { makeNamespace, pod, podsOf } from '../real-cluster/objects.ts'

const quietNamespace = 'bench-quiet'
const execNode = 'exec-node'

export const QUIET_PATHS = {
  idleWatch: `/api/v1/namespaces/${quietNamespace}/configmaps?watch=true&timeoutSeconds=1800`,
  exec: `${podsOf(quietNamespace)}/exec/exec?command=cat&stdout=true`,
}

export async function seedQuiet(admin: Admin, kubeletPort: number): Promise<void> {
  await makeNamespace(admin, quietNamespace)
  await registerNode(admin, kubeletPort)
  await admin.post(podsOf(quietNamespace), pod('exec', execNode))
}

/** The API server goes to a pod's node for an exec. */
async function registerNode(admin: Admin, Port: number): Promise<void> {
  await admin.post('/api/v1/nodes', { metadata: { name: execNode } })
  const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }]
  const status = { addresses, daemonEndpoints: { kubeletEndpoint: { Port } } }
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: execNode }, status }
  await admin.call('PUT', `/api/v1/nodes/${execNode}/status`, node)
}
