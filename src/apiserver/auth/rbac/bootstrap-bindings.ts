/** Who is bound to the default roles. A subject is `user:NAME`, `group:NAME` or `account:NAME` (of kube-system). */
import { RBAC_GROUP, type Subject } from './objects.ts'

export interface DefaultBinding {
  /** The name of the role, and of the binding unless it has one of its own. */
  readonly role: string
  readonly name?: string
  readonly namespace?: string
  readonly subjects: readonly Subject[]
}

export function subjects(text: string): Subject[] {
  return text.split(' ').map((word) => {
    const colon = word.indexOf(':')
    const name = word.slice(colon + 1)
    if (word.startsWith('account:')) return { kind: 'ServiceAccount', name, namespace: 'kube-system' }
    return { apiGroup: RBAC_GROUP, kind: word.startsWith('group:') ? 'Group' : 'User', name }
  })
}

export const CLUSTER_BINDINGS: readonly DefaultBinding[] = [
  { role: 'cluster-admin', subjects: subjects('group:system:masters') },
  { role: 'system:basic-user', subjects: subjects('group:system:authenticated') },
  { role: 'system:discovery', subjects: subjects('group:system:authenticated') },
  { role: 'system:kube-controller-manager', subjects: subjects('user:system:kube-controller-manager') },
  { role: 'system:kube-dns', subjects: subjects('account:kube-dns') },
  { role: 'system:kube-scheduler', subjects: subjects('user:system:kube-scheduler') },
  { role: 'system:monitoring', subjects: subjects('group:system:monitoring') },
  // Bound to nobody: the Node authorizer knows better what a node may do.
  { role: 'system:node', subjects: [] },
  { role: 'system:node-proxier', subjects: subjects('user:system:kube-proxy') },
  {
    role: 'system:public-info-viewer',
    subjects: subjects('group:system:authenticated group:system:unauthenticated'),
  },
  { role: 'system:service-account-issuer-discovery', subjects: subjects('group:system:serviceaccounts') },
  { role: 'system:volume-scheduler', subjects: subjects('user:system:kube-scheduler') },
]

export const NAMESPACED_BINDINGS: readonly DefaultBinding[] = [
  {
    role: 'system:controller:bootstrap-signer',
    namespace: 'kube-public',
    subjects: subjects('account:bootstrap-signer'),
  },
  {
    role: 'extension-apiserver-authentication-reader',
    name: 'system::extension-apiserver-authentication-reader',
    namespace: 'kube-system',
    subjects: subjects('user:system:kube-controller-manager user:system:kube-scheduler'),
  },
  {
    role: 'system::leader-locking-kube-controller-manager',
    namespace: 'kube-system',
    subjects: subjects(
      'user:system:kube-controller-manager account:kube-controller-manager account:leader-election-controller',
    ),
  },
  {
    role: 'system::leader-locking-kube-scheduler',
    namespace: 'kube-system',
    subjects: subjects('user:system:kube-scheduler account:kube-scheduler'),
  },
  {
    role: 'system:controller:bootstrap-signer',
    namespace: 'kube-system',
    subjects: subjects('account:bootstrap-signer'),
  },
  { role: 'system:controller:cloud-provider', namespace: 'kube-system', subjects: subjects('account:cloud-provider') },
  { role: 'system:controller:token-cleaner', namespace: 'kube-system', subjects: subjects('account:token-cleaner') },
]
