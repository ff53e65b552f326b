/** Autoscalers with every type of metric, measured and not. */
import { object } from '../codec-fixtures.ts'
import type { TableFixture } from './parts.ts'

export function autoscalerFixtures(): TableFixture[] {
  const metric = { name: 'requests' }
  const hpa = (
    name: string,
    metrics: readonly object[],
    currentMetrics: readonly object[],
    spec: object = {},
  ): TableFixture => ({
    object: object('autoscaling/v2', 'HorizontalPodAutoscaler', `table-${name}`, {
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'table' },
        maxReplicas: 9,
        metrics,
        ...spec,
      },
    }),
    status: { currentReplicas: 4, desiredReplicas: 5, currentMetrics },
  })
  const cpu = (target: object) => ({ type: 'Resource', resource: { name: 'cpu', target } })
  const cpuNow = (current: object) => ({ type: 'Resource', resource: { name: 'cpu', current } })
  const describedObject = { apiVersion: 'v1', kind: 'Service', name: 'table' }
  return [
    hpa(
      'cpu',
      [cpu({ type: 'Utilization', averageUtilization: 80 })],
      [cpuNow({ averageUtilization: 45, averageValue: '90m' })],
      { minReplicas: 2 },
    ),
    hpa('unknown', [cpu({ type: 'Utilization', averageUtilization: 80 })], []),
    hpa('value', [cpu({ type: 'AverageValue', averageValue: '0.5' })], [cpuNow({ averageValue: '1500m' })]),
    hpa(
      'pods',
      [{ type: 'Pods', pods: { metric, target: { type: 'AverageValue', averageValue: '1000' } } }],
      [{ type: 'Pods', pods: { metric, current: { averageValue: '500m' } } }],
    ),
    hpa(
      'mixed',
      [
        { type: 'Object', object: { describedObject, metric, target: { type: 'Value', value: '2k' } } },
        { type: 'External', external: { metric, target: { type: 'AverageValue', averageValue: '30' } } },
        {
          type: 'ContainerResource',
          containerResource: {
            name: 'memory',
            container: 'web',
            target: { type: 'Utilization', averageUtilization: 60 },
          },
        },
      ],
      [
        { type: 'Object', object: { describedObject, metric, current: { value: '1500' } } },
        { type: 'External', external: { metric, current: { averageValue: '10' } } },
      ],
    ),
    hpa(
      'averages',
      [
        { type: 'Object', object: { describedObject, metric, target: { type: 'AverageValue', averageValue: '2' } } },
        { type: 'External', external: { metric, target: { type: 'Value', value: '30' } } },
      ],
      [
        { type: 'Object', object: { describedObject, metric, current: { averageValue: '1' } } },
        { type: 'External', external: { metric, current: { value: '12' } } },
      ],
    ),
  ]
}
