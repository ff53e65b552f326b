/** Numbers about what the kubelet says of its pods while the API server cannot be told. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { ReportFault } from './pod-report.ts'

/** `taken`: it counts, whether or not it differs from the API server's word. `unknown`: the pod has never been read here. */
export type ReportOutcome = 'taken' | 'unknown' | ReportFault

export interface LocalPodsMetrics {
  reported(outcome: ReportOutcome): void
}

const allOutcomes: readonly ReportOutcome[] = ['taken', 'unknown', 'foreign', 'malformed']

export function createLocalPodsMetrics(registry: Registry, size: () => number): LocalPodsMetrics {
  const registers = [registry]
  const pods: Gauge = new Gauge({
    name: 'causeway_edge_local_pods',
    help: 'Pods of this node that Endpoints and EndpointSlices show as the kubelet said and not as the API server has them.',
    registers,
    collect: () => pods.set(size()),
  })
  const reports = new Counter({
    name: 'causeway_edge_local_pod_reports_total',
    help: 'Pod statuses of the kubelet that were refused while offline: taken note of, or of an unknown or foreign pod, or malformed.',
    labelNames: ['outcome'],
    registers,
  })
  for (const outcome of allOutcomes) reports.inc({ outcome }, 0)
  return { reported: (outcome) => reports.inc({ outcome }) }
}
