/**
 * Strings that a field may hold, where Kubernetes lists them for the stable API versions. `kubectl explain` prints them;
 * nothing is validated with them.
 */
import { CERTIFICATE_USAGES } from '../kinds/access/certificate-usages.ts'

/** Values in the order in which they are printed, and the fields that take them: package, message and field. */
const rows: readonly (readonly [values: readonly string[], fields: readonly string[]])[] = [
  [
    ['Equivalent', 'Exact'],
    [
      'api.admissionregistration.v1.MatchResources.matchPolicy',
      'api.admissionregistration.v1.MutatingWebhook.matchPolicy',
      'api.admissionregistration.v1.ValidatingWebhook.matchPolicy',
    ],
  ],
  [
    ['Fail', 'Ignore'],
    [
      'api.admissionregistration.v1.MutatingAdmissionPolicySpec.failurePolicy',
      'api.admissionregistration.v1.MutatingWebhook.failurePolicy',
      'api.admissionregistration.v1.ValidatingAdmissionPolicySpec.failurePolicy',
      'api.admissionregistration.v1.ValidatingWebhook.failurePolicy',
    ],
  ],
  [
    ['IfNeeded', 'Never'],
    [
      'api.admissionregistration.v1.MutatingAdmissionPolicySpec.reinvocationPolicy',
      'api.admissionregistration.v1.MutatingWebhook.reinvocationPolicy',
    ],
  ],
  [
    ['None', 'NoneOnDryRun', 'Some', 'Unknown'],
    [
      'api.admissionregistration.v1.MutatingWebhook.sideEffects',
      'api.admissionregistration.v1.ValidatingWebhook.sideEffects',
    ],
  ],
  [['ApplyConfiguration', 'JSONPatch'], ['api.admissionregistration.v1.Mutation.patchType']],
  [
    ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'],
    [
      'api.admissionregistration.v1.NamedRuleWithOperations.operations',
      'api.admissionregistration.v1.RuleWithOperations.operations',
    ],
  ],
  [
    ['*', 'Cluster', 'Namespaced'],
    [
      'api.admissionregistration.v1.NamedRuleWithOperations.scope',
      'api.admissionregistration.v1.RuleWithOperations.scope',
    ],
  ],
  [['Audit', 'Deny', 'Warn'], ['api.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec.validationActions']],
  [
    ['OnDelete', 'RollingUpdate'],
    ['api.apps.v1.DaemonSetUpdateStrategy.type', 'api.apps.v1.StatefulSetUpdateStrategy.type'],
  ],
  [['Recreate', 'RollingUpdate'], ['api.apps.v1.DeploymentStrategy.type']],
  [['OrderedReady', 'Parallel'], ['api.apps.v1.StatefulSetSpec.podManagementPolicy']],
  [['Allow', 'Forbid', 'Replace'], ['api.batch.v1.CronJobSpec.concurrencyPolicy']],
  [['Indexed', 'NonIndexed'], ['api.batch.v1.JobSpec.completionMode']],
  [['Failed', 'TerminatingOrFailed'], ['api.batch.v1.JobSpec.podReplacementPolicy']],
  [['In', 'NotIn'], ['api.batch.v1.PodFailurePolicyOnExitCodesRequirement.operator']],
  [['Count', 'FailIndex', 'FailJob', 'Ignore'], ['api.batch.v1.PodFailurePolicyRule.action']],
  [CERTIFICATE_USAGES, ['api.certificates.v1.CertificateSigningRequestSpec.usages']],
  [
    ['Localhost', 'RuntimeDefault', 'Unconfined'],
    ['api.core.v1.AppArmorProfile.type', 'api.core.v1.SeccompProfile.type'],
  ],
  [['None', 'ReadOnly', 'ReadWrite'], ['api.core.v1.AzureDiskVolumeSource.cachingMode']],
  [['Dedicated', 'Managed', 'Shared'], ['api.core.v1.AzureDiskVolumeSource.kind']],
  [
    ['Always', 'IfNotPresent', 'Never'],
    [
      'api.core.v1.Container.imagePullPolicy',
      'api.core.v1.EphemeralContainer.imagePullPolicy',
      'api.core.v1.ImageVolumeSource.pullPolicy',
    ],
  ],
  [
    ['FallbackToLogsOnError', 'File'],
    ['api.core.v1.Container.terminationMessagePolicy', 'api.core.v1.EphemeralContainer.terminationMessagePolicy'],
  ],
  [
    ['SCTP', 'TCP', 'UDP'],
    [
      'api.core.v1.ContainerPort.protocol',
      'api.core.v1.EndpointPort.protocol',
      'api.core.v1.PortStatus.protocol',
      'api.core.v1.ServicePort.protocol',
      'api.discovery.v1.EndpointPort.protocol',
      'api.networking.v1.IngressPortStatus.protocol',
      'api.networking.v1.NetworkPolicyPort.protocol',
    ],
  ],
  [
    [
      'SIGABRT',
      'SIGALRM',
      'SIGBUS',
      'SIGCHLD',
      'SIGCLD',
      'SIGCONT',
      'SIGFPE',
      'SIGHUP',
      'SIGILL',
      'SIGINT',
      'SIGIO',
      'SIGIOT',
      'SIGKILL',
      'SIGPIPE',
      'SIGPOLL',
      'SIGPROF',
      'SIGPWR',
      'SIGQUIT',
      'SIGRTMAX',
      'SIGRTMAX-1',
      'SIGRTMAX-10',
      'SIGRTMAX-11',
      'SIGRTMAX-12',
      'SIGRTMAX-13',
      'SIGRTMAX-14',
      'SIGRTMAX-2',
      'SIGRTMAX-3',
      'SIGRTMAX-4',
      'SIGRTMAX-5',
      'SIGRTMAX-6',
      'SIGRTMAX-7',
      'SIGRTMAX-8',
      'SIGRTMAX-9',
      'SIGRTMIN',
      'SIGRTMIN+1',
      'SIGRTMIN+10',
      'SIGRTMIN+11',
      'SIGRTMIN+12',
      'SIGRTMIN+13',
      'SIGRTMIN+14',
      'SIGRTMIN+15',
      'SIGRTMIN+2',
      'SIGRTMIN+3',
      'SIGRTMIN+4',
      'SIGRTMIN+5',
      'SIGRTMIN+6',
      'SIGRTMIN+7',
      'SIGRTMIN+8',
      'SIGRTMIN+9',
      'SIGSEGV',
      'SIGSTKFLT',
      'SIGSTOP',
      'SIGSYS',
      'SIGTERM',
      'SIGTRAP',
      'SIGTSTP',
      'SIGTTIN',
      'SIGTTOU',
      'SIGURG',
      'SIGUSR1',
      'SIGUSR2',
      'SIGVTALRM',
      'SIGWINCH',
      'SIGXCPU',
      'SIGXFSZ',
    ],
    ['api.core.v1.ContainerStatus.stopSignal', 'api.core.v1.Lifecycle.stopSignal'],
  ],
  [['HTTP', 'HTTPS'], ['api.core.v1.HTTPGetAction.scheme']],
  [
    ['', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket'],
    ['api.core.v1.HostPathVolumeSource.type'],
  ],
  [['InProgress', 'Infeasible', 'Pending'], ['api.core.v1.ModifyVolumeStatus.status']],
  [['Active', 'Terminating'], ['api.core.v1.NamespaceStatus.phase']],
  [['DoesNotExist', 'Exists', 'Gt', 'In', 'Lt', 'NotIn'], ['api.core.v1.NodeSelectorRequirement.operator']],
  [['Pending', 'Running', 'Terminated'], ['api.core.v1.NodeStatus.phase']],
  [
    ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'],
    [
      'api.core.v1.PersistentVolumeClaimSpec.accessModes',
      'api.core.v1.PersistentVolumeClaimStatus.accessModes',
      'api.core.v1.PersistentVolumeSpec.accessModes',
    ],
  ],
  [
    ['Block', 'Filesystem'],
    ['api.core.v1.PersistentVolumeClaimSpec.volumeMode', 'api.core.v1.PersistentVolumeSpec.volumeMode'],
  ],
  [
    [
      'ControllerResizeInProgress',
      'ControllerResizeInfeasible',
      'NodeResizeInProgress',
      'NodeResizeInfeasible',
      'NodeResizePending',
    ],
    ['api.core.v1.PersistentVolumeClaimStatus.allocatedResourceStatuses'],
  ],
  [['Bound', 'Lost', 'Pending'], ['api.core.v1.PersistentVolumeClaimStatus.phase']],
  [
    ['Delete', 'Recycle', 'Retain'],
    ['api.core.v1.PersistentVolumeSpec.persistentVolumeReclaimPolicy', 'api.storage.v1.StorageClass.reclaimPolicy'],
  ],
  [['Available', 'Bound', 'Failed', 'Pending', 'Released'], ['api.core.v1.PersistentVolumeStatus.phase']],
  [['Always', 'OnRootMismatch'], ['api.core.v1.PodSecurityContext.fsGroupChangePolicy']],
  [['Merge', 'Strict'], ['api.core.v1.PodSecurityContext.supplementalGroupsPolicy']],
  [['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'], ['api.core.v1.PodSpec.dnsPolicy']],
  [
    ['Never', 'PreemptLowerPriority'],
    ['api.core.v1.PodSpec.preemptionPolicy', 'api.scheduling.v1.PriorityClass.preemptionPolicy'],
  ],
  [['Always', 'Never', 'OnFailure'], ['api.core.v1.PodSpec.restartPolicy']],
  [['Failed', 'Pending', 'Running', 'Succeeded', 'Unknown'], ['api.core.v1.PodStatus.phase']],
  [['BestEffort', 'Burstable', 'Guaranteed'], ['api.core.v1.PodStatus.qosClass']],
  [
    [
      'BestEffort',
      'CrossNamespacePodAffinity',
      'NotBestEffort',
      'NotTerminating',
      'PriorityClass',
      'Terminating',
      'VolumeAttributesClass',
    ],
    ['api.core.v1.ResourceQuotaSpec.scopes', 'api.core.v1.ScopedResourceSelectorRequirement.scopeName'],
  ],
  [['DoesNotExist', 'Exists', 'In', 'NotIn'], ['api.core.v1.ScopedResourceSelectorRequirement.operator']],
  [['Default', 'Unmasked'], ['api.core.v1.SecurityContext.procMount']],
  [
    ['Cluster', 'Local'],
    ['api.core.v1.ServiceSpec.externalTrafficPolicy', 'api.core.v1.ServiceSpec.internalTrafficPolicy'],
  ],
  [['', 'IPv4', 'IPv6'], ['api.core.v1.ServiceSpec.ipFamilies']],
  [['PreferDualStack', 'RequireDualStack', 'SingleStack'], ['api.core.v1.ServiceSpec.ipFamilyPolicy']],
  [['ClientIP', 'None'], ['api.core.v1.ServiceSpec.sessionAffinity']],
  [['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'], ['api.core.v1.ServiceSpec.type']],
  [
    ['NoExecute', 'NoSchedule', 'PreferNoSchedule'],
    ['api.core.v1.Taint.effect', 'api.core.v1.Toleration.effect'],
  ],
  [['Equal', 'Exists', 'Gt', 'Lt'], ['api.core.v1.Toleration.operator']],
  [
    ['Honor', 'Ignore'],
    [
      'api.core.v1.TopologySpreadConstraint.nodeAffinityPolicy',
      'api.core.v1.TopologySpreadConstraint.nodeTaintsPolicy',
    ],
  ],
  [['DoNotSchedule', 'ScheduleAnyway'], ['api.core.v1.TopologySpreadConstraint.whenUnsatisfiable']],
  [['Bidirectional', 'HostToContainer', 'None'], ['api.core.v1.VolumeMount.mountPropagation']],
  [['FQDN', 'IPv4', 'IPv6'], ['api.discovery.v1.EndpointSlice.addressType']],
  [['Exact', 'ImplementationSpecific', 'Prefix'], ['api.networking.v1.HTTPIngressPath.pathType']],
  [['Egress', 'Ingress'], ['api.networking.v1.NetworkPolicySpec.policyTypes']],
  [['AlwaysAllow', 'IfHealthyBudget'], ['api.policy.v1.PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy']],
  [['FromClaim', 'FromClass'], ['api.resource.v1.DeviceAllocationConfiguration.source']],
  [
    ['All', 'ExactCount'],
    ['api.resource.v1.DeviceSubRequest.allocationMode', 'api.resource.v1.ExactDeviceRequest.allocationMode'],
  ],
  [
    ['NoExecute', 'NoSchedule', 'None'],
    ['api.resource.v1.DeviceTaint.effect', 'api.resource.v1.DeviceToleration.effect'],
  ],
  [['Equal', 'Exists'], ['api.resource.v1.DeviceToleration.operator']],
  [['Immediate', 'WaitForFirstConsumer'], ['api.storage.v1.StorageClass.volumeBindingMode']],
  [
    ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'],
    ['apiextensions_apiserver.pkg.apis.apiextensions.v1.ValidationRule.reason'],
  ],
]

const valuesOfField = new Map(rows.flatMap(([values, fields]) => fields.map((field) => [field, values] as const)))

const root = 'k8s.io.'

export function enumValues(messageName: string, jsonName: string): readonly string[] | undefined {
  return valuesOfField.get(`${messageName.slice(root.length)}.${jsonName}`)
}
