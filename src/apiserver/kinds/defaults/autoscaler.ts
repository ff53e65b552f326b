/** Defaults of HorizontalPodAutoscalers: a metric to follow, and how fast to follow it. */
import { ensureStruct, type Fields, setWhenAbsent, struct, structs } from '../fields.ts'

const DEFAULT_CPU_PERCENT = 80
const OLD_METRICS_ANNOTATION = 'autoscaling.alpha.kubernetes.io/metrics'

const periodSeconds = 15
const scaleUp = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds },
    { type: 'Percent', value: 100, periodSeconds },
  ],
}
const scaleDown = { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds }] }

export function completeAutoscaler(autoscaler: Fields): void {
  const spec = ensureStruct(autoscaler, 'spec')
  if (structs(spec, 'metrics').length === 0) {
    const target = { type: 'Utilization', averageUtilization: DEFAULT_CPU_PERCENT }
    spec['metrics'] = [{ type: 'Resource', resource: { name: 'cpu', target } }]
  }
  const behavior = struct(spec, 'behavior')
  if (behavior === undefined) return
  completeScaling(ensureStruct(behavior, 'scaleUp'), scaleUp)
  completeScaling(ensureStruct(behavior, 'scaleDown'), scaleDown)
}

function completeScaling(rules: Fields, defaults: Fields): void {
  for (const [name, value] of Object.entries(defaults)) setWhenAbsent(rules, name, structuredClone(value))
}

/** Version 1 has one metric in a field of its own, and keeps others in an annotation. */
export function completeOldAutoscaler(autoscaler: Fields): void {
  const annotations = struct(struct(autoscaler, 'metadata'), 'annotations')
  const hasOthers = annotations !== undefined && OLD_METRICS_ANNOTATION in annotations
  const spec = ensureStruct(autoscaler, 'spec')
  if (!hasOthers) setWhenAbsent(spec, 'targetCPUUtilizationPercentage', DEFAULT_CPU_PERCENT)
}
