import { expect, it } from 'vitest'
import { admissionRequest, World } from '../../../test/worlds/admission-world.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { DefaultStorageClass } from './default-storage-class.ts'
import { StorageObjectInUseProtection } from './storage-object-in-use-protection.ts'

const mark = { 'storageclass.kubernetes.io/is-default-class': 'true' }
const classNamed = (name: string, creationTimestamp: string, annotations = mark): KubeObject => ({
  metadata: { name, creationTimestamp, annotations },
})
const claim = (spec: object = {}): KubeObject => ({ metadata: { name: 'c', namespace: 'work' }, spec })

function classOf(world: World, object: KubeObject): unknown {
  new DefaultStorageClass(world).admit(admissionRequest({ resource: 'persistentvolumeclaims', object }))
  return (object['spec'] as Record<string, unknown>)['storageClassName']
}

it('gives a claim the newest default class, and of equally new ones the first', () => {
  const world = new World().add(
    'storage.k8s.io/v1/storageclasses',
    classNamed('old', '2026-01-01T00:00:00Z'),
    classNamed('new-b', '2026-01-02T00:00:00Z'),
    classNamed('new-a', '2026-01-02T00:00:00Z'),
    { metadata: { name: 'newest', creationTimestamp: '2026-01-03T00:00:00Z' } },
  )
  expect(classOf(world, claim())).toBe('new-a')
  expect(classOf(world, claim({ storageClassName: '' }))).toBe('')
  expect(classOf(new World(), claim())).toBeUndefined()
})

it('protects a claim once', () => {
  const object = claim()
  const request = admissionRequest({ resource: 'persistentvolumeclaims', object })
  const plugin = new StorageObjectInUseProtection()
  plugin.admit(request)
  plugin.admit(request)
  expect(object.metadata?.finalizers).toEqual(['kubernetes.io/pvc-protection'])
})
