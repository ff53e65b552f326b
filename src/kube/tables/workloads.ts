/** What keeps pods running: deployments and their kin, and what limits the disruption of them. */
import type { KubeObject } from '../objects.ts'
import { splitApiVersion } from '../schema/catalogue.ts'
import {
  containerColumns,
  formatLabels,
  labelMapColumn,
  labelSelectorColumn,
  NONE,
  qualified,
  selectorText,
} from './common-cells.ts'
import {
  AGE_COLUMN,
  type Cell,
  type Column,
  column,
  layout,
  NAME_COLUMN,
  type TableLayout,
  wideColumn,
} from './layout.ts'
import { at, flagAt, integerAt, listAt, mapAt, textAt } from './paths.ts'

function countColumn(name: string, description: string, ...path: readonly string[]): Column {
  return column(name, description, (object) => integerAt(object, ...path), 'integer')
}

/** Replica sets and their forerunners count their pods alike. */
const replicaColumns: readonly Column[] = [
  countColumn('Desired', 'Pods wanted.', 'spec', 'replicas'),
  countColumn('Current', 'Pods that exist.', 'status', 'replicas'),
  countColumn('Ready', 'Pods that are ready.', 'status', 'readyReplicas'),
]

const readyOfDesired = column(
  'Ready',
  'Pods that are ready, of those wanted.',
  (object) => `${integerAt(object, 'status', 'readyReplicas')}/${integerAt(object, 'spec', 'replicas')}`,
)

const deployment = layout([
  NAME_COLUMN,
  readyOfDesired,
  column('Up-to-date', 'Pods of the current template.', (object) => integerAt(object, 'status', 'updatedReplicas')),
  column('Available', 'Pods that have been ready long enough.', (object) =>
    integerAt(object, 'status', 'availableReplicas'),
  ),
  AGE_COLUMN,
  ...containerColumns('spec', 'template'),
  wideColumn(
    'Selector',
    'Which pods belong to it.',
    (object) => selectorText(at(object, 'spec', 'selector')) ?? '<invalid>',
  ),
])

const daemonSet = layout([
  NAME_COLUMN,
  countColumn('Desired', 'Nodes that should run it.', 'status', 'desiredNumberScheduled'),
  countColumn('Current', 'Nodes that should and do run it.', 'status', 'currentNumberScheduled'),
  countColumn('Ready', 'Nodes on which it is ready.', 'status', 'numberReady'),
  countColumn('Up-to-date', 'Nodes that run the current template.', 'status', 'updatedNumberScheduled'),
  countColumn('Available', 'Nodes on which it has been ready long enough.', 'status', 'numberAvailable'),
  column('Node Selector', 'Labels of the nodes that should run it.', (object) =>
    formatLabels(mapAt(object, 'spec', 'template', 'spec', 'nodeSelector')),
  ),
  AGE_COLUMN,
  ...containerColumns('spec', 'template'),
  labelSelectorColumn('spec', 'selector'),
])

/** A bound on pods is a number or a percentage; 0 is one too. */
function boundColumn(name: string, description: string, field: string): Column {
  return column(name, description, (object) => {
    const bound = at(object, 'spec', field)
    return typeof bound === 'number' || typeof bound === 'string' ? String(bound) : 'N/A'
  })
}

const podDisruptionBudget = layout([
  NAME_COLUMN,
  boundColumn('Min Available', 'Pods that must stay.', 'minAvailable'),
  boundColumn('Max Unavailable', 'Pods that may be missing.', 'maxUnavailable'),
  countColumn('Allowed Disruptions', 'Pods that may be evicted now.', 'status', 'disruptionsAllowed'),
  AGE_COLUMN,
])

function controllerCell(object: KubeObject): Cell {
  const owner = listAt(object, 'metadata', 'ownerReferences').find((reference) => flagAt(reference, 'controller'))
  if (owner === undefined) return NONE
  const { group } = splitApiVersion(textAt(owner, 'apiVersion'))
  return `${qualified(textAt(owner, 'kind'), group).toLowerCase()}/${textAt(owner, 'name')}`
}

const controllerRevision = layout([
  NAME_COLUMN,
  column('Controller', 'What it is a revision of.', controllerCell),
  column('Revision', 'Its number; higher is newer.', revisionNumber),
  AGE_COLUMN,
])

/** 64 bits: may be more than a number holds. */
function revisionNumber(object: KubeObject): Cell {
  const revision = at(object, 'revision')
  return typeof revision === 'bigint' ? revision : integerAt(revision)
}

export const WORKLOAD_LAYOUTS: Readonly<Record<string, TableLayout>> = {
  ReplicationController: layout([
    NAME_COLUMN,
    ...replicaColumns,
    AGE_COLUMN,
    ...containerColumns('spec', 'template'),
    labelMapColumn('spec', 'selector'),
  ]),
  'ReplicaSet.apps': layout([
    NAME_COLUMN,
    ...replicaColumns,
    AGE_COLUMN,
    ...containerColumns('spec', 'template'),
    labelSelectorColumn('spec', 'selector'),
  ]),
  'Deployment.apps': deployment,
  'StatefulSet.apps': layout([NAME_COLUMN, readyOfDesired, AGE_COLUMN, ...containerColumns('spec', 'template')]),
  'DaemonSet.apps': daemonSet,
  'ControllerRevision.apps': controllerRevision,
  'PodDisruptionBudget.policy': podDisruptionBudget,
}
