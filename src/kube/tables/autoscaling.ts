/**
 * Autoscalers and the scale of what they drive. Autoscalers are read in the shape of autoscaling/v2, in which they are
 * stored; of the old shape only the CPU target is read, for its annotations cannot restore the order of the metrics.
 */
import type { KubeObject } from '../objects.ts'
import { firstFew, NONE, UNKNOWN, UNSET } from './common-cells.ts'
import { AGE_COLUMN, type Cell, column, layout, NAME_COLUMN, nameOf, type TableLayout } from './layout.ts'
import { at, integerAt, listAt, quantityAt, textAt } from './paths.ts'

const shownMetrics = 2

const horizontalPodAutoscaler = layout([
  NAME_COLUMN,
  column('Reference', 'What it scales.', reference),
  column('Targets', 'Measured and wanted value of each metric.', targets),
  column('MinPods', 'Fewest pods it asks for.', minPods),
  column('MaxPods', 'Most pods it asks for.', (object) => integerAt(object, 'spec', 'maxReplicas')),
  column('Replicas', 'Pods it last saw.', (object) => integerAt(object, 'status', 'currentReplicas')),
  AGE_COLUMN,
])

function reference(object: KubeObject): Cell {
  return `${textAt(object, 'spec', 'scaleTargetRef', 'kind')}/${textAt(object, 'spec', 'scaleTargetRef', 'name')}`
}

function minPods(object: KubeObject): Cell {
  return at(object, 'spec', 'minReplicas') === undefined ? UNSET : String(integerAt(object, 'spec', 'minReplicas'))
}

function targets(object: KubeObject): Cell {
  const oldTarget = at(object, 'spec', 'targetCPUUtilizationPercentage')
  if (oldTarget !== undefined) {
    const current = percentage(at(object, 'status', 'currentCPUUtilizationPercentage'))
    return `cpu: ${current ?? UNKNOWN}/${percentage(oldTarget)}`
  }
  const statuses = listAt(object, 'status', 'currentMetrics')
  const metrics = listAt(object, 'spec', 'metrics').map((metric, index) => metricText(metric, statuses[index]))
  return metrics.length === 0 ? NONE : firstFew(metrics, shownMetrics, ', ')
}

/** Each type of metric keeps its settings in a field of its own, in the spec as in the status. */
const sourceFields: Readonly<Record<string, string>> = {
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
  ContainerResource: 'containerResource',
}

function metricText(metric: unknown, status: unknown): string {
  const type = textAt(metric, 'type')
  const field = sourceFields[type]
  if (field === undefined) return '<unknown type>'
  const source = at(metric, field)
  const measured = at(status, field)
  if (type === 'Resource' || type === 'ContainerResource') return resourceText(source, measured)
  if (type === 'Pods') return `${measuredQuantity(measured, 'averageValue')}/${wantedQuantity(source, 'averageValue')}`
  if (at(source, 'target', 'averageValue') === undefined) {
    return `${measuredQuantity(measured, 'value')}/${wantedQuantity(source, 'value')}`
  }
  const average = quantityAt(measured, 'current', 'averageValue') ?? UNKNOWN
  return `${average}/${wantedQuantity(source, 'averageValue')} (avg)`
}

function resourceText(source: unknown, measured: unknown): string {
  const name = textAt(source, 'name')
  if (at(source, 'target', 'averageValue') !== undefined) {
    return `${name}: ${measuredQuantity(measured, 'averageValue')}/${wantedQuantity(source, 'averageValue')}`
  }
  const current = percentage(at(measured, 'current', 'averageUtilization')) ?? UNKNOWN
  return `${name}: ${current}/${percentage(at(source, 'target', 'averageUtilization')) ?? '<auto>'}`
}

/** The two say which absence it is: no measurement yet, or one without this figure. */
function measuredQuantity(measured: unknown, figure: string): string {
  return measured === undefined ? UNKNOWN : (quantityAt(measured, 'current', figure) ?? '<nil>')
}

function wantedQuantity(source: unknown, figure: string): string {
  return quantityAt(source, 'target', figure) ?? '<nil>'
}

function percentage(value: unknown): string | undefined {
  return typeof value === 'number' ? `${value}%` : undefined
}

export const AUTOSCALING_LAYOUTS: Readonly<Record<string, TableLayout>> = {
  'HorizontalPodAutoscaler.autoscaling': horizontalPodAutoscaler,
  'Scale.autoscaling': layout([
    column('Name', 'Name of what is scaled.', nameOf),
    column('Desired', 'Pods wanted.', (object) => integerAt(object, 'spec', 'replicas'), 'integer'),
    column('Available', 'Pods that exist.', (object) => integerAt(object, 'status', 'replicas'), 'integer'),
    AGE_COLUMN,
  ]),
}
