/** Nodes, namespaces and what runs the cluster. */
import type { KubeObject } from '../objects.ts'
import { NONE, textColumn, UNKNOWN } from './common-cells.ts'
import { AGE_COLUMN, type Cell, column, layout, NAME_COLUMN, type TableLayout, wideColumn } from './layout.ts'
import { conditionAt, flagAt, listAt, mapAt, textAt } from './paths.ts'

const rolePrefix = 'node-role.kubernetes.io/'
const roleLabel = 'kubernetes.io/role'

const node = layout([
  NAME_COLUMN,
  column('Status', 'Whether it is ready, and whether pods may come.', nodeStatus),
  column('Roles', 'Roles that its labels name.', nodeRoles),
  AGE_COLUMN,
  textColumn('Version', 'Version of the kubelet.', ['status', 'nodeInfo', 'kubeletVersion']),
  wideColumn('Internal-IP', 'Its first address inside.', (object) => nodeAddress(object, 'InternalIP')),
  wideColumn('External-IP', 'Its first address outside.', (object) => nodeAddress(object, 'ExternalIP')),
  wideColumn('OS-Image', 'Its operating system.', (object) => nodeInfo(object, 'osImage')),
  wideColumn('Kernel-Version', 'Its kernel and architecture.', kernel),
  wideColumn('Container-Runtime', 'What runs its containers.', (object) => nodeInfo(object, 'containerRuntimeVersion')),
])

function nodeStatus(object: KubeObject): Cell {
  const ready = conditionAt(object, 'Ready')
  const status = ready === undefined ? 'Unknown' : textAt(ready, 'status') === 'True' ? 'Ready' : 'NotReady'
  return flagAt(object, 'spec', 'unschedulable') ? `${status},SchedulingDisabled` : status
}

function nodeRoles(object: KubeObject): Cell {
  const roles = Object.entries(mapAt(object, 'metadata', 'labels')).map(([label, value]) =>
    label.startsWith(rolePrefix) ? label.slice(rolePrefix.length) : label === roleLabel ? String(value) : '',
  )
  return [...new Set(roles.filter((role) => role !== ''))].toSorted().join(',') || NONE
}

function nodeAddress(object: KubeObject, type: string): Cell {
  const address = listAt(object, 'status', 'addresses').find((candidate) => textAt(candidate, 'type') === type)
  return address === undefined ? NONE : textAt(address, 'address')
}

function nodeInfo(object: KubeObject, field: string): string {
  return textAt(object, 'status', 'nodeInfo', field) || UNKNOWN
}

function kernel(object: KubeObject): Cell {
  const architecture = textAt(object, 'status', 'nodeInfo', 'architecture')
  const version = nodeInfo(object, 'kernelVersion')
  return architecture === '' ? version : `${version} (${architecture})`
}

const componentStatus = layout([
  NAME_COLUMN,
  column('Status', 'Whether it is healthy.', componentHealth),
  column('Message', 'What it says.', (object) => textAt(healthCondition(object), 'message')),
  column('Error', 'Why it could not be asked.', (object) => textAt(healthCondition(object), 'error')),
])

/** Component statuses have no status of their own: the conditions stand beside the metadata. */
function healthCondition(object: KubeObject): unknown {
  return listAt(object, 'conditions').find((condition) => textAt(condition, 'type') === 'Healthy')
}

function componentHealth(object: KubeObject): Cell {
  const condition = healthCondition(object)
  if (condition === undefined) return 'Unknown'
  return textAt(condition, 'status') === 'True' ? 'Healthy' : 'Unhealthy'
}

export const NODE_LAYOUTS: Readonly<Record<string, TableLayout>> = {
  Node: node,
  Namespace: layout([NAME_COLUMN, textColumn('Status', 'Active or Terminating.', ['status', 'phase']), AGE_COLUMN]),
  ComponentStatus: componentStatus,
  'RuntimeClass.node.k8s.io': layout([
    NAME_COLUMN,
    textColumn('Handler', 'Configuration of the runtime.', ['handler']),
    AGE_COLUMN,
  ]),
  'Lease.coordination.k8s.io': layout([
    NAME_COLUMN,
    textColumn('Holder', 'Who holds it.', ['spec', 'holderIdentity']),
    AGE_COLUMN,
  ]),
  'LeaseCandidate.coordination.k8s.io': layout([
    NAME_COLUMN,
    textColumn('LeaseName', 'Lease it could hold.', ['spec', 'leaseName']),
    textColumn('BinaryVersion', 'Version of the candidate.', ['spec', 'binaryVersion']),
    textColumn('EmulationVersion', 'Version it behaves like.', ['spec', 'emulationVersion']),
    AGE_COLUMN,
  ]),
}
