import { describe, expect, it } from 'vitest'
import { admissionRequest, World } from '../../../test/worlds/admission-world.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { MAX_LIMIT_CHECKS } from './limit-facts.ts'
import { LimitRanger } from './limit-ranger.ts'

const range = (...limits: object[]): World =>
  new World().add('limitranges', { metadata: { name: 'l', namespace: 'work' }, spec: { limits } })
const pod = (...resources: object[]): KubeObject => ({
  metadata: { name: 'p', namespace: 'work' },
  spec: { containers: resources.map((amounts, index) => ({ name: `c${index}`, resources: amounts })) },
})

describe('LimitRanger', () => {
  it('tells which defaults it gave', async () => {
    const world = range({ type: 'Container', default: { memory: '1Gi', cpu: '1' }, defaultRequest: { cpu: '100m' } })
    const object = pod({}, { requests: { cpu: '1' }, limits: { cpu: '1' } })
    void new LimitRanger(world, new ManualClock()).admit(admissionRequest({ resource: 'pods', object }))
    expect(object.metadata?.annotations).toEqual({
      'kubernetes.io/limit-ranger':
        'LimitRanger plugin set: cpu request for container c0; cpu, memory limit for container c0; memory limit for container c1',
    })
  })

  it('names every breach once', () => {
    const world = range({ type: 'Container', min: { cpu: '1' }, max: { memory: '1Gi' } })
    const request = admissionRequest({ resource: 'pods', object: pod({}, {}) })
    expect(() => new LimitRanger(world, new ManualClock()).validate(request)).toThrow(
      'pods "p" is forbidden: [minimum cpu usage per Container is 1.  No request is specified, maximum memory usage per Container is 1Gi.  No limit is specified]',
    )
  })

  it('looks at pods again only when they are resized', async () => {
    const plugin = new LimitRanger(range({ type: 'Container', max: { cpu: '1' } }), new ManualClock())
    const object = pod({ limits: { cpu: '2' } })
    const update = (subresource: string) =>
      admissionRequest({ resource: 'pods', operation: 'UPDATE', subresource, object, old: object })
    void plugin.validate(update(''))
    expect(() => plugin.validate(update('resize'))).toThrow('maximum cpu usage per Container is 1, but limit is 2')
  })

  it('leaves a claim that is going alone', async () => {
    const plugin = new LimitRanger(range({ type: 'PersistentVolumeClaim', min: { storage: '1Gi' } }), new ManualClock())
    const object = { metadata: { name: 'c', namespace: 'work' }, spec: { resources: { requests: { storage: '1Mi' } } } }
    const resource = 'persistentvolumeclaims'
    expect(() => plugin.validate(admissionRequest({ resource, operation: 'UPDATE', object, old: object }))).toThrow(
      'minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi',
    )
    const old = { ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
    void plugin.validate(admissionRequest({ resource, operation: 'UPDATE', object, old }))
  })

  it.each([
    ['a pod', 'pods', pod({}, {}, {})],
    ['a claim', 'persistentvolumeclaims', { metadata: { name: 'p', namespace: 'work' }, spec: {} }],
  ])('refuses %s that would take too many checks', (_, resource, object) => {
    const max = Object.fromEntries(Array.from({ length: MAX_LIMIT_CHECKS }, (_each, index) => [`r${index}`, '1']))
    const refusal = `need more than ${MAX_LIMIT_CHECKS} checks`
    for (const limits of [
      [{ type: 'Container', max }],
      Array.from({ length: MAX_LIMIT_CHECKS + 1 }, () => ({ type: 'Pod' })),
    ]) {
      const plugin = new LimitRanger(range(...limits), new ManualClock())
      expect(() => plugin.validate(admissionRequest({ resource, object }))).toThrow(refusal)
    }
  })
})
