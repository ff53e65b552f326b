/** Volumes and claims, bound, failed and leaving. */
import { object } from '../codec-fixtures.ts'
import type { TableFixture } from './parts.ts'

export function storageFixtures(): TableFixture[] {
  const volume = (
    name: string,
    spec: object,
    status?: object,
    rest: { finalizers?: string[]; annotations?: object; deleted?: boolean } = {},
  ): TableFixture => {
    const { deleted, ...metadata } = rest
    return {
      object: object('v1', 'PersistentVolume', `table-${name}`, {
        metadata: { name: `table-${name}`, ...metadata },
        spec: {
          capacity: { storage: '1024Mi' },
          accessModes: ['ReadWriteMany', 'ReadWriteOnce'],
          hostPath: { path: '/x' },
          ...spec,
        },
      }),
      ...(status === undefined ? {} : { status }),
      ...(deleted === undefined ? {} : { deleted }),
    }
  }
  const claim = (name: string, spec: object, status?: object, metadata: object = {}): TableFixture => ({
    object: object('v1', 'PersistentVolumeClaim', `table-${name}`, {
      metadata: { name: `table-${name}`, ...metadata },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
    }),
    ...(status === undefined ? {} : { status }),
  })
  return [
    volume(
      'bound',
      {
        claimRef: { namespace: 'default', name: 'table-bound' },
        storageClassName: 'fast',
        persistentVolumeReclaimPolicy: 'Retain',
      },
      { phase: 'Bound' },
    ),
    volume(
      'failed',
      { volumeMode: 'Block', accessModes: ['ReadWriteOncePod', 'ReadOnlyMany'].slice(1) },
      { phase: 'Failed', reason: 'Broken' },
      { annotations: { 'volume.beta.kubernetes.io/storage-class': 'old' } },
    ),
    volume('deleted', {}, { phase: 'Available' }, { finalizers: ['example.com/keep'], deleted: true }),
    claim(
      'bound',
      { volumeName: 'table-bound', storageClassName: 'fast' },
      { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } },
    ),
    claim('pending', { volumeMode: 'Block', storageClassName: '', volumeAttributesClassName: 'gold' }),
    { ...claim('deleted', {}, undefined, { finalizers: ['example.com/keep'] }), deleted: true },
    {
      object: object('storage.k8s.io/v1', 'StorageClass', 'table', {
        metadata: { name: 'table', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
        provisioner: 'example.com/p',
        reclaimPolicy: 'Retain',
        volumeBindingMode: 'WaitForFirstConsumer',
        allowVolumeExpansion: true,
      }),
    },
    {
      object: object('storage.k8s.io/v1', 'VolumeAttributesClass', 'table', {
        driverName: 'driver.example.com',
        parameters: { a: 'b' },
      }),
    },
    {
      object: object('storage.k8s.io/v1', 'CSIDriver', 'table.example.com', {
        spec: {
          attachRequired: false,
          podInfoOnMount: true,
          storageCapacity: true,
          requiresRepublish: true,
          tokenRequests: [{ audience: 'a' }, { audience: 'b' }],
          volumeLifecycleModes: ['Persistent', 'Ephemeral'],
        },
      }),
    },
    {
      object: object('storage.k8s.io/v1', 'CSINode', 'table-csi', {
        spec: { drivers: [{ name: 'd.example.com', nodeID: 'n' }] },
      }),
    },
    {
      object: object('storage.k8s.io/v1', 'CSIStorageCapacity', 'table', { storageClassName: 'fast', capacity: '5Gi' }),
    },
    {
      object: object('storage.k8s.io/v1', 'VolumeAttachment', 'table', {
        spec: { attacher: 'd.example.com', nodeName: 'n', source: { persistentVolumeName: 'table-bound' } },
      }),
      status: { attached: true },
    },
  ]
}
