/** Devices that pods claim, and groups of pods that are scheduled together. */
import type { KubeObject } from '../objects.ts'
import { NONE, textColumn } from './common-cells.ts'
import { humanAge } from './human-duration.ts'
import { AGE_COLUMN, type Cell, type Column, column, layout, NAME_COLUMN, type TableLayout } from './layout.ts'
import { at, conditionAt, hasTrueCondition, integerAt, listAt, textAt, timeMsAt } from './paths.ts'

const nameAndAge = layout([NAME_COLUMN, AGE_COLUMN])

function claimState(object: KubeObject): Cell {
  const deleted = at(object, 'metadata', 'deletionTimestamp') !== undefined
  const states = deleted ? ['deleted'] : []
  if (at(object, 'status', 'allocation') === undefined) return deleted ? 'deleted' : 'pending'
  states.push('allocated')
  if (listAt(object, 'status', 'reservedFor').length > 0) states.push('reserved')
  return states.join(',')
}

const deviceTaintRule = layout([
  NAME_COLUMN,
  textColumn('Key', 'Key of the taint.', ['spec', 'taint', 'key']),
  textColumn('Value', 'Value of the taint.', ['spec', 'taint', 'value']),
  textColumn('Effect', 'What it does to pods.', ['spec', 'taint', 'effect']),
  column('TimeAdded', 'Time since it took effect.', (object, nowMs) => {
    const addedMs = timeMsAt(object, 'spec', 'taint', 'timeAdded')
    return addedMs === undefined ? '' : humanAge(addedMs, nowMs)
  }),
  AGE_COLUMN,
])

/** Nothing is known before there is a status, and nothing sure when the observation failed. */
function poolColumn(name: string, description: string, count: (pool: unknown) => number): Column {
  return column(name, description, (object) => {
    if (at(object, 'status') === undefined || requestStatus(object) === 'Failed') return '-'
    return String(listAt(object, 'status', 'pools').reduce<number>((total, pool) => total + count(pool), 0))
  })
}

function requestStatus(object: KubeObject): 'Complete' | 'Failed' | 'Pending' {
  const types = listAt(object, 'status', 'conditions').map((condition) => textAt(condition, 'type'))
  const decided = types.find((type) => ['Complete', 'Failed'].includes(type) && hasTrueCondition(object, type))
  return (decided as 'Complete' | 'Failed' | undefined) ?? 'Pending'
}

function requestStatusCell(object: KubeObject): Cell {
  const status = requestStatus(object)
  const [listed, all] = [listAt(object, 'status', 'pools').length, integerAt(object, 'status', 'poolCount')]
  return status === 'Complete' && all > listed ? `Complete (${listed}/${all} pools)` : status
}

function completedCell(object: KubeObject, nowMs: number): Cell {
  if (requestStatus(object) !== 'Complete') return NONE
  return humanAge(timeMsAt(conditionAt(object, 'Complete'), 'lastTransitionTime'), nowMs)
}

const poolStatusRequest = layout([
  NAME_COLUMN,
  textColumn('Driver', 'Driver whose pools are asked about.', ['spec', 'driver']),
  poolColumn('Total', 'Devices in all pools.', (pool) => integerAt(pool, 'totalDevices')),
  poolColumn('Available', 'Devices that are free.', (pool) => integerAt(pool, 'availableDevices')),
  poolColumn('Allocated', 'Devices that are in use.', (pool) => integerAt(pool, 'allocatedDevices')),
  poolColumn('Unavailable', 'Devices that cannot be used.', (pool) => integerAt(pool, 'unavailableDevices')),
  poolColumn('Errors', 'Pools that are not valid.', (pool) => (at(pool, 'validationError') === undefined ? 0 : 1)),
  column('Pools', 'Pools that match.', (object) => integerAt(object, 'status', 'poolCount'), 'integer'),
  column('Status', 'How far it has come.', requestStatusCell),
  column('Completed', 'Time since the answer.', completedCell),
])

const podGroup = layout([
  NAME_COLUMN,
  column('Policy', 'Whether all go or each for itself.', (object) =>
    at(object, 'spec', 'schedulingPolicy', 'gang') === undefined ? 'Basic' : 'Gang',
  ),
  column('Workload', 'Workload it was made from.', workloadName),
  column('Status', 'Whether it is scheduled.', podGroupStatus),
  AGE_COLUMN,
])

function workloadName(object: KubeObject): Cell {
  const template = at(object, 'spec', 'podGroupTemplateRef')
  return template === undefined ? NONE : textAt(template, 'workload', 'workloadName')
}

/** A disruption outranks everything and speaks for itself. */
function podGroupStatus(object: KubeObject): Cell {
  const disruption = conditionAt(object, 'DisruptionTarget')
  if (disruption !== undefined) return textAt(disruption, 'reason')
  if (conditionAt(object, 'PodGroupScheduled') === undefined) return 'Pending'
  return hasTrueCondition(object, 'PodGroupScheduled') ? 'Scheduled' : 'Unschedulable'
}

export const DEVICE_LAYOUTS: Readonly<Record<string, TableLayout>> = {
  'DeviceClass.resource.k8s.io': nameAndAge,
  'ResourceClaim.resource.k8s.io': layout([
    NAME_COLUMN,
    column('State', 'Whether it is allocated and in use.', claimState),
    AGE_COLUMN,
  ]),
  'ResourceClaimTemplate.resource.k8s.io': nameAndAge,
  'ResourceSlice.resource.k8s.io': layout([
    NAME_COLUMN,
    textColumn('Node', 'Node that has the devices.', ['spec', 'nodeName']),
    textColumn('Driver', 'Driver of the devices.', ['spec', 'driver']),
    textColumn('Pool', 'Pool they belong to.', ['spec', 'pool', 'name']),
    AGE_COLUMN,
  ]),
  'ResourcePoolStatusRequest.resource.k8s.io': poolStatusRequest,
  'DeviceTaintRule.resource.k8s.io': deviceTaintRule,
  'Workload.scheduling.k8s.io': nameAndAge,
  'PodGroup.scheduling.k8s.io': podGroup,
}
