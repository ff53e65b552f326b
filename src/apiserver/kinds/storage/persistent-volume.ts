/** PersistentVolumes. */
import { formatTime } from '../../../kube/codec/time.ts'
import {
  type FieldError,
  forbiddenField,
  invalidField,
  notSupportedField,
  requiredField,
} from '../../../kube/status/field-error.ts'
import { checkImmutable, checkName, checkRequired, checkSupported, POSITIVE } from '../checks.ts'
import { sameStored } from '../equality.ts'
import { ensureStruct, type Fields, has, struct, text, texts } from '../fields.ts'
import { dnsSubdomain } from '../names.ts'
import { checkNodeSelector } from '../pods/affinity.ts'
import { checkNoBacksteps } from '../pods/paths.ts'
import { specDifference } from '../pods/spec-difference.ts'
import { checkHostPath, checkNfs } from '../pods/volumes.ts'
import { quantities, quantityInNano } from '../quantities.ts'
import type { KindRules } from '../rules.ts'
import { checkAccessModes, VOLUME_MODES } from './persistent-volume-claim.ts'

const sources = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'flocker',
  'nfs',
  'rbd',
  'quobyte',
  'cephfs',
  'iscsi',
  'cinder',
  'fc',
  'flexVolume',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'scaleIO',
  'local',
  'storageos',
  'csi',
]

export const VOLUME_RULES: KindRules = {
  checksMetadataAgain: true,
  prepareForCreate(volume, { nowMs }) {
    volume['status'] = { phase: 'Pending', lastPhaseTransitionTime: timestamp(nowMs) }
  },
  prepareForStatusUpdate(volume, old, { nowMs }) {
    const [status, before] = [ensureStruct(volume, 'status'), struct(old, 'status')]
    const time = 'lastPhaseTransitionTime'
    const samePhase = text(status, 'phase') === text(before, 'phase')
    if (samePhase && !has(status, time) && has(before, time)) status[time] = before?.[time]
    if (!samePhase && (!has(status, time) || status[time] === before?.[time])) status[time] = timestamp(nowMs)
  },
  check: (volume) => checkVolumeSpec(struct(volume, 'spec') ?? {}, 'spec'),
  checkUpdate: (volume, old) => [
    ...checkVolumeSpec(struct(volume, 'spec') ?? {}, 'spec'),
    ...checkVolumeUpdate(volume, old),
  ],
}

function timestamp(nowMs: number): string | undefined {
  return formatTime(Math.floor(nowMs / 1000))
}

function checkVolumeSpec(spec: Fields, path: string): FieldError[] {
  const policy = text(spec, 'persistentVolumeReclaimPolicy')
  const className = text(spec, 'storageClassName')
  return [
    ...(texts(spec, 'accessModes').length === 0 ? [requiredField(`${path}.accessModes`)] : []),
    ...checkAccessModes(spec, `${path}.accessModes`),
    ...checkCapacity(spec, `${path}.capacity`),
    ...(policy === ''
      ? []
      : checkSupported(policy, `${path}.persistentVolumeReclaimPolicy`, ['Delete', 'Recycle', 'Retain'])),
    ...checkNodeSelector(struct(struct(spec, 'nodeAffinity'), 'required'), `${path}.nodeAffinity.required`),
    ...checkSource(spec, path),
    ...(className === '' ? [] : checkName(className, `${path}.storageClassName`, dnsSubdomain)),
    ...(has(spec, 'volumeMode') ? checkSupported(text(spec, 'volumeMode'), `${path}.volumeMode`, VOLUME_MODES) : []),
  ]
}

function checkCapacity(spec: Fields, path: string): FieldError[] {
  const capacity = quantities(spec, 'capacity')
  const errors = capacity.length === 0 ? [requiredField(path)] : []
  const onlyStorage = capacity.length === 1 && capacity[0]?.[0] === 'storage'
  if (!onlyStorage) errors.push(notSupportedField(path, struct(spec, 'capacity') ?? null, ['storage']))
  return [
    ...errors,
    ...capacity.flatMap(([resource, quantity]) =>
      quantityInNano(quantity) > 0n ? [] : [invalidField(`${path}[${resource}]`, quantity, POSITIVE)],
    ),
  ]
}

function checkSource(spec: Fields, path: string): FieldError[] {
  const [first, ...others] = sources.filter((name) => has(spec, name))
  if (first === undefined) return [requiredField(path, 'must specify a volume type')]
  const source = struct(spec, first) ?? {}
  return [
    ...checkSourceFields(first, source, spec, path),
    ...others.map((name) => forbiddenField(`${path}.${name}`, 'may not specify more than 1 volume type')),
  ]
}

function checkSourceFields(name: string, source: Fields, spec: Fields, path: string): FieldError[] {
  const at = `${path}.${name}`
  switch (name) {
    case 'hostPath':
      return checkHostPath(source, at)
    case 'nfs':
      return checkNfs(source, at)
    case 'local':
      return [
        ...(text(source, 'path') === ''
          ? [requiredField(`${at}.path`)]
          : checkNoBacksteps(text(source, 'path'), `${at}.path`)),
        ...(has(struct(spec, 'nodeAffinity'), 'required')
          ? []
          : [requiredField(`${path}.nodeAffinity`, 'Local volume requires node affinity')]),
      ]
    case 'csi':
      return [
        ...checkRequired(text(source, 'driver'), `${at}.driver`),
        ...checkRequired(text(source, 'volumeHandle'), `${at}.volumeHandle`),
      ]
    default:
      return []
  }
}

function checkVolumeUpdate(volume: Fields, oldVolume: Fields): FieldError[] {
  const [spec, old] = [struct(volume, 'spec') ?? {}, struct(oldVolume, 'spec') ?? {}]
  const sourceOf = (owner: Fields): Fields =>
    Object.fromEntries(sources.filter((name) => has(owner, name)).map((name) => [name, owner[name]]))
  const errors = checkVolumeSpec(spec, 'spec')
  if (!sameStored(sourceOf(spec), sourceOf(old))) {
    const difference = specDifference(sourceOf(old), sourceOf(spec))
    const detail = `spec.persistentvolumesource is immutable after creation\n${difference}`
    errors.push(forbiddenField('spec.persistentvolumesource', detail))
  }
  return [...errors, ...checkImmutable(spec['volumeMode'], old['volumeMode'], 'volumeMode')]
}
