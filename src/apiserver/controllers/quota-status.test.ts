import { isDeepStrictEqual } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { eventually, type ObjectServer, rest, startObjectServer } from '../../../test/worlds/object-server.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Clock } from '../../runtime/clock.ts'
import { builtIn } from '../objects/resource.ts'
import { type RunningController, runController } from './controller.ts'
import { QUOTA_REST_FACTOR, quotaStatusController } from './quota-status.ts'

const quotas = builtIn('v1', 'resourcequotas')
const configMaps = builtIn('v1', 'configmaps')

let server: ObjectServer
let controller: RunningController

beforeEach(async () => {
  server = await startObjectServer()
  controller = runController(quotaStatusController(server.client, server.clock), server)
})
afterEach(async () => {
  await controller.stop()
  await server.stop()
  expect(server.clock.pending).toBe(0)
})

const object = (kind: string, name: string, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { namespace: 'work', name },
  ...more,
})
const status = (): unknown => server.get(quotas, 'work', 'q')?.['status']
const counted = (used: string): object => ({ hard: { 'count/configmaps': '3' }, used: { 'count/configmaps': used } })

const isUsed = (used: string): Promise<void> => eventually(() => isDeepStrictEqual(status(), counted(used)))

it('follows what is made and what goes', async () => {
  await server.create(configMaps, object('ConfigMap', 'before'))
  await server.create(quotas, object('ResourceQuota', 'q', { spec: { hard: { 'count/configmaps': '3' } } }))
  await isUsed('1')
  await server.create(configMaps, object('ConfigMap', 'after'))
  await isUsed('2')
  await server.delete(configMaps, 'work', 'before')
  await isUsed('1')
})

it('writes nothing when nothing has changed, in whichever spelling', async () => {
  const hard = { cpu: '1' }
  await server.create(quotas, object('ResourceQuota', 'q', { spec: { hard } }))
  await eventually(() => isDeepStrictEqual(status(), { hard, used: { cpu: '0' } }))
  await server.client.update(
    { resource: quotas, namespace: 'work', name: 'q' },
    new AbortController().signal,
    (quota) => ({ ...quota, status: { hard: { cpu: '1000m' }, used: { cpu: '0' } } }),
    'status',
  )
  const version = server.get(quotas, 'work', 'q')?.metadata?.resourceVersion
  await rest()
  expect(server.get(quotas, 'work', 'q')?.metadata?.resourceVersion).toBe(version)
})

it('rests after counting, longer the longer it took', async () => {
  const sleeps: number[] = []
  let nowMs = 0
  const slowClock: Clock = {
    nowMs: () => 0,
    monotonicMs: () => (nowMs += 10),
    schedule: () => () => {},
    sleep: (ms) => Promise.resolve(void sleeps.push(ms)),
  }
  await server.create(quotas, object('ResourceQuota', 'q', { spec: { hard: { cpu: '1' } } }))
  await quotaStatusController(server.client, slowClock).reconcile('work', new AbortController().signal)
  expect(sleeps).toHaveLength(1)
  expect(sleeps[0]).toBeGreaterThanOrEqual(10 * QUOTA_REST_FACTOR)
})
