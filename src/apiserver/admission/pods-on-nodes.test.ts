import { expect, it } from 'vitest'
import { admissionRequest, World } from '../../../test/worlds/admission-world.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { PodResizeValidator } from './pod-resize.ts'
import { PodTopologyLabels } from './pod-topology-labels.ts'

const zone = 'topology.kubernetes.io/zone'
const world = new World().add(
  'nodes',
  {
    metadata: { name: 'n', labels: { [zone]: 'z', other: 'x' } },
    status: { allocatable: { cpu: '2', memory: '4Gi' } },
  },
  { metadata: { name: 'w', labels: { 'kubernetes.io/os': 'windows' } } },
)
const metadata = { name: 'p', namespace: 'work' }

it('labels a pod with the zone of its node, made there or bound to it', () => {
  const plugin = new PodTopologyLabels(world)
  const made: KubeObject = { metadata: { ...metadata, labels: { [zone]: 'wrong', a: 'b' } }, spec: { nodeName: 'n' } }
  plugin.admit(admissionRequest({ resource: 'pods', object: made }))
  expect(made.metadata?.labels).toEqual({ [zone]: 'z', a: 'b' })
  const binding: KubeObject = { metadata: { ...metadata }, target: { kind: 'Node', name: 'n' } }
  plugin.admit(admissionRequest({ resource: 'pods', subresource: 'binding', object: binding }))
  expect(binding.metadata?.labels).toEqual({ [zone]: 'z' })
  const floating: KubeObject = { metadata: { ...metadata }, spec: {} }
  plugin.admit(admissionRequest({ resource: 'pods', object: floating }))
  expect(floating.metadata?.labels).toBeUndefined()
})

const resize = (requests: object, nodeName = 'n', generation = 2): void => {
  const object = {
    metadata: { ...metadata, generation },
    spec: { nodeName, containers: [{ name: 'c', resources: { requests } }] },
  }
  const old = { ...object, metadata: { ...metadata, generation: 1 } }
  new PodResizeValidator(world).validate(
    admissionRequest({ resource: 'pods', subresource: 'resize', operation: 'UPDATE', object, old }),
  )
}

it('lets a pod grow to what its node offers, and not beyond', () => {
  resize({ cpu: '2', memory: '4Gi' })
  expect(() => resize({ cpu: '2500m', memory: '5Gi' })).toThrow(
    'pods "p" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 2500, allocatable: 2000; ' +
      'memory, requested: 5368709120, allocatable: 4294967296',
  )
  expect(() => resize({ cpu: '1' }, 'w')).toThrow('pod resize is only supported on linux nodes, node "w" is "windows"')
  expect(() => resize({ cpu: '1' }, 'gone')).toThrow('node "gone" not found')
  resize({ cpu: '1' }, '')
  resize({ cpu: '9' }, 'n', 1)
})
