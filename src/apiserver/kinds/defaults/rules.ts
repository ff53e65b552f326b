/** Defaults that depend on other fields, by type. Each changes the value in place and rests after one application. */
import {
  ensureStruct,
  type Fields,
  has,
  integer,
  setWhenAbsent,
  struct,
  structs,
  text,
  textMap,
  texts,
} from '../fields.ts'
import { completeAutoscaler, completeOldAutoscaler } from './autoscaler.ts'
import { completeContainer, completePod, completeVolume } from './pod.ts'
import { completeService } from './service.ts'

const rbacGroup = 'rbac.authorization.k8s.io'
/** With a backoff limit for each index the limit for the whole job is out of reach. */
const noBackoffLimit = 2 ** 31 - 1

export const DEFAULT_RULES: Readonly<Record<string, (fields: Fields) => void>> = {
  'core.v1.Pod': completePod,
  'core.v1.PodSpec': (spec) => unifyAliases(spec, 'serviceAccountName', 'serviceAccount'),
  'core.v1.PodStatus': completePodAddresses,
  'core.v1.Container': completeContainer,
  'core.v1.EphemeralContainerCommon': completeContainer,
  'core.v1.Volume': completeVolume,
  'core.v1.Service': completeService,
  'core.v1.ReplicationController': completeReplicationController,
  'core.v1.Secret': mergeStringData,
  'core.v1.Namespace': labelNamespace,
  'core.v1.NodeSpec': completeNodeRanges,
  'core.v1.NodeStatus': completeNodeStatus,
  'core.v1.LimitRangeItem': completeLimitRangeItem,
  'apps.v1.DeploymentStrategy': (strategy) => completeRollingUpdate(strategy, '25%', '25%'),
  'apps.v1.DaemonSetUpdateStrategy': (strategy) => completeRollingUpdate(strategy, 1, 0),
  'apps.v1.StatefulSetUpdateStrategy': completeStatefulSetStrategy,
  'batch.v1.Job': completeJob,
  'autoscaling.v1.HorizontalPodAutoscaler': completeOldAutoscaler,
  'autoscaling.v2.HorizontalPodAutoscaler': completeAutoscaler,
  'networking.v1.NetworkPolicySpec': completePolicyTypes,
  'rbac.v1.Subject': completeSubject,
  'storage.v1.CSIDriverSpec': completeLifecycleModes,
  'resource.v1.ExactDeviceRequest': completeDeviceCount,
  'resource.v1.DeviceSubRequest': completeDeviceCount,
  'resource.v1beta2.ExactDeviceRequest': completeDeviceCount,
  'resource.v1beta2.DeviceSubRequest': completeDeviceCount,
  'resource.v1beta1.DeviceSubRequest': completeDeviceCount,
  'resource.v1beta1.DeviceRequest': completeOldDeviceRequest,
}

function completeReplicationController(controller: Fields): void {
  const spec = struct(controller, 'spec')
  const labels = textMap(struct(struct(spec, 'template'), 'metadata'), 'labels')
  if (spec === undefined || Object.keys(labels).length === 0) return
  if (Object.keys(textMap(spec, 'selector')).length === 0) spec['selector'] = { ...labels }
  copyLabels(controller, labels)
}

/** Only a Job itself: the template of a CronJob stays as it is until a Job is made of it. */
function completeJob(job: Fields): void {
  const spec = ensureStruct(job, 'spec')
  if (!has(spec, 'completions') && !has(spec, 'parallelism')) spec['completions'] = 1
  setWhenAbsent(spec, 'parallelism', 1)
  setWhenAbsent(spec, 'backoffLimit', has(spec, 'backoffLimitPerIndex') ? noBackoffLimit : 6)
  setWhenAbsent(spec, 'completionMode', 'NonIndexed')
  setWhenAbsent(spec, 'suspend', false)
  setWhenAbsent(spec, 'podReplacementPolicy', has(spec, 'podFailurePolicy') ? 'Failed' : 'TerminatingOrFailed')
  setWhenAbsent(spec, 'manualSelector', false)
  copyLabels(job, textMap(struct(struct(spec, 'template'), 'metadata'), 'labels'))
}

function copyLabels(object: Fields, labels: Readonly<Record<string, string>>): void {
  const metadata = ensureStruct(object, 'metadata')
  const none = Object.keys(textMap(metadata, 'labels')).length === 0
  if (none && Object.keys(labels).length > 0) metadata['labels'] = { ...labels }
}

/** `stringData` is a convenience for writers; it is never stored. */
function mergeStringData(secret: Fields): void {
  const entries = Object.entries(textMap(secret, 'stringData'))
  delete secret['stringData']
  if (entries.length === 0) return
  const encoded = entries.map(([key, value]) => [key, Buffer.from(value, 'utf8').toString('base64')] as const)
  secret['data'] = Object.fromEntries([...Object.entries(struct(secret, 'data') ?? {}), ...encoded])
}

function labelNamespace(namespace: Fields): void {
  const metadata = struct(namespace, 'metadata')
  if (metadata !== undefined && text(metadata, 'name') !== '') {
    ensureStruct(metadata, 'labels')['kubernetes.io/metadata.name'] = text(metadata, 'name')
  }
}

/** An old and a new name for one field: what stands in either stands in both, and the new one wins. */
function unifyAliases(fields: Fields, name: string, oldName: string): void {
  const value = text(fields, name) || text(fields, oldName)
  if (value === '') return
  fields[name] = value
  fields[oldName] = value
}

/** The first address of a pod or node, once in a field of its own for old clients. The single one wins. */
function completePodAddresses(status: Fields): void {
  for (const [one, all] of [
    ['podIP', 'podIPs'],
    ['hostIP', 'hostIPs'],
  ] as const) {
    const [single, first] = [text(status, one), text(structs(status, all)[0], 'ip')]
    if (single !== '' && single !== first) status[all] = [{ ip: single }]
    else if (first !== '') status[one] = first
  }
}

function completeNodeRanges(spec: Fields): void {
  const [single, first = ''] = [text(spec, 'podCIDR'), texts(spec, 'podCIDRs')[0]]
  if (single !== '' && single !== first) spec['podCIDRs'] = [single]
  else if (first !== '') spec['podCIDR'] = first
}

function completeNodeStatus(status: Fields): void {
  const capacity = struct(status, 'capacity')
  if (capacity !== undefined) setWhenAbsent(status, 'allocatable', { ...capacity })
}

/** What a limit says about containers completes what it does not say: max, then default, then min. */
function completeLimitRangeItem(item: Fields): void {
  if (text(item, 'type') !== 'Container') return
  const limits = { ...struct(item, 'max'), ...struct(item, 'default') }
  const requests = { ...struct(item, 'min'), ...limits, ...struct(item, 'defaultRequest') }
  if (Object.keys(limits).length > 0) item['default'] = limits
  if (Object.keys(requests).length > 0) item['defaultRequest'] = requests
}

function completeRollingUpdate(strategy: Fields, maxUnavailable: number | string, maxSurge: number | string): void {
  if (text(strategy, 'type') !== 'RollingUpdate') return
  const rollingUpdate = ensureStruct(strategy, 'rollingUpdate')
  setWhenAbsent(rollingUpdate, 'maxUnavailable', maxUnavailable)
  setWhenAbsent(rollingUpdate, 'maxSurge', maxSurge)
}

/** A strategy that names its type is not given a rolling update, only one that leaves everything open. */
function completeStatefulSetStrategy(strategy: Fields): void {
  if (text(strategy, 'type') === '') {
    strategy['type'] = 'RollingUpdate'
    ensureStruct(strategy, 'rollingUpdate')
  }
  const rollingUpdate = struct(strategy, 'rollingUpdate')
  if (text(strategy, 'type') !== 'RollingUpdate' || rollingUpdate === undefined) return
  setWhenAbsent(rollingUpdate, 'partition', 0)
}

function completePolicyTypes(spec: Fields): void {
  if (texts(spec, 'policyTypes').length > 0) return
  spec['policyTypes'] = structs(spec, 'egress').length > 0 ? ['Ingress', 'Egress'] : ['Ingress']
}

function completeSubject(subject: Fields): void {
  const hasGroup = ['User', 'Group'].includes(text(subject, 'kind'))
  if (hasGroup && text(subject, 'apiGroup') === '') subject['apiGroup'] = rbacGroup
}

function completeLifecycleModes(spec: Fields): void {
  if (texts(spec, 'volumeLifecycleModes').length === 0) spec['volumeLifecycleModes'] = ['Persistent']
}

function completeDeviceCount(request: Fields): void {
  if (text(request, 'allocationMode') === '') request['allocationMode'] = 'ExactCount'
  if (text(request, 'allocationMode') === 'ExactCount' && !integer(request, 'count')) request['count'] = 1
}

/** Without a class the request consists of others. */
function completeOldDeviceRequest(request: Fields): void {
  if (text(request, 'deviceClassName') !== '') completeDeviceCount(request)
}
