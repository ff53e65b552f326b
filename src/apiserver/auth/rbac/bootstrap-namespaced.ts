/** The default roles that count in one namespace only, by namespace. */
import { READ, RECORD_EVENTS, type RuleTable, rule } from './bootstrap-rules.ts'

const HOLD_LEASES = 'get list watch create update'
const leaderLocking = [
  rule(HOLD_LEASES, 'coordination.k8s.io', 'leases'),
  rule(HOLD_LEASES, 'coordination.k8s.io', 'leasecandidates'),
]

export const NAMESPACED_RULES: Readonly<Record<string, RuleTable>> = {
  'kube-public': {
    'system:controller:bootstrap-signer': [
      rule(READ, 'core', 'configmaps'),
      rule('update', 'core', 'configmaps', 'cluster-info'),
      RECORD_EVENTS,
    ],
  },
  'kube-system': {
    'extension-apiserver-authentication-reader': [
      rule(READ, 'core', 'configmaps', 'extension-apiserver-authentication'),
    ],
    'system::leader-locking-kube-controller-manager': leaderLocking,
    'system::leader-locking-kube-scheduler': leaderLocking,
    'system:controller:bootstrap-signer': [rule(READ, 'core', 'secrets')],
    'system:controller:cloud-provider': [rule('get list watch create', 'core', 'configmaps')],
    'system:controller:token-cleaner': [rule('get list watch delete', 'core', 'secrets'), RECORD_EVENTS],
  },
}
