/** Pods in every state that has a name of its own. */
import { object } from '../codec-fixtures.ts'
import { type Ago, condition, container, day, hour, minute, second, type TableFixture } from './parts.ts'

interface PodParts {
  readonly containers?: readonly string[]
  readonly spec?: object
  readonly metadata?: object
  readonly status?: object
  readonly deleted?: boolean
}

function pod(
  name: string,
  { containers = ['web'], spec = {}, metadata = {}, status, deleted }: PodParts,
): TableFixture {
  const made = object('v1', 'Pod', `table-${name}`, { spec: { containers: containers.map(container), ...spec } })
  return {
    object: { ...made, metadata: { ...made.metadata, ...metadata } },
    ...(status === undefined ? {} : { status }),
    ...(deleted === undefined ? {} : { deleted }),
  }
}

function containerStatus(name: string, state: object, rest: object = {}): object {
  return { name, image: 'i', imageID: 'sha256:1', ready: false, restartCount: 0, lastState: {}, state, ...rest }
}

const waiting = (reason: string) => ({ waiting: { reason } })

export function podFixtures(ago: Ago): TableFixture[] {
  const running = { running: { startedAt: ago(hour) } }
  const ended = (exitCode: number, rest: object = {}) => ({
    terminated: { exitCode, startedAt: ago(hour), finishedAt: ago(minute), ...rest },
  })
  const restarted = (count: number, agoMs: number) => ({
    restartCount: count,
    lastState: { terminated: { exitCode: 1, reason: 'Error', startedAt: ago(agoMs + minute), finishedAt: ago(agoMs) } },
  })
  const ready = { ready: true, started: true }
  const statuses = (phase: string, containerStatuses: readonly object[], rest: object = {}) => ({
    status: { phase, containerStatuses, ...rest },
  })
  const init = (initContainerStatuses: readonly object[], rest: object = {}) => ({
    spec: { initContainers: ['one', 'two'].map(container) },
    status: { phase: 'Pending', initContainerStatuses, ...rest },
  })
  const sidecar = { initContainers: [container('one'), { ...container('side'), restartPolicy: 'Always' }] }
  return [
    pod('pending', {}),
    pod('gated', { spec: { schedulingGates: [{ name: 'example.com/wait' }] } }),
    pod('running', {
      containers: ['web', 'log'],
      spec: { nodeName: 'table-worker' },
      ...statuses(
        'Running',
        [
          containerStatus('web', running, { ...ready, ...restarted(3, 5 * minute) }),
          containerStatus('log', running, ready),
        ],
        { podIP: '10.1.2.3', podIPs: [{ ip: '10.1.2.3' }, { ip: 'fd00::3' }], conditions: [condition('Ready')] },
      ),
    }),
    pod(
      'crashing',
      statuses('Running', [containerStatus('web', waiting('CrashLoopBackOff'), restarted(12, 3 * hour))]),
    ),
    pod('restarts-unknown', statuses('Running', [containerStatus('web', running, { ...ready, restartCount: 2 })])),
    pod('pulling', statuses('Pending', [containerStatus('web', waiting('ErrImagePull'))])),
    pod('waiting', statuses('Pending', [containerStatus('web', { waiting: {} })])),
    pod('completed', {
      ...statuses('Succeeded', [containerStatus('web', ended(0, { reason: 'Completed' }))]),
      spec: { restartPolicy: 'Never' },
    }),
    pod('failed', {
      ...statuses('Failed', [containerStatus('web', ended(1, { reason: 'Error' }))]),
      spec: { restartPolicy: 'Never' },
    }),
    pod('killed', statuses('Running', [containerStatus('web', ended(137, { reason: 'OOMKilled' }))])),
    pod('exit-code', statuses('Running', [containerStatus('web', ended(3))])),
    pod('signal', statuses('Running', [containerStatus('web', ended(137, { signal: 9 }))])),
    pod('half-completed', {
      containers: ['web', 'log'],
      ...statuses(
        'Running',
        [containerStatus('web', ended(0, { reason: 'Completed' })), containerStatus('log', running, ready)],
        {
          conditions: [condition('Ready')],
        },
      ),
    }),
    pod('half-not-ready', {
      containers: ['web', 'log'],
      ...statuses('Running', [
        containerStatus('web', ended(0, { reason: 'Completed' })),
        containerStatus('log', running, ready),
      ]),
    }),
    pod('half-failed', {
      containers: ['web', 'log'],
      ...statuses('Running', [
        containerStatus('web', ended(0, { reason: 'Completed' })),
        containerStatus('log', ended(2, { reason: 'Error' })),
      ]),
    }),
    pod('evicted', { status: { phase: 'Failed', reason: 'Evicted', message: 'no memory' } }),
    pod('init-running', init([containerStatus('one', running), containerStatus('two', waiting('PodInitializing'))])),
    pod(
      'init-second',
      init([containerStatus('one', ended(0)), containerStatus('two', running, restarted(1, 90 * second))]),
    ),
    pod('init-crashing', init([containerStatus('one', waiting('CrashLoopBackOff'), restarted(4, 20 * minute))])),
    pod('init-error', init([containerStatus('one', ended(1, { reason: 'Error' }))])),
    pod('init-exit-code', init([containerStatus('one', ended(7))])),
    pod('init-signal', init([containerStatus('one', ended(139, { signal: 11 }))])),
    pod('init-passed', {
      ...init([containerStatus('one', ended(1, { reason: 'Error' }))], {
        conditions: [condition('Initialized')],
        containerStatuses: [containerStatus('web', running, { ...ready, ...restarted(1, day) })],
      }),
    }),
    pod('sidecar', {
      spec: sidecar,
      ...statuses('Running', [containerStatus('web', running, ready)], {
        initContainerStatuses: [
          containerStatus('one', ended(0), restarted(5, minute)),
          containerStatus('side', running, { ...ready, ...restarted(2, 2 * day) }),
        ],
      }),
    }),
    pod('sidecar-starting', {
      spec: sidecar,
      status: {
        phase: 'Pending',
        initContainerStatuses: [containerStatus('one', ended(0)), containerStatus('side', running, { started: false })],
      },
    }),
    pod('gates', {
      spec: { readinessGates: [{ conditionType: 'example.com/a' }, { conditionType: 'example.com/b' }] },
      status: {
        nominatedNodeName: 'table-worker',
        conditions: [condition('example.com/a'), condition('example.com/b', 'False')],
      },
    }),
    pod('terminating', {
      spec: { nodeName: 'table-worker' },
      ...statuses('Running', [containerStatus('web', running, ready)]),
      deleted: true,
    }),
    pod('lost', {
      metadata: { finalizers: ['example.com/keep'] },
      status: { phase: 'Running', reason: 'NodeLost' },
      deleted: true,
    }),
    pod('finished-deleted', {
      metadata: { finalizers: ['example.com/keep'] },
      ...statuses('Succeeded', [containerStatus('web', ended(0, { reason: 'Completed' }))]),
      deleted: true,
    }),
  ]
}
