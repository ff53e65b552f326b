import { describe, expect, it } from 'vitest'
import { admissionRequest, World } from '../../../../test/worlds/admission-world.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import type { GroupResource } from '../../../kube/status/group-names.ts'
import { ManualClock } from '../../../runtime/clock.ts'
import { TURN_MS } from '../../../runtime/turns.ts'
import type { Reading } from '../lookup.ts'
import { PENDING_MS } from './pending-objects.ts'
import { MAX_TOLD_QUOTA_NAMES, ResourceQuota } from './resource-quota.ts'
import { quotaUsage } from './usage.ts'

const quota = (hard: Record<string, string>, rest: object = {}): KubeObject => ({
  metadata: { name: 'q', namespace: 'work' },
  spec: { hard, ...rest },
})
const object = (name: string, rest: object = {}): KubeObject => ({ metadata: { name, namespace: 'work' }, ...rest })
const map = (name: string, dryRun = false) => admissionRequest({ resource: 'configmaps', object: object(name), dryRun })

describe('ResourceQuota', () => {
  it('counts what was admitted and is not stored yet, for a while', async () => {
    const world = new World().add('resourcequotas', quota({ configmaps: '1' }))
    const clock = new ManualClock()
    const plugin = new ResourceQuota(world, clock)
    void plugin.validate(map('one'))
    expect(() => plugin.validate(map('two'))).toThrow(
      'configmaps "two" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited: configmaps=1',
    )
    await clock.advance(PENDING_MS)
    void plugin.validate(map('two'))
  })

  it('counts an object that was stored once', () => {
    const world = new World().add('resourcequotas', quota({ configmaps: '2' }))
    const plugin = new ResourceQuota(world, new ManualClock())
    void plugin.validate(map('one'))
    world.add('configmaps', object('one'))
    void plugin.validate(map('two'))
    expect(() => plugin.validate(map('three'))).toThrow('used: configmaps=2')
  })

  it('does not count dry runs', () => {
    const plugin = new ResourceQuota(new World().add('resourcequotas', quota({ configmaps: '1' })), new ManualClock())
    void plugin.validate(map('one', true))
    void plugin.validate(map('two'))
  })

  it('lets a namespace that is over its quota shrink', () => {
    const service = (ports: number): KubeObject =>
      object('s', { spec: { type: 'NodePort', ports: Array.from({ length: ports }, () => ({})) } })
    const world = new World().add('resourcequotas', quota({ 'services.nodeports': '1' })).add('services', service(3))
    const plugin = new ResourceQuota(world, new ManualClock())
    const update = (ports: number) =>
      admissionRequest({ resource: 'services', operation: 'UPDATE', object: service(ports), old: service(3) })
    void plugin.validate(update(2))
    expect(() => plugin.validate(update(4))).toThrow(
      'requested: services.nodeports=1, used: services.nodeports=3, limited: services.nodeports=1',
    )
  })
})

describe('quotaUsage', () => {
  const pod = (name: string, requests: object, rest: object = {}): KubeObject =>
    object(name, { spec: { containers: [{ name: 'c', resources: { requests } }] }, ...rest })

  it('charges pods until they end', () => {
    const world = new World().add(
      'pods',
      pod('running', { cpu: '1', 'example.com/gpu': '2', 'hugepages-2Mi': '2Mi' }),
      pod('done', { cpu: '1' }, { status: { phase: 'Succeeded' } }),
    )
    const hard = {
      pods: '9',
      'count/pods': '9',
      cpu: '9',
      'requests.example.com/gpu': '9',
      'hugepages-2Mi': '9',
      'limits.memory': '9',
    }
    expect(quotaUsage(quota(hard), world, 0)).toEqual({
      pods: '1',
      'count/pods': '2',
      cpu: '1',
      'requests.example.com/gpu': '2',
      'hugepages-2Mi': '2Mi',
      'limits.memory': '0',
    })
  })

  it('does not charge a pod that should be gone', () => {
    const going = pod('going', { cpu: '1' })
    going.metadata = { ...going.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 30 }
    const world = new World().add('pods', going)
    const graceEndsMs = Date.UTC(2026, 0, 1) + 30_000
    expect(quotaUsage(quota({ pods: '1' }), world, graceEndsMs)).toEqual({ pods: '1' })
    expect(quotaUsage(quota({ pods: '1' }), world, graceEndsMs + 1)).toEqual({ pods: '0' })
  })

  it('charges a resize that is under way by the larger size', () => {
    const resized = pod(
      'p',
      { cpu: '1' },
      {
        status: {
          containerStatuses: [{ name: 'c', resources: { requests: { cpu: '3' } }, allocatedResources: { cpu: '2' } }],
        },
      },
    )
    expect(quotaUsage(quota({ cpu: '9' }), new World().add('pods', resized), 0)).toEqual({ cpu: '3' })
  })

  it('counts by scope, and never what scopes do not know', () => {
    const world = new World().add('pods', pod('effort', {}), pod('burst', { cpu: '1' })).add('configmaps', object('c'))
    const scoped = quota({ pods: '9', configmaps: '9' }, { scopes: ['NotBestEffort'] })
    expect(quotaUsage(scoped, world, 0)).toEqual({ pods: '1', configmaps: '0' })
  })

  it('leaves out what does not exist', () => {
    const hard = { 'count/jobs.batch': '1', 'count/nothing.example.com': '1', 'count/events': '1' }
    expect(quotaUsage(quota(hard), new World(), 0)).toEqual({ 'count/jobs.batch': '0' })
  })
})

describe('many quotas', () => {
  const requests = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`example.com/r${index}`, '2']))
  const wide = object('p', { spec: { containers: [{ name: 'c', resources: { requests } }] } })

  it('of the same scopes count each object once', () => {
    let reads = 0
    class Counting extends World {
      override *reads<Read>(resource: GroupResource, namespace: string, reading: Reading<Read>) {
        for (const read of super.reads(resource, namespace, reading)) {
          if (resource.resource === 'pods') reads++
          yield read
        }
      }
    }
    const world = new Counting().add('pods', wide)
    const named = (name: string, rest: object = {}): KubeObject => ({
      ...quota({ pods: '9' }, rest),
      metadata: { name, namespace: 'work' },
    })
    world.add('resourcequotas', named('a'), named('b'), named('c', { scopes: ['NotTerminating'] }))
    const plugin = new ResourceQuota(world, new ManualClock())
    void plugin.validate(
      admissionRequest({ resource: 'pods', object: { ...wide, metadata: { ...wide.metadata, name: 'q' } } }),
    )
    expect(reads).toBe(2)
  })

  it('are refused in words that can be read', () => {
    const hard = Object.fromEntries(Object.keys(requests).map((name) => [`requests.${name}`, '1']))
    const world = new World().add('resourcequotas', quota(hard))
    const plugin = new ResourceQuota(world, new ManualClock())
    const message = messageOf(() => void plugin.validate(admissionRequest({ resource: 'pods', object: wide })))
    expect(message.match(/=2/g)).toHaveLength(MAX_TOLD_QUOTA_NAMES)
  })
})

function messageOf(act: () => void): string {
  try {
    act()
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

describe('many objects', () => {
  it('are counted in slices, and nobody else takes the last place meanwhile', async () => {
    const world = new World().add('resourcequotas', quota({ configmaps: '3' }))
    world.add('configmaps', object('a'), object('b'))
    let nowMs = 0
    const clock = Object.assign(new ManualClock(), { monotonicMs: () => (nowMs += TURN_MS / 2) })
    const plugin = new ResourceQuota(world, clock)
    const validations = ['one', 'two'].map((name) => Promise.resolve(plugin.validate(map(name))))
    const results = await Promise.allSettled(validations)
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  })
})
