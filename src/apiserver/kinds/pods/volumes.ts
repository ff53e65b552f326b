/** Volumes of a pod: one source each, and the rules of the sources that people use. */
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
} from '../../../kube/status/field-error.ts'
import { goQuote } from '../../../kube/status/go-text.ts'
import {
  checkEach,
  checkNumber,
  checkRequired,
  checkRequiredName,
  checkRequiredSupported,
  checkSupported,
} from '../checks.ts'
import { type Fields, flag, has, integer, struct, structs, text, texts } from '../fields.ts'
import { dnsLabel, dnsSubdomain, inRange } from '../names.ts'
import { quantity, quantityInNano } from '../quantities.ts'
import { checkClaimSpec } from '../storage/persistent-volume-claim.ts'
import { checkDescendingPath, checkFileMode, checkNoBacksteps } from './paths.ts'
import { checkProjectedSources } from './projected-volume.ts'
import { checkDownwardFile, checkKeyToPath } from './volume-files.ts'

const MAX_LUN = 255

type SourceCheck = (source: Fields, path: string) => readonly FieldError[]

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
]

/** In the order in which the API server looks for them: the first one found counts, others are refused. */
const sourceChecks: Readonly<Record<string, SourceCheck>> = {
  emptyDir: checkEmptyDir,
  hostPath: checkHostPath,
  gitRepo: (source, path) => [
    ...checkRequired(text(source, 'repository'), `${path}.repository`),
    ...checkDescendingPath(text(source, 'directory'), `${path}.directory`),
  ],
  gcePersistentDisk: (source, path) => checkRequired(text(source, 'pdName'), `${path}.pdName`),
  awsElasticBlockStore: (source, path) => checkRequired(text(source, 'volumeID'), `${path}.volumeID`),
  secret: (source, path) => checkKeysSource(source, 'secretName', path),
  nfs: checkNfs,
  iscsi: checkIscsi,
  glusterfs: (source, path) => [
    ...checkRequired(text(source, 'endpoints'), `${path}.endpoints`),
    ...checkRequired(text(source, 'path'), `${path}.path`),
  ],
  flocker: noFurtherCheck,
  persistentVolumeClaim: (source, path) => checkRequired(text(source, 'claimName'), `${path}.claimName`),
  rbd: (source, path) => [
    ...(texts(source, 'monitors').length === 0 ? [requiredField(`${path}.monitors`)] : []),
    ...checkRequired(text(source, 'image'), `${path}.image`),
  ],
  cinder: (source, path) => checkRequired(text(source, 'volumeID'), `${path}.volumeID`),
  cephfs: noFurtherCheck,
  quobyte: noFurtherCheck,
  downwardAPI: checkDownwardApi,
  fc: noFurtherCheck,
  flexVolume: (source, path) => checkRequired(text(source, 'driver'), `${path}.driver`),
  configMap: (source, path) => checkKeysSource(source, 'name', path),
  azureFile: noFurtherCheck,
  vsphereVolume: (source, path) => checkRequired(text(source, 'volumePath'), `${path}.volumePath`),
  photonPersistentDisk: (source, path) => checkRequired(text(source, 'pdID'), `${path}.pdID`),
  portworxVolume: (source, path) => checkRequired(text(source, 'volumeID'), `${path}.volumeID`),
  azureDisk: noFurtherCheck,
  storageos: noFurtherCheck,
  projected: (source, path) => [
    ...checkFileMode(integer(source, 'defaultMode'), `${path}.defaultMode`),
    ...checkProjectedSources(source, path),
  ],
  scaleIO: noFurtherCheck,
  csi: (source, path) => checkRequired(text(source, 'driver'), `${path}.driver`),
  ephemeral: checkEphemeral,
  image: (source, path) =>
    checkRequiredSupported(text(source, 'pullPolicy'), `${path}.pullPolicy`, ['Always', 'IfNotPresent', 'Never']),
}

export interface CheckedVolumes {
  readonly errors: readonly FieldError[]
  /** The volumes without errors, by name: containers may mount these. */
  readonly volumes: ReadonlyMap<string, Fields>
}

/** `pod` is the metadata of the pod, absent in a template. */
export function checkVolumes(list: readonly Fields[], pod: Fields | undefined, path: string): CheckedVolumes {
  const volumes = new Map<string, Fields>()
  const errors = checkEach(list, path, (volume, at) => {
    const name = text(volume, 'name')
    const found = [
      ...checkSource(volume, at),
      ...(pod === undefined ? [] : checkForPod(volume, text(pod, 'name'), at)),
      ...checkRequiredName(name, `${at}.name`, dnsLabel),
    ]
    if (volumes.has(name)) found.push(duplicateField(`${at}.name`, name))
    if (found.length === 0) volumes.set(name, volume)
    return found
  })
  return { errors, volumes }
}

function checkSource(volume: Fields, path: string): FieldError[] {
  const [first, ...others] = Object.keys(sourceChecks).filter((name) => has(volume, name))
  if (first === undefined) return [requiredField(path, 'must specify a volume type')]
  const check = sourceChecks[first] ?? noFurtherCheck
  return [
    ...check(struct(volume, first) ?? {}, `${path}.${first}`),
    ...others.map((name) => forbiddenField(`${path}.${name}`, 'may not specify more than 1 volume type')),
  ]
}

/** What a template may leave open. */
function checkForPod(volume: Fields, podName: string, path: string): FieldError[] {
  const [name, image] = [text(volume, 'name'), struct(volume, 'image')]
  const claimName = `${podName}-${name}`
  const named = has(volume, 'ephemeral') && podName !== '' && name !== ''
  return [
    ...(named
      ? dnsSubdomain(claimName).map((breach) =>
          invalidField(`${path}.name`, name, `PVC name ${goQuote(claimName)}: ${breach}`),
        )
      : []),
    ...(image === undefined ? [] : checkRequired(text(image, 'reference'), `${path}.image.reference`)),
  ]
}

function checkEphemeral(source: Fields, path: string): FieldError[] {
  const template = struct(source, 'volumeClaimTemplate')
  const at = `${path}.volumeClaimTemplate`
  return template === undefined ? [requiredField(at)] : checkClaimSpec(struct(template, 'spec') ?? {}, `${at}.spec`)
}

function checkIscsi(source: Fields, path: string): FieldError[] {
  const iqn = text(source, 'iqn')
  const known = /^(?:iqn|eui|naa)/.test(iqn)
  const wellFormed = /iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+$|^eui.[A-Za-z0-9]{16}$|^naa.[A-Za-z0-9]{32}$/.test(
    iqn,
  )
  const detail = known ? 'must be valid format' : 'must be valid format starting with iqn, eui, or naa'
  return [
    ...checkRequired(text(source, 'targetPortal'), `${path}.targetPortal`),
    ...(iqn === '' ? [requiredField(`${path}.iqn`)] : wellFormed ? [] : [invalidField(`${path}.iqn`, iqn, detail)]),
    ...checkNumber(integer(source, 'lun') ?? 0, `${path}.lun`, (lun) => inRange(lun, 0, MAX_LUN)),
  ]
}

function noFurtherCheck(): FieldError[] {
  return []
}

function checkEmptyDir(source: Fields, path: string): FieldError[] {
  return quantityInNano(quantity(source, 'sizeLimit') ?? '0') < 0n
    ? [forbiddenField(`${path}.sizeLimit`, 'SizeLimit field must be a valid resource quantity')]
    : []
}

export function checkHostPath(source: Fields, path: string): FieldError[] {
  const hostPath = text(source, 'path')
  if (hostPath === '') return [requiredField(`${path}.path`)]
  return [
    ...checkNoBacksteps(hostPath, `${path}.path`),
    ...checkSupported(text(source, 'type'), `${path}.type`, hostPathTypes),
  ]
}

export function checkNfs(source: Fields, path: string): FieldError[] {
  const nfsPath = text(source, 'path')
  const absolute = nfsPath.startsWith('/') ? [] : [invalidField(`${path}.path`, nfsPath, 'must be an absolute path')]
  return [
    ...checkRequired(text(source, 'server'), `${path}.server`),
    ...checkRequired(nfsPath, `${path}.path`),
    ...absolute,
  ]
}

/** A Secret or a ConfigMap, and which of its keys become files. */
function checkKeysSource(source: Fields, nameField: string, path: string): FieldError[] {
  return [
    ...checkRequired(text(source, nameField), `${path}.${nameField}`),
    ...checkFileMode(integer(source, 'defaultMode'), `${path}.defaultMode`),
    ...checkEach(structs(source, 'items'), `${path}.items`, checkKeyToPath),
  ]
}

function checkDownwardApi(source: Fields, path: string): FieldError[] {
  return [
    ...checkFileMode(integer(source, 'defaultMode'), `${path}.defaultMode`),
    ...structs(source, 'items').flatMap((file) => checkDownwardFile(file, path)),
  ]
}

/** Whether a raw device can be made of the volume. */
export function isBlockSource(volume: Fields): boolean {
  return has(volume, 'persistentVolumeClaim') || has(volume, 'ephemeral')
}

export function isPrivileged(container: Fields): boolean {
  return flag(struct(container, 'securityContext'), 'privileged')
}
