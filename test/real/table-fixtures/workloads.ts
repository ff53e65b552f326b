/** Controllers of pods, and jobs from their start to their end. */
import { object } from '../codec-fixtures.ts'
import { type Ago, condition, hour, labels, minute, selector, type TableFixture, template } from './parts.ts'

function job(
  name: string,
  spec: object,
  status: object | undefined,
  rest: Partial<TableFixture> & { finalizers?: string[] } = {},
): TableFixture {
  const { finalizers = [], deleted } = rest
  const made = object('batch/v1', 'Job', `table-${name}`, {
    spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } }, ...spec },
  })
  return {
    object: { ...made, metadata: { ...made.metadata, finalizers } },
    ...(status === undefined ? {} : { status }),
    ...(deleted === undefined ? {} : { deleted }),
  }
}

export function workloadFixtures(ago: Ago): TableFixture[] {
  const counts = { replicas: 3, readyReplicas: 2, availableReplicas: 1 }
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'table', uid: '1', controller: true }
  const jobCondition = (type: string) => condition(type, 'True', { lastTransitionTime: ago(minute), reason: 'R' })
  const met = { startTime: ago(hour), uncountedTerminatedPods: {} }
  return [
    {
      object: object('apps/v1', 'Deployment', 'table', { spec: { replicas: 3, selector, template } }),
      status: { ...counts, updatedReplicas: 3 },
    },
    { object: object('apps/v1', 'ReplicaSet', 'table', { spec: { replicas: 3, selector, template } }), status: counts },
    {
      object: object('apps/v1', 'StatefulSet', 'table', {
        spec: { replicas: 3, serviceName: 's', selector, template },
      }),
      status: counts,
    },
    {
      object: object('apps/v1', 'DaemonSet', 'table', {
        spec: {
          selector,
          template: { ...template, spec: { ...template.spec, nodeSelector: { zone: 'b', disk: 'ssd' } } },
        },
      }),
      status: {
        desiredNumberScheduled: 5,
        currentNumberScheduled: 4,
        numberReady: 3,
        updatedNumberScheduled: 2,
        numberAvailable: 1,
        numberMisscheduled: 0,
      },
    },
    {
      object: object('apps/v1', 'DaemonSet', 'table-expressions', {
        spec: {
          selector: {
            matchExpressions: [
              { key: 'tier', operator: 'Exists' },
              { key: 'old', operator: 'DoesNotExist' },
              { key: 'app', operator: 'NotIn', values: ['x', 'a'] },
            ],
          },
          template,
        },
      }),
    },
    {
      object: object('v1', 'ReplicationController', 'table', { spec: { replicas: 2, selector: labels, template } }),
      status: { replicas: 2, readyReplicas: 1 },
    },
    { object: object('v1', 'PodTemplate', 'table', { template }) },
    {
      object: object('apps/v1', 'ControllerRevision', 'table', {
        metadata: { name: 'table', ownerReferences: [owner] },
        revision: 7,
        data: {},
      }),
    },
    {
      object: object('policy/v1', 'PodDisruptionBudget', 'table', { spec: { maxUnavailable: 0, selector } }),
      status: { disruptionsAllowed: 2, currentHealthy: 1, desiredHealthy: 1, expectedPods: 3 },
    },
    job(
      'running',
      { completions: 3, parallelism: 2 },
      { startTime: ago(90 * minute), active: 1, succeeded: 1, ready: 0, uncountedTerminatedPods: {} },
    ),
    job('queue', { parallelism: 4 }, undefined),
    job('suspended', { suspend: true }, { conditions: [jobCondition('Suspended')] }),
    job(
      'complete',
      { completions: 1 },
      {
        ...met,
        completionTime: ago(10 * minute),
        succeeded: 1,
        conditions: [jobCondition('SuccessCriteriaMet'), jobCondition('Complete')],
      },
    ),
    job(
      'failed',
      { backoffLimit: 0 },
      { ...met, failed: 1, conditions: [jobCondition('FailureTarget'), jobCondition('Failed')] },
    ),
    job('failing', { backoffLimit: 0 }, { ...met, failed: 1, conditions: [jobCondition('FailureTarget')] }),
    job('meeting', { completions: 1 }, { ...met, succeeded: 1, conditions: [jobCondition('SuccessCriteriaMet')] }),
    job('deleted', {}, undefined, { finalizers: ['example.com/keep'], deleted: true }),
    {
      object: object('batch/v1', 'CronJob', 'table', {
        spec: {
          schedule: '*/5 * * * *',
          timeZone: 'Europe/Amsterdam',
          suspend: true,
          jobTemplate: { spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } } } },
        },
      }),
      status: { lastScheduleTime: ago(4 * minute), active: [{ name: 'a' }, { name: 'b' }] },
    },
  ]
}
