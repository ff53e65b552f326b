import { expect, it } from 'vitest'
import { admissionRequest, World } from '../../../test/worlds/admission-world.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { PersistentVolumeClaimResize } from './claim-resize.ts'

const plugin = new PersistentVolumeClaimResize(
  new World().add(
    'storage.k8s.io/v1/storageclasses',
    { metadata: { name: 'growing' }, allowVolumeExpansion: true },
    { metadata: { name: 'rigid' } },
  ),
)
const claim = (storage: string, storageClassName: string, phase = 'Bound'): KubeObject => ({
  metadata: { name: 'c', namespace: 'work' },
  spec: { storageClassName, resources: { requests: { storage } } },
  status: { phase },
})
const resize = (old: KubeObject, object: KubeObject): void =>
  plugin.validate(admissionRequest({ resource: 'persistentvolumeclaims', operation: 'UPDATE', object, old }))

it('lets bound claims of a growing class grow, and all others stay', () => {
  resize(claim('1Gi', 'growing'), claim('2Gi', 'growing'))
  resize(claim('1Gi', 'rigid', 'Pending'), claim('1024Mi', 'rigid', 'Pending'))
})

it('refuses the rest', () => {
  expect(() => resize(claim('1Gi', 'growing', 'Pending'), claim('2Gi', 'growing'))).toThrow(
    'Only bound persistent volume',
  )
  for (const name of ['rigid', 'nobody', '']) {
    expect(() => resize(claim('1Gi', name), claim('2Gi', name))).toThrow(
      'only dynamically provisioned pvc can be resized',
    )
  }
})
