/** PersistentVolumeClaims. */
import { type FieldError, forbiddenField, invalidField, requiredField } from '../../../kube/status/field-error.ts'
import { checkImmutable, checkName, checkRequired, checkSupported, POSITIVE } from '../checks.ts'
import { sameStored } from '../equality.ts'
import { copyField, ensureStruct, type Fields, has, struct, text, texts } from '../fields.ts'
import { checkLabelSelector } from '../label-selector.ts'
import { dnsLabel, dnsSubdomain } from '../names.ts'
import { specDifference } from '../pods/spec-difference.ts'
import { compareQuantities, quantity, quantityInNano } from '../quantities.ts'
import type { KindRules } from '../rules.ts'

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']
export const VOLUME_MODES = ['Block', 'Filesystem']

export const CLAIM_RULES: KindRules = {
  checksMetadataAgain: true,
  prepareForCreate(claim) {
    matchDataSources(claim, undefined)
    claim['status'] = { phase: 'Pending' }
  },
  prepareForUpdate: matchDataSources,
  check: (claim) => checkClaimSpec(struct(claim, 'spec') ?? {}, 'spec'),
  checkUpdate: checkClaimUpdate,
}

/**
 * Two fields for one thing: what a client says in one also stands in the other, unless another namespace is meant. In
 * the older field anything but a claim or a snapshot has always been ignored.
 */
function matchDataSources(claim: Fields, old: Fields | undefined): void {
  const spec = ensureStruct(claim, 'spec')
  const oldSpec = struct(old, 'spec')
  const hadSource = has(oldSpec, 'dataSource') || has(oldSpec, 'dataSourceRef')
  const [source, reference] = [struct(spec, 'dataSource'), struct(spec, 'dataSourceRef')]
  if (reference === undefined) {
    if (source === undefined) return
    if (hadSource || isClaimOrSnapshot(source)) spec['dataSourceRef'] = { ...source }
    else delete spec['dataSource']
  } else if (source === undefined && text(reference, 'namespace') === '') {
    spec['dataSource'] = Object.fromEntries(Object.entries(reference).filter(([name]) => name !== 'namespace'))
  }
}

function isClaimOrSnapshot(source: Fields): boolean {
  const [group, kind] = [text(source, 'apiGroup'), text(source, 'kind')]
  const isSnapshot = kind === 'VolumeSnapshot' && group === 'snapshot.storage.k8s.io'
  return isSnapshot || (kind === 'PersistentVolumeClaim' && group === '')
}

/** Modes of a claim or of a volume. */
export function checkAccessModes(spec: Fields, path: string): FieldError[] {
  const modes = texts(spec, 'accessModes')
  const errors = modes.flatMap((mode) => checkSupported(mode, path, accessModes))
  const others = modes.some((mode) => mode !== 'ReadWriteOncePod' && accessModes.includes(mode))
  if (modes.includes('ReadWriteOncePod') && others) {
    errors.push(forbiddenField(path, 'may not use ReadWriteOncePod with other access modes'))
  }
  return errors
}

export function checkClaimSpec(spec: Fields, path: string): FieldError[] {
  const detail = 'at least 1 access mode is required'
  const optionalName = (name: string): FieldError[] =>
    text(spec, name) === '' ? [] : checkName(text(spec, name), `${path}.${name}`, dnsSubdomain)
  return [
    ...(texts(spec, 'accessModes').length === 0 ? [requiredField(`${path}.accessModes`, detail)] : []),
    ...checkLabelSelector(struct(spec, 'selector'), `${path}.selector`),
    ...checkAccessModes(spec, `${path}.accessModes`),
    ...checkStorage(spec, `${path}.resources[storage]`),
    ...optionalName('storageClassName'),
    ...(has(spec, 'volumeMode') ? checkSupported(text(spec, 'volumeMode'), `${path}.volumeMode`, VOLUME_MODES) : []),
    ...checkDataSource(struct(spec, 'dataSource'), `${path}.dataSource`),
    ...checkDataSource(struct(spec, 'dataSourceRef'), `${path}.dataSourceRef`),
    ...checkSameSource(struct(spec, 'dataSource'), struct(spec, 'dataSourceRef'), path),
    ...optionalName('volumeAttributesClassName'),
  ]
}

function checkStorage(spec: Fields, path: string): FieldError[] {
  const storage = requestedStorage(spec)
  if (storage === undefined) return [requiredField(path)]
  return quantityInNano(storage) > 0n ? [] : [invalidField(path, storage, POSITIVE)]
}

function requestedStorage(spec: Fields | undefined): string | undefined {
  return quantity(struct(struct(spec, 'resources'), 'requests'), 'storage')
}

function checkDataSource(source: Fields | undefined, path: string): FieldError[] {
  if (source === undefined) return []
  const [group, kind, namespace] = [text(source, 'apiGroup'), text(source, 'kind'), text(source, 'namespace')]
  const detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
  return [
    ...checkRequired(text(source, 'name'), `${path}.name`),
    ...checkRequired(kind, `${path}.kind`),
    ...(group === '' && kind !== 'PersistentVolumeClaim' ? [invalidField(path, kind, detail)] : []),
    ...(group === '' ? [] : checkName(group, `${path}.apiGroup`, dnsSubdomain)),
    ...(namespace === '' ? [] : checkName(namespace, `${path}.namespace`, dnsLabel)),
  ]
}

/** The API server shows a path in place of a value, which prints as nothing. */
function checkSameSource(source: Fields | undefined, reference: Fields | undefined, path: string): FieldError[] {
  if (source === undefined || reference === undefined) return []
  if (text(reference, 'namespace') !== '') {
    return [invalidField(path, {}, 'may not be specified when dataSourceRef.namespace is specified')]
  }
  const same = ['apiGroup', 'kind', 'name'].every((name) => text(source, name) === text(reference, name))
  return same ? [] : [invalidField(path, {}, 'must match dataSourceRef')]
}

/** A claim stays as it was made; one that is bound may grow. */
function checkClaimUpdate(claim: Fields, oldClaim: Fields): FieldError[] {
  const [spec, old] = [struct(claim, 'spec') ?? {}, struct(oldClaim, 'spec') ?? {}]
  const [restored, before] = [structuredClone(spec), structuredClone(old)]
  const bound = text(struct(claim, 'status'), 'phase') === 'Bound'
  if (text(old, 'volumeName') === '') copyField(before, spec, 'volumeName')
  if (!has(old, 'storageClassName')) copyField(before, spec, 'storageClassName')
  if (bound) {
    copyField(restored, old, 'volumeAttributesClassName')
    const requests = struct(struct(restored, 'resources'), 'requests')
    if (requests !== undefined) copyField(requests, struct(struct(old, 'resources'), 'requests') ?? {}, 'storage')
  }
  const errors = checkClaimSpec(spec, 'spec')
  if (!sameStored(restored, before)) {
    const rule =
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'
    errors.push(forbiddenField('spec', `${rule}\n${specDifference(before, restored)}`))
  }
  return [
    ...errors,
    ...checkShrinking(spec, old, struct(struct(oldClaim, 'status'), 'capacity')),
    ...checkImmutable(spec['volumeMode'], old['volumeMode'], 'volumeMode'),
  ]
}

function checkShrinking(spec: Fields, old: Fields, capacity: Fields | undefined): FieldError[] {
  const [now, before] = [requestedStorage(spec) ?? '0', requestedStorage(old) ?? '0']
  const shrinks =
    compareQuantities(now, before) < 0 && compareQuantities(now, quantity(capacity, 'storage') ?? '0') <= 0
  return shrinks
    ? [forbiddenField('spec.resources.requests.storage', 'field can not be less than status.capacity')]
    : []
}
