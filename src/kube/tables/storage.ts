/** Volumes, claims, and what provisions and attaches them. */
import type { KubeObject } from '../objects.ts'
import { NONE, textColumn, UNSET } from './common-cells.ts'
import {
  AGE_COLUMN,
  type Cell,
  type Column,
  column,
  identifying,
  layout,
  NAME_COLUMN,
  nameOf,
  type TableLayout,
  wideColumn,
} from './layout.ts'
import { at, flagAt, listAt, optionalTextAt, quantityAt, textAt, textsAt } from './paths.ts'

const storageClassAnnotation = 'volume.beta.kubernetes.io/storage-class'
const defaultClassAnnotations = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
]

const accessModes: readonly (readonly [mode: string, short: string])[] = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
]

/** Always in the same order, whatever the order in the object. */
function shortAccessModes(modes: readonly string[]): string {
  return accessModes
    .filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(',')
}

/** Volumes and claims share these. A deletion that waits for its finalizers outranks the phase. */
const phaseColumn = column('Status', 'Phase, or Terminating.', (object) =>
  at(object, 'metadata', 'deletionTimestamp') === undefined ? textAt(object, 'status', 'phase') : 'Terminating',
)
const classColumn = column(
  'StorageClass',
  'Class that provisions it.',
  (object) =>
    optionalTextAt(object, 'metadata', 'annotations', storageClassAnnotation) ??
    textAt(object, 'spec', 'storageClassName'),
)
const attributesClassColumn = column(
  'VolumeAttributesClass',
  'Class of its mutable settings.',
  (object) => optionalTextAt(object, 'spec', 'volumeAttributesClassName') ?? UNSET,
)
const volumeModeColumn = wideColumn(
  'VolumeMode',
  'File system or raw block device.',
  (object) => optionalTextAt(object, 'spec', 'volumeMode') ?? UNSET,
)

const persistentVolume = layout([
  NAME_COLUMN,
  column('Capacity', 'Its size.', (object) => quantityAt(object, 'spec', 'capacity', 'storage') ?? '0'),
  column('Access Modes', 'Ways to mount it.', (object) => shortAccessModes(textsAt(object, 'spec', 'accessModes'))),
  textColumn('Reclaim Policy', 'What happens when its claim is gone.', ['spec', 'persistentVolumeReclaimPolicy']),
  phaseColumn,
  column('Claim', 'Claim it is bound to.', claimReference),
  classColumn,
  attributesClassColumn,
  textColumn('Reason', 'Why it is in this phase.', ['status', 'reason']),
  AGE_COLUMN,
  volumeModeColumn,
])

function claimReference(object: KubeObject): Cell {
  const claim = at(object, 'spec', 'claimRef')
  return claim === undefined ? '' : `${textAt(claim, 'namespace')}/${textAt(claim, 'name')}`
}

/** What a claim got is known once it is bound. */
function whenBound(cell: (claim: KubeObject) => Cell): (claim: KubeObject) => Cell {
  return (claim) => (textAt(claim, 'spec', 'volumeName') === '' ? '' : cell(claim))
}

const persistentVolumeClaim = layout([
  NAME_COLUMN,
  phaseColumn,
  textColumn('Volume', 'Volume it is bound to.', ['spec', 'volumeName']),
  column(
    'Capacity',
    'Size of the volume.',
    whenBound((claim) => quantityAt(claim, 'status', 'capacity', 'storage') ?? '0'),
  ),
  column(
    'Access Modes',
    'Ways to mount it.',
    whenBound((claim) => shortAccessModes(textsAt(claim, 'status', 'accessModes'))),
  ),
  classColumn,
  attributesClassColumn,
  AGE_COLUMN,
  volumeModeColumn,
])

const storageClass = layout([
  identifying(column('Name', 'Unique in the cluster.', storageClassName)),
  textColumn('Provisioner', 'What makes the volumes.', ['provisioner']),
  textColumn('ReclaimPolicy', 'What happens to volumes without a claim.', ['reclaimPolicy'], 'Delete'),
  textColumn('VolumeBindingMode', 'When claims are bound.', ['volumeBindingMode'], 'Immediate'),
  column('AllowVolumeExpansion', 'Whether claims may grow.', (object) => flagAt(object, 'allowVolumeExpansion')),
  AGE_COLUMN,
])

function storageClassName(object: KubeObject): Cell {
  const isDefault = defaultClassAnnotations.some(
    (annotation) => textAt(object, 'metadata', 'annotations', annotation) === 'true',
  )
  return isDefault ? `${nameOf(object)} (default)` : nameOf(object)
}

function flagColumn(name: string, description: string, field: string): Column {
  return column(name, description, (object) => flagAt(object, 'spec', field), 'boolean')
}

const csiDriver = layout([
  NAME_COLUMN,
  column('AttachRequired', 'Whether volumes are attached first.', attachRequired, 'boolean'),
  flagColumn('PodInfoOnMount', 'Whether it is told about the pod.', 'podInfoOnMount'),
  flagColumn('StorageCapacity', 'Whether it publishes free space.', 'storageCapacity'),
  column('TokenRequests', 'Audiences of the tokens it is given.', tokenAudiences),
  flagColumn('RequiresRepublish', 'Whether mounts are refreshed.', 'requiresRepublish'),
  column(
    'Modes',
    'Lives of volumes it supports.',
    (object) => textsAt(object, 'spec', 'volumeLifecycleModes').join(',') || NONE,
  ),
  AGE_COLUMN,
])

/** Required unless the driver says otherwise. */
function attachRequired(object: KubeObject): Cell {
  return at(object, 'spec', 'attachRequired') !== false
}

function tokenAudiences(object: KubeObject): Cell {
  if (at(object, 'spec', 'tokenRequests') === undefined) return UNSET
  return listAt(object, 'spec', 'tokenRequests')
    .map((request) => textAt(request, 'audience'))
    .join(',')
}

export const STORAGE_LAYOUTS: Readonly<Record<string, TableLayout>> = {
  PersistentVolume: persistentVolume,
  PersistentVolumeClaim: persistentVolumeClaim,
  'StorageClass.storage.k8s.io': storageClass,
  'CSIDriver.storage.k8s.io': csiDriver,
  'CSINode.storage.k8s.io': layout([
    NAME_COLUMN,
    column('Drivers', 'Drivers on the node.', (object) => listAt(object, 'spec', 'drivers').length, 'integer'),
    AGE_COLUMN,
  ]),
  'VolumeAttachment.storage.k8s.io': layout([
    NAME_COLUMN,
    identifying(textColumn('Attacher', 'Driver that attaches it.', ['spec', 'attacher'])),
    textColumn('PV', 'The volume.', ['spec', 'source', 'persistentVolumeName']),
    textColumn('Node', 'The node.', ['spec', 'nodeName']),
    column('Attached', 'Whether it is attached.', (object) => flagAt(object, 'status', 'attached'), 'boolean'),
    AGE_COLUMN,
  ]),
  'VolumeAttributesClass.storage.k8s.io': layout([
    NAME_COLUMN,
    textColumn('DriverName', 'Driver that it is for.', ['driverName']),
    AGE_COLUMN,
  ]),
}
