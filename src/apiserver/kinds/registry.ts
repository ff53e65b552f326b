/** From a kind to its strategy. Kinds without rules of their own are stored as given, after the checks of metadata. */
import { findResourceOfKind, splitApiVersion } from '../../kube/schema/catalogue.ts'
import { CSR_RULES } from './access/csr.ts'
import { CLUSTER_ROLE_BINDING_RULES, CLUSTER_ROLE_RULES, ROLE_BINDING_RULES, ROLE_RULES } from './access/rbac.ts'
import { WEBHOOK_CONFIGURATION_RULES } from './access/webhooks.ts'
import { API_SERVICE_RULES } from './cluster/api-service.ts'
import { PRIORITY_CLASS_RULES, RUNTIME_CLASS_RULES } from './cluster/classes.ts'
import { DISRUPTION_BUDGET_RULES } from './cluster/disruption-budget.ts'
import { FLOW_SCHEMA_RULES } from './cluster/flow-schema.ts'
import { LEASE_RULES } from './cluster/lease.ts'
import { PRIORITY_LEVEL_RULES } from './cluster/priority-level.ts'
import { CONFIG_MAP_RULES, SECRET_RULES } from './core/config-map.ts'
import { ENDPOINT_SLICE_RULES, ENDPOINTS_RULES } from './core/endpoints.ts'
import { CORE_EVENT_RULES, EVENT_RULES, KEPT_EVENT_RULES } from './core/event.ts'
import { LIMIT_RANGE_RULES } from './core/limit-range.ts'
import { NAMESPACE_RULES, SERVICE_ACCOUNT_RULES } from './core/namespace.ts'
import { NODE_RULES } from './core/node.ts'
import { RESOURCE_QUOTA_RULES } from './core/resource-quota.ts'
import { SERVICE_RULES } from './core/service.ts'
import { configKey, pathSegment } from './names.ts'
import { INGRESS_CLASS_RULES, INGRESS_RULES } from './networking/ingress.ts'
import { NETWORK_POLICY_RULES } from './networking/network-policy.ts'
import { POD_RULES } from './pods/pod.ts'
import { POD_TEMPLATE_RULES } from './pods/pod-template.ts'
import { type KindRules, makeStrategy } from './rules.ts'
import { VOLUME_RULES } from './storage/persistent-volume.ts'
import { CLAIM_RULES } from './storage/persistent-volume-claim.ts'
import { CSI_DRIVER_RULES, STORAGE_CLASS_RULES } from './storage/storage-class.ts'
import type { KindStrategy } from './strategy.ts'
import { AUTOSCALER_RULES } from './workloads/autoscaler.ts'
import { CRON_JOB_RULES } from './workloads/cronjob.ts'
import { DAEMON_SET_RULES } from './workloads/daemonset.ts'
import { DEPLOYMENT_RULES, REPLICA_SET_RULES, REPLICATION_CONTROLLER_RULES } from './workloads/deployment.ts'
import { JOB_RULES } from './workloads/job.ts'
import { CONTROLLER_REVISION_RULES, STATEFUL_SET_RULES } from './workloads/statefulset.ts'

const versioned: KindRules = { generationOf: ['spec'] }
const guarded: KindRules = { allowsUnconditionalUpdate: false }

/** By group and kind: the versions of a kind share their rules. */
const rulesByKind: Readonly<Record<string, KindRules>> = {
  '/ConfigMap': CONFIG_MAP_RULES,
  '/Endpoints': ENDPOINTS_RULES,
  '/Event': CORE_EVENT_RULES,
  '/LimitRange': LIMIT_RANGE_RULES,
  '/Namespace': NAMESPACE_RULES,
  '/Node': NODE_RULES,
  '/PersistentVolume': VOLUME_RULES,
  '/PersistentVolumeClaim': CLAIM_RULES,
  '/Pod': POD_RULES,
  '/PodTemplate': POD_TEMPLATE_RULES,
  '/ReplicationController': REPLICATION_CONTROLLER_RULES,
  '/ResourceQuota': RESOURCE_QUOTA_RULES,
  '/Secret': SECRET_RULES,
  '/Service': SERVICE_RULES,
  '/ServiceAccount': SERVICE_ACCOUNT_RULES,
  'admissionregistration.k8s.io/MutatingAdmissionPolicy': { ...versioned, ...guarded },
  'admissionregistration.k8s.io/MutatingAdmissionPolicyBinding': { ...versioned, ...guarded },
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': WEBHOOK_CONFIGURATION_RULES,
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy': { ...versioned, ...guarded, statusMetadata: 'kept' },
  'admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding': { ...versioned, ...guarded },
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': WEBHOOK_CONFIGURATION_RULES,
  'apiregistration.k8s.io/APIService': API_SERVICE_RULES,
  'apps/ControllerRevision': CONTROLLER_REVISION_RULES,
  'apps/DaemonSet': DAEMON_SET_RULES,
  'apps/Deployment': DEPLOYMENT_RULES,
  'apps/ReplicaSet': REPLICA_SET_RULES,
  'apps/StatefulSet': STATEFUL_SET_RULES,
  'autoscaling/HorizontalPodAutoscaler': AUTOSCALER_RULES,
  'batch/CronJob': CRON_JOB_RULES,
  'batch/Job': JOB_RULES,
  'certificates.k8s.io/CertificateSigningRequest': CSR_RULES,
  'certificates.k8s.io/ClusterTrustBundle': { ...guarded, name: pathSegment },
  'certificates.k8s.io/PodCertificateRequest': { ...guarded, statusMetadata: 'kept' },
  'coordination.k8s.io/Lease': LEASE_RULES,
  'coordination.k8s.io/LeaseCandidate': { ...guarded, name: configKey, allowsCreateOnUpdate: true },
  'discovery.k8s.io/EndpointSlice': ENDPOINT_SLICE_RULES,
  'events.k8s.io/Event': EVENT_RULES,
  'flowcontrol.apiserver.k8s.io/FlowSchema': FLOW_SCHEMA_RULES,
  'flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration': PRIORITY_LEVEL_RULES,
  'internal.apiserver.k8s.io/StorageVersion': { ...guarded, statusMetadata: 'kept' },
  'networking.k8s.io/Ingress': INGRESS_RULES,
  'networking.k8s.io/IngressClass': INGRESS_CLASS_RULES,
  'networking.k8s.io/NetworkPolicy': NETWORK_POLICY_RULES,
  'networking.k8s.io/ServiceCIDR': { statusMetadata: 'kept' },
  'node.k8s.io/RuntimeClass': RUNTIME_CLASS_RULES,
  'policy/PodDisruptionBudget': DISRUPTION_BUDGET_RULES,
  'rbac.authorization.k8s.io/ClusterRole': CLUSTER_ROLE_RULES,
  'rbac.authorization.k8s.io/ClusterRoleBinding': CLUSTER_ROLE_BINDING_RULES,
  'rbac.authorization.k8s.io/Role': ROLE_RULES,
  'rbac.authorization.k8s.io/RoleBinding': ROLE_BINDING_RULES,
  'resource.k8s.io/DeviceClass': versioned,
  'resource.k8s.io/DeviceTaintRule': { ...versioned, statusMetadata: 'kept' },
  'resource.k8s.io/ResourceClaim': { statusMetadata: 'kept' },
  'resource.k8s.io/ResourceSlice': versioned,
  'scheduling.k8s.io/PodGroup': { statusMetadata: 'kept' },
  'scheduling.k8s.io/PriorityClass': PRIORITY_CLASS_RULES,
  'storage.k8s.io/CSIDriver': CSI_DRIVER_RULES,
  'storage.k8s.io/CSINode': guarded,
  'storage.k8s.io/CSIStorageCapacity': guarded,
  'storage.k8s.io/StorageClass': STORAGE_CLASS_RULES,
  'storage.k8s.io/VolumeAttachment': { ...guarded, statusMetadata: 'kept' },
  'storagemigration.k8s.io/StorageVersionMigration': { ...guarded, statusMetadata: 'kept' },
}

const strategies = new Map<string, KindStrategy>()

/** The strategy of a built-in kind; for unknown kinds that of a namespaced kind without a status. */
export function strategyOf(apiVersion: string, kind: string): KindStrategy {
  const key = `${apiVersion}/${kind}`
  const known = strategies.get(key)
  if (known !== undefined) return known
  const resource = findResourceOfKind(apiVersion, kind)
  const rules = rulesByKind[`${splitApiVersion(apiVersion).group}/${kind}`] ?? {}
  const strategy = makeStrategy(rules, {
    namespaced: resource?.namespaced ?? true,
    hasStatus: resource?.subresources?.some(({ name }) => name === 'status') ?? false,
  })
  if (resource !== undefined) strategies.set(key, strategy)
  return strategy
}

/** What a request names, and the kind that is kept for it. */
export interface RequestedKind {
  readonly group: string
  readonly stored: { readonly apiVersion: string; readonly kind: string }
}

const keptEvents = makeStrategy(KEPT_EVENT_RULES, { namespaced: true, hasStatus: false })

/** The strategy for a request: that of the kept kind, unless the group through which it comes has rules of its own. */
export function strategyFor({ group, stored }: RequestedKind): KindStrategy {
  return group === 'events.k8s.io' ? keptEvents : strategyOf(stored.apiVersion, stored.kind)
}
