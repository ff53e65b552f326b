import { expect, it } from 'vitest'
import { admissionRequest, World } from '../../../test/worlds/admission-world.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { Priority } from './priority.ts'

const classes = 'scheduling.k8s.io/v1/priorityclasses'
const pod = (spec: object = {}): KubeObject => ({ metadata: { name: 'p', namespace: 'work' }, spec })

function admitted(world: World, object: KubeObject, old?: KubeObject): KubeObject {
  const operation = old === undefined ? 'CREATE' : 'UPDATE'
  new Priority(world).admit(admissionRequest({ resource: 'pods', operation, object, ...(old && { old }) }))
  return object
}

it('gives zero where there is no default class', () => {
  expect(admitted(new World(), pod())).toEqual(pod({ priority: 0, preemptionPolicy: 'PreemptLowerPriority' }))
})

it('takes the lower of two default classes', () => {
  const world = new World().add(
    classes,
    { metadata: { name: 'a' }, value: 20, globalDefault: true, preemptionPolicy: 'Never' },
    { metadata: { name: 'b' }, value: 10, globalDefault: true, preemptionPolicy: 'Never' },
  )
  expect(admitted(world, pod())).toEqual(pod({ priorityClassName: 'b', priority: 10, preemptionPolicy: 'Never' }))
})

it('refuses an unknown class', () => {
  expect(() => admitted(new World(), pod({ priorityClassName: 'none' }))).toThrow(
    'pods "p" is forbidden: no PriorityClass with name none was found',
  )
})

it('keeps what an update leaves out', () => {
  const old = pod({ priority: 7, preemptionPolicy: 'Never' })
  expect(admitted(new World(), pod(), old)).toEqual(old)
})

it('keeps the classes of the system', () => {
  const old = { metadata: { name: 'system-node-critical' } }
  expect(() =>
    new Priority(new World()).validate(admissionRequest({ resource: classes, operation: 'DELETE', old })),
  ).toThrow('this is a system priority class and cannot be deleted')
})
