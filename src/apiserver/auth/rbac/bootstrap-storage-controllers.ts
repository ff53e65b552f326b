/** What the controllers of storage, of devices and of credentials may do. Each runs as a ServiceAccount of its own. */
import { FOLLOW, READ, READ_UPDATE, RECORD_EVENTS, type RuleTable, rule } from './bootstrap-rules.ts'

export const STORAGE_CONTROLLER_RULES: RuleTable = {
  'attachdetach-controller': [
    rule(FOLLOW, 'core', 'persistentvolumeclaims persistentvolumes'),
    rule(READ, 'core', 'nodes'),
    rule('update patch', 'core', 'nodes/status'),
    rule(FOLLOW, 'core', 'pods'),
    RECORD_EVENTS,
    rule('get list watch create delete', 'storage.k8s.io', 'volumeattachments'),
    rule(READ, 'storage.k8s.io', 'csidrivers'),
    rule(READ, 'storage.k8s.io', 'csinodes'),
  ],
  'device-taint-eviction-controller': [
    rule('get list watch delete', 'core', 'pods'),
    rule('update patch', 'core', 'pods/status'),
    rule(READ, 'resource.k8s.io', 'resourceclaims'),
    rule(READ, 'resource.k8s.io', 'resourceslices'),
    rule(READ, 'resource.k8s.io', 'deviceclasses'),
    RECORD_EVENTS,
  ],
  'ephemeral-volume-controller': [
    rule(READ, 'core', 'pods'),
    rule('update', 'core', 'pods/finalizers'),
    rule('get list watch create', 'core', 'persistentvolumeclaims'),
    RECORD_EVENTS,
  ],
  'expand-controller': [
    rule(READ_UPDATE, 'core', 'persistentvolumes'),
    rule('update patch', 'core', 'persistentvolumeclaims/status'),
    rule(READ, 'core', 'persistentvolumeclaims'),
    RECORD_EVENTS,
  ],
  'persistent-volume-binder': [
    rule('get list watch create update delete', 'core', 'persistentvolumes'),
    rule('update', 'core', 'persistentvolumes/status'),
    rule('get list watch update', 'core', 'persistentvolumeclaims'),
    rule('update', 'core', 'persistentvolumeclaims/status'),
    rule('get list watch create delete', 'core', 'pods'),
    rule(READ, 'storage.k8s.io', 'storageclasses'),
    rule(FOLLOW, 'core', 'nodes'),
    RECORD_EVENTS,
    rule('watch', 'core', 'events'),
  ],
  'pv-protection-controller': [rule('get list watch update', 'core', 'persistentvolumes'), RECORD_EVENTS],
  'pvc-protection-controller': [
    rule('get list watch update', 'core', 'persistentvolumeclaims'),
    rule('update', 'core', 'persistentvolumeclaims/status'),
    rule(READ, 'core', 'pods'),
    RECORD_EVENTS,
  ],
  'resource-claim-controller': [
    rule(READ, 'core', 'pods'),
    rule('update', 'core', 'pods/finalizers'),
    rule('get list watch create delete', 'resource.k8s.io', 'resourceclaims'),
    rule('update patch', 'resource.k8s.io', 'resourceclaims resourceclaims/status'),
    rule('update patch', 'core', 'pods/status'),
    RECORD_EVENTS,
    rule('update patch', 'resource.k8s.io', 'resourceclaims/binding'),
  ],
  'selinux-warning-controller': [
    RECORD_EVENTS,
    rule(READ, 'core', 'persistentvolumes'),
    rule(READ, 'core', 'persistentvolumeclaims'),
    rule(READ, 'core', 'pods'),
    rule(READ, 'storage.k8s.io', 'csidrivers'),
  ],
  'volumeattributesclass-protection-controller': [
    rule(READ, 'core', 'persistentvolumeclaims'),
    rule(READ, 'core', 'persistentvolumes'),
    rule('get list watch update', 'storage.k8s.io', 'volumeattributesclasses'),
    RECORD_EVENTS,
  ],
}

export const CREDENTIAL_CONTROLLER_RULES: RuleTable = {
  'certificate-controller': [
    rule('get list watch delete', 'certificates.k8s.io', 'certificatesigningrequests'),
    rule('update', 'certificates.k8s.io', 'certificatesigningrequests/approval certificatesigningrequests/status'),
    rule('approve', 'certificates.k8s.io', 'signers', 'kubernetes.io/kube-apiserver-client-kubelet'),
    rule(
      'sign',
      'certificates.k8s.io',
      'signers',
      'kubernetes.io/kube-apiserver-client kubernetes.io/kube-apiserver-client-kubelet kubernetes.io/kubelet-serving kubernetes.io/legacy-unknown',
    ),
    rule('create', 'authorization.k8s.io', 'subjectaccessreviews'),
    RECORD_EVENTS,
  ],
  'clusterrole-aggregation-controller': [
    rule('escalate get list watch update patch', 'rbac.authorization.k8s.io', 'clusterroles'),
  ],
  'legacy-service-account-token-cleaner': [
    rule('get', 'core', 'configmaps', 'kube-apiserver-legacy-service-account-token-tracking'),
    rule('patch delete', 'core', 'secrets'),
  ],
  'root-ca-cert-publisher': [rule('create update', 'core', 'configmaps'), RECORD_EVENTS],
  'service-account-controller': [rule('create', 'core', 'serviceaccounts'), RECORD_EVENTS],
  'validatingadmissionpolicy-status-controller': [
    rule(READ, 'admissionregistration.k8s.io', 'validatingadmissionpolicies'),
    rule('get update patch', 'admissionregistration.k8s.io', 'validatingadmissionpolicies/status'),
    RECORD_EVENTS,
  ],
}
