/** Claims of devices, and groups of pods. */
import { object } from '../codec-fixtures.ts'
import { type Ago, condition, hour, type TableFixture } from './parts.ts'

export function deviceFixtures(ago: Ago): TableFixture[] {
  const requests = { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } }
  const claim = (name: string, rest: Partial<TableFixture> = {}, metadata: object = {}): TableFixture => ({
    object: object('resource.k8s.io/v1', 'ResourceClaim', `table-${name}`, {
      metadata: { name: `table-${name}`, ...metadata },
      spec: requests,
    }),
    ...rest,
  })
  const group = (name: string, spec: object, conditions: readonly object[] = []): TableFixture => ({
    object: object('scheduling.k8s.io/v1alpha2', 'PodGroup', `table-${name}`, { spec }),
    status: { conditions },
  })
  const since = { lastTransitionTime: ago(3 * hour), reason: 'Because', message: '' }
  const gang = { gang: { minCount: 2 } }
  const pools = (name: string, status?: object): TableFixture => ({
    object: object('resource.k8s.io/v1alpha3', 'ResourcePoolStatusRequest', `table-${name}`, {
      spec: { driver: 'd.example.com' },
    }),
    ...(status === undefined ? {} : { status }),
  })
  const pool = { driver: 'd.example.com', generation: 1, resourceSliceCount: 1 }
  const counted = { totalDevices: 4, allocatedDevices: 1, availableDevices: 2, unavailableDevices: 1 }
  const allocation = { devices: { results: [{ request: 'r', driver: 'd.example.com', pool: 'p', device: 'one' }] } }
  return [
    claim('allocated', { status: { allocation } }),
    claim('reserved', { status: { allocation, reservedFor: [{ resource: 'pods', name: 'x', uid: '1' }] } }),
    claim('deleted', { deleted: true }, { finalizers: ['example.com/keep'] }),
    {
      object: object('scheduling.k8s.io/v1alpha2', 'Workload', 'table', {
        spec: { podGroupTemplates: [{ name: 'workers', schedulingPolicy: gang }] },
      }),
    },
    group('basic', { schedulingPolicy: { basic: {} } }),
    group(
      'scheduled',
      {
        schedulingPolicy: gang,
        podGroupTemplateRef: { workload: { workloadName: 'table', podGroupTemplateName: 'workers' } },
      },
      [condition('PodGroupScheduled', 'True', since)],
    ),
    group('unschedulable', { schedulingPolicy: gang }, [condition('PodGroupScheduled', 'False', since)]),
    group('disrupted', { schedulingPolicy: gang }, [
      condition('PodGroupScheduled', 'True', since),
      condition('DisruptionTarget', 'True', since),
    ]),
    pools('pending'),
    pools('complete', {
      poolCount: 3,
      pools: [
        { ...pool, ...counted, poolName: 'a' },
        { ...pool, ...counted, poolName: 'b' },
      ],
      conditions: [condition('Complete', 'True', since)],
    }),
    pools('failed', { conditions: [condition('Failed', 'True', since)], poolCount: 0 }),
    { object: object('resource.k8s.io/v1', 'ResourceClaimTemplate', 'table', { spec: { spec: requests } }) },
    {
      object: object('resource.k8s.io/v1', 'ResourceSlice', 'table', {
        spec: {
          driver: 'd.example.com',
          nodeName: 'n',
          pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
          devices: [{ name: 'one' }],
        },
      }),
    },
    {
      object: object('resource.k8s.io/v1beta2', 'DeviceTaintRule', 'table', {
        spec: {
          deviceSelector: { driver: 'd.example.com' },
          taint: { key: 'example.com/k', value: 'v', effect: 'NoExecute', timeAdded: ago(2 * hour) },
        },
      }),
    },
  ]
}
