/**
 * HorizontalPodAutoscalers. autoscaling/v1 knows one metric, the use of CPU in percent. Whatever else an autoscaler has
 * travels through v1 in annotations, so that a client of v1 can read and write back what it does not understand.
 */

import { parseJson, printJson } from '../../../kube/codec/json.ts'
import { decodeMessage, encodeMessage } from '../../../kube/codec/object-codec.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { filledFields } from '../../../kube/present-fields.ts'
import { messageType } from '../../../kube/schema/schema.ts'
import { type Fields, isFields, struct, structs, text, textMap } from '../../kinds/fields.ts'
import { behaviorFromText, behaviorText } from './autoscaler-behavior.ts'
import { metricSpecToV1, metricSpecToV2, metricStatusToV1, metricStatusToV2 } from './autoscaler-metrics.ts'

/** What v1 stands for when it names no metric at all. */
const DEFAULT_CPU_PERCENT = 80

const prefix = 'autoscaling.alpha.kubernetes.io'
const annotations = {
  metrics: `${prefix}/metrics`,
  currentMetrics: `${prefix}/current-metrics`,
  conditions: `${prefix}/conditions`,
  behavior: `${prefix}/behavior`,
  scaleUpTolerance: `${prefix}/scale-up-tolerance`,
  scaleDownTolerance: `${prefix}/scale-down-tolerance`,
}
const ownAnnotations: readonly string[] = Object.values(annotations)

const v1 = 'k8s.io.api.autoscaling.v1'
const metricSpec = `${v1}.MetricSpec`
const metricStatus = `${v1}.MetricStatus`
const condition = `${v1}.HorizontalPodAutoscalerCondition`

export function autoscalerToV1(autoscaler: KubeObject): KubeObject {
  const [spec, status] = [struct(autoscaler, 'spec') ?? {}, struct(autoscaler, 'status') ?? {}]
  const metrics = structs(spec, 'metrics')
  const behavior = struct(spec, 'behavior')
  const carried = filledFields({
    [annotations.metrics]: listText(
      metrics.filter((metric) => cpuPercent(metric, 'target') === undefined).map(metricSpecToV1),
      metricSpec,
    ),
    [annotations.currentMetrics]: listText(structs(status, 'currentMetrics').map(metricStatusToV1), metricStatus),
    [annotations.behavior]: behavior && behaviorText(behavior),
    [annotations.conditions]: listText(structs(status, 'conditions'), condition),
  })
  const { metrics: _metrics, behavior: _behavior, ...plainSpec } = spec
  const { currentMetrics: _current, conditions: _conditions, ...plainStatus } = status
  const targetCPUUtilizationPercentage = firstPercent(metrics, 'target')
  const currentCPUUtilizationPercentage = firstPercent(structs(status, 'currentMetrics').toReversed(), 'current')
  return {
    ...withAnnotations(autoscaler, carried as Record<string, string>),
    spec: filledFields({ ...plainSpec, targetCPUUtilizationPercentage }),
    status: filledFields({ ...plainStatus, currentCPUUtilizationPercentage }),
  }
}

export function autoscalerToV2(autoscaler: KubeObject): KubeObject {
  const given = textMap(struct(autoscaler, 'metadata'), 'annotations')
  const { targetCPUUtilizationPercentage: target, ...spec } = struct(autoscaler, 'spec') ?? {}
  const { currentCPUUtilizationPercentage: current, ...status } = struct(autoscaler, 'status') ?? {}
  const others = listFromText(given[annotations.metrics], metricSpec)?.map(metricSpecToV2) ?? []
  const metrics = [...others, ...(typeof target === 'number' ? [cpuMetric(target)] : [])]
  const currentMetrics =
    listFromText(given[annotations.currentMetrics], metricStatus)?.map(metricStatusToV2) ??
    (typeof current === 'number' ? [cpuStatus(current)] : undefined)
  return {
    ...withAnnotations(autoscaler, {}),
    spec: filledFields({
      ...spec,
      metrics: metrics.length === 0 ? [cpuMetric(DEFAULT_CPU_PERCENT)] : metrics,
      behavior: behaviorFromText(given[annotations.behavior]),
    }),
    status: filledFields({
      ...status,
      currentMetrics,
      conditions: listFromText(given[annotations.conditions], condition),
    }),
  }
}

/** The object without the annotations that carry fields, except for these. */
function withAnnotations(autoscaler: KubeObject, carried: Record<string, string>): KubeObject {
  const { annotations: given = {}, ...metadata } = autoscaler.metadata ?? {}
  const kept = Object.entries(given).filter(([name]) => !ownAnnotations.includes(name))
  const all = Object.fromEntries([...kept, ...Object.entries(carried)])
  const sorted = Object.fromEntries(Object.entries(all).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return { ...autoscaler, metadata: Object.keys(all).length === 0 ? metadata : { ...metadata, annotations: sorted } }
}

function cpuMetric(averageUtilization: number): Fields {
  return { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } }
}

function cpuStatus(averageUtilization: number): Fields {
  return { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization } } }
}

/** The percentage, if this is the one metric that v1 can say in a field. */
function cpuPercent(metric: Fields, side: 'target' | 'current'): number | undefined {
  const resource = struct(metric, 'resource')
  if (text(metric, 'type') !== 'Resource' || text(resource, 'name') !== 'cpu') return undefined
  const percent = struct(resource, side)?.['averageUtilization']
  return typeof percent === 'number' ? percent : undefined
}

function firstPercent(metrics: readonly Fields[], side: 'target' | 'current'): number | undefined {
  return metrics.map((metric) => cpuPercent(metric, side)).find((percent) => percent !== undefined)
}

/** JSON as Go prints a list of this type; undefined for an empty one. */
function listText(values: readonly Fields[], typeName: string): string | undefined {
  return values.length === 0 ? undefined : printJson(values.map((value) => ordered(value, typeName)))
}

/** An annotation that cannot be read is as good as none. */
function listFromText(json: string | undefined, typeName: string): Fields[] | undefined {
  if (json === undefined) return undefined
  try {
    const values = parseJson(json)
    return Array.isArray(values) && values.every(isFields) ? values.map((value) => ordered(value, typeName)) : undefined
  } catch {
    return undefined
  }
}

function ordered(value: Fields, typeName: string): Fields {
  const message = messageType(typeName)
  return decodeMessage(message, encodeMessage(message, value).bytes).value
}
