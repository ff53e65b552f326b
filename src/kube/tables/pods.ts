/** Pods and their templates. */
import type { KubeObject } from '../objects.ts'
import { containerColumns, formatLabels, NONE } from './common-cells.ts'
import { humanAge } from './human-duration.ts'
import {
  ageOf,
  type Cell,
  type Column,
  column,
  identifying,
  layout,
  layoutOf,
  NAME_COLUMN,
  nameOf,
  type RowCondition,
  type TableLayout,
  wideColumn,
} from './layout.ts'
import { hasTrueCondition, listAt, mapAt, textAt } from './paths.ts'
import { type PodSummary, summarisePod } from './pod-status.ts'

interface PodView {
  readonly pod: KubeObject
  readonly summary: PodSummary
}

const podColumns: readonly Column<PodView>[] = [
  identifying(column('Name', NAME_COLUMN.definition.description, ({ pod }) => nameOf(pod))),
  column('Ready', 'Containers that are ready, of all.', readyCell),
  column('Status', 'What the pod is doing, or why it does not.', ({ summary }) => summary.status),
  column('Restarts', 'Restarts of its containers, and the last one.', restartsCell),
  column('Age', 'Time since the creation.', ({ pod }, nowMs) => ageOf(pod, nowMs)),
  wideColumn('IP', 'First address of the pod.', ({ pod }) => textAt(listAt(pod, 'status', 'podIPs')[0], 'ip') || NONE),
  wideColumn('Node', 'Node it is bound to.', ({ pod }) => textAt(pod, 'spec', 'nodeName') || NONE),
  wideColumn(
    'Nominated Node',
    'Node on which others make room for it.',
    ({ pod }) => textAt(pod, 'status', 'nominatedNodeName') || NONE,
  ),
  wideColumn('Readiness Gates', 'Gates that are open, of all.', ({ pod }) => readinessGates(pod)),
]

function readyCell({ summary }: PodView): Cell {
  return `${summary.readyContainers}/${summary.totalContainers}`
}

function restartsCell({ summary: { restarts, lastRestartMs } }: PodView, nowMs: number): Cell {
  if (restarts === 0 || lastRestartMs === undefined) return String(restarts)
  return `${restarts} (${humanAge(lastRestartMs, nowMs)} ago)`
}

function readinessGates(pod: KubeObject): string {
  const gates = listAt(pod, 'spec', 'readinessGates')
  if (gates.length === 0) return NONE
  const open = gates.filter((gate) => hasTrueCondition(pod, textAt(gate, 'conditionType')))
  return `${open.length}/${gates.length}`
}

function podConditions(pod: KubeObject): readonly RowCondition[] {
  const phase = textAt(pod, 'status', 'phase')
  if (phase === 'Succeeded') return [completed(phase, 'Every container ended well.')]
  return phase === 'Failed' ? [completed(phase, 'A container ended in failure.')] : []
}

function completed(reason: string, message: string): RowCondition {
  return { type: 'Completed', status: 'True', reason, message }
}

/** The columns that are wide elsewhere are what a template is about. */
const templateContainers = containerColumns('template').map(({ definition, cell }) => ({
  definition: { ...definition, priority: 0 },
  cell,
}))

export const POD_LAYOUTS: Readonly<Record<string, TableLayout>> = {
  Pod: layoutOf((pod) => ({ pod, summary: summarisePod(pod) }), podColumns, { conditions: podConditions }),
  PodTemplate: layout([
    NAME_COLUMN,
    ...templateContainers,
    column('Pod Labels', 'Labels that pods made of it carry.', (object) =>
      formatLabels(mapAt(object, 'template', 'metadata', 'labels')),
    ),
  ]),
}
