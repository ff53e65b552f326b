/**
 * What root on one edge tries against the control plane with the certificate of its node, `system:node:edge-1`. One list for two
 * suites: ours must refuse each, and the real kube-apiserver must say the same.
 */
import { type Attack, type Facts, lease, TEAM } from './node-attack.ts'
import { csrAttacks, type SigningRequests } from './node-attacks-certificates.ts'
import { nodeObjectAttacks } from './node-attacks-nodes.ts'
import { podAttacks } from './node-attacks-pods.ts'
import { readAttacks } from './node-attacks-reads.ts'

/** Objects of the cluster under attack, in the order in which they can be made. */
export const WORLD: readonly (readonly [path: string, object: object])[] = [
  ['/api/v1/namespaces', { metadata: { name: 'team' } }],
  ...['app', 'other', 'default'].map((name) => [`${TEAM}/serviceaccounts`, { metadata: { name } }] as const),
  ...['edge-1', 'edge-2'].map((name) => ['/api/v1/nodes', { metadata: { name, labels: { role: name } } }] as const),
  ...['mine', 'theirs', 'unused'].flatMap((name) => [
    [`${TEAM}/secrets`, { metadata: { name } }] as const,
    [`${TEAM}/configmaps`, { metadata: { name } }] as const,
    [`${TEAM}/persistentvolumeclaims`, claim(name)] as const,
  ]),
  [`${TEAM}/pods`, pod('mine', 'edge-1', 'app')],
  [`${TEAM}/pods`, pod('theirs', 'edge-2', 'other')],
  [`${TEAM}/pods`, { metadata: { name: 'free' }, spec: { containers: [{ name: 'c', image: 'i' }] } }],
  ['/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', lease('edge-2')],
  ['/apis/coordination.k8s.io/v1/namespaces/kube-system/leases', lease('kube-scheduler')],
  ['/apis/storage.k8s.io/v1/csinodes', { metadata: { name: 'edge-2' }, spec: { drivers: [] } }],
]

function claim(name: string): object {
  return { metadata: { name }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } }
}

/** With a Secret, a ConfigMap and a claim of its name. */
function pod(name: string, nodeName: string, serviceAccountName: string): object {
  const volumes = [
    { name: 's', secret: { secretName: name } },
    { name: 'c', configMap: { name } },
    { name: 'p', persistentVolumeClaim: { claimName: name } },
  ]
  return {
    metadata: { name },
    spec: { nodeName, serviceAccountName, volumes, containers: [{ name: 'c', image: 'i' }] },
  }
}

/** In an order in which no attack gives another what it needs. */
export function nodeAttacks(facts: Facts, requests: SigningRequests): readonly Attack[] {
  return [...readAttacks, ...nodeObjectAttacks(facts), ...podAttacks(facts), ...csrAttacks(requests)]
}
