/** Validation of what every object has: names, namespace, labels, annotations, owners, finalizers. */
import { labelKeyBreaches, labelValueBreaches } from '../../kube/selectors/names.ts'
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  tooLongField,
} from '../../kube/status/field-error.ts'
import { goQuote } from '../../kube/status/go-text.ts'
import { checkImmutable, checkName, checkNotNegative } from './checks.ts'
import { type Fields, flag, has, integer, struct, structs, text, textMap, texts } from './fields.ts'
import { asPrefix, dnsLabel, type NameRule } from './names.ts'

/** Keys and values of all annotations together. */
const MAX_ANNOTATIONS_BYTES = 256 * 1024

const orphanFinalizer = 'orphan'
const foregroundFinalizer = 'foregroundDeletion'
const standardFinalizers = new Set(['kubernetes', orphanFinalizer, foregroundFinalizer])

export interface MetadataRules {
  readonly namespaced: boolean
  readonly name: NameRule
}

/** On create, after a name was generated: what holds for objects of every kind, custom ones included. */
export function checkGenericMetadata(object: Fields, rules: MetadataRules, path = 'metadata'): FieldError[] {
  const metadata = struct(object, 'metadata') ?? {}
  return [
    ...checkNames(metadata, rules, path),
    ...checkNamespace(metadata, rules.namespaced, path),
    ...checkNotNegative(integer(metadata, 'generation'), `${path}.generation`),
    ...checkLabels(textMap(metadata, 'labels'), `${path}.labels`),
    ...checkAnnotations(textMap(metadata, 'annotations'), `${path}.annotations`),
    ...checkOwners(metadata, `${path}.ownerReferences`),
    ...checkFinalizers(texts(metadata, 'finalizers'), `${path}.finalizers`),
  ]
}

/** On create, for the built-in kinds: they know which finalizers need no domain. */
export function checkMetadata(object: Fields, rules: MetadataRules, path = 'metadata'): FieldError[] {
  return [...checkGenericMetadata(object, rules, path), ...checkOwnFinalizers(object, path)]
}

/** On update; what a client may leave out has been filled in from the old object by then. */
export function checkGenericMetadataUpdate(object: Fields, oldObject: Fields, path = 'metadata'): FieldError[] {
  const metadata = struct(object, 'metadata') ?? {}
  const old = struct(oldObject, 'metadata') ?? {}
  return [
    ...checkNoNewFinalizers(metadata, old, `${path}.finalizers`),
    ...checkVersion(metadata, old, path),
    ...['name', 'namespace', 'uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'].flatMap(
      (name) => checkImmutable(metadata[name], old[name], `${path}.${name}`),
    ),
    ...checkLabels(textMap(metadata, 'labels'), `${path}.labels`),
    ...checkAnnotations(textMap(metadata, 'annotations'), `${path}.annotations`),
    ...checkOwners(metadata, `${path}.ownerReferences`),
  ]
}

/** On update, for the built-in kinds. */
export function checkMetadataUpdate(object: Fields, old: Fields, path = 'metadata'): FieldError[] {
  return [...checkGenericMetadataUpdate(object, old, path), ...checkOwnFinalizers(object, path)]
}

function checkOwnFinalizers(object: Fields, path: string): FieldError[] {
  return texts(struct(object, 'metadata'), 'finalizers').flatMap((finalizer, index) =>
    checkFinalizerIsQualified(finalizer, `${path}.finalizers[${index}]`),
  )
}

/** The key and the value of each label, both reported at the path of the map. */
export function checkLabels(labels: Readonly<Record<string, string>>, path: string): FieldError[] {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...checkName(key, path, labelKeyBreaches),
    ...checkName(value, path, labelValueBreaches),
  ])
}

export function checkAnnotations(annotations: Readonly<Record<string, string>>, path: string): FieldError[] {
  const errors = Object.keys(annotations).flatMap((key) =>
    labelKeyBreaches(key.toLowerCase()).map((breach) => invalidField(path, key, breach)),
  )
  const bytes = Object.entries(annotations).reduce((sum, [key, value]) => sum + byteLength(key) + byteLength(value), 0)
  if (bytes > MAX_ANNOTATIONS_BYTES) errors.push(tooLongField(path, MAX_ANNOTATIONS_BYTES))
  return errors
}

/** A finalizer of the system or of a user: a known word, or a name with a domain. */
export function checkFinalizerIsQualified(finalizer: string, path: string): FieldError[] {
  const detail = 'name is neither a standard finalizer name nor is it fully qualified'
  return finalizer.includes('/') || standardFinalizers.has(finalizer) ? [] : [invalidField(path, finalizer, detail)]
}

function checkNames(metadata: Fields, rules: MetadataRules, path: string): FieldError[] {
  const [name, generateName] = [text(metadata, 'name'), text(metadata, 'generateName')]
  const errors = generateName === '' ? [] : checkName(generateName, `${path}.generateName`, asPrefix(rules.name))
  if (name === '') errors.push(requiredField(`${path}.name`, 'name or generateName is required'))
  else errors.push(...checkName(name, `${path}.name`, rules.name))
  return errors
}

function checkNamespace(metadata: Fields, namespaced: boolean, path: string): FieldError[] {
  const namespace = text(metadata, 'namespace')
  if (!namespaced) {
    return namespace === '' ? [] : [forbiddenField(`${path}.namespace`, 'not allowed on this type')]
  }
  return namespace === '' ? [requiredField(`${path}.namespace`)] : checkName(namespace, `${path}.namespace`, dnsLabel)
}

function checkOwners(metadata: Fields, path: string): FieldError[] {
  const owners = structs(metadata, 'ownerReferences')
  const errors: FieldError[] = []
  let controller = ''
  for (const owner of owners) {
    errors.push(...checkOwner(owner, path))
    if (!flag(owner, 'controller')) continue
    const current = `${text(owner, 'kind')}/${text(owner, 'name')}`
    if (controller === '') controller = current
    else {
      const found = `Found "true" in references for ${controller} and ${current}`
      errors.push(invalidField(path, owners, `Only one reference can have Controller set to true. ${found}`))
    }
  }
  return errors
}

function checkOwner(owner: Fields, path: string): FieldError[] {
  const apiVersion = text(owner, 'apiVersion')
  const errors: FieldError[] = []
  if (apiVersion.split('/').at(-1) === '') {
    errors.push(invalidField(`${path}.apiVersion`, apiVersion, 'version must not be empty'))
  }
  for (const name of ['kind', 'name', 'uid']) {
    if (text(owner, name) === '') errors.push(invalidField(`${path}.${name}`, '', 'must not be empty'))
  }
  if (apiVersion === 'v1' && owner['kind'] === 'Event') {
    errors.push(invalidField(path, owner, '/v1, Kind=Event is disallowed from being an owner'))
  }
  return errors
}

function checkFinalizers(finalizers: readonly string[], path: string): FieldError[] {
  const errors = finalizers.flatMap((finalizer) => checkName(finalizer, path, labelKeyBreaches))
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer)) {
    const detail = `finalizer ${orphanFinalizer} and ${foregroundFinalizer} cannot be both set`
    errors.push(invalidField(path, finalizers, detail))
  }
  return errors
}

function checkNoNewFinalizers(metadata: Fields, old: Fields, path: string): FieldError[] {
  if (!has(old, 'deletionTimestamp')) return []
  const known = new Set(texts(old, 'finalizers'))
  const added = [...new Set(texts(metadata, 'finalizers'))].filter((finalizer) => !known.has(finalizer)).toSorted()
  if (added.length === 0) return []
  const list = `[]string{${added.map(goQuote).join(', ')}}`
  const rule = 'no new finalizers can be added if the object is being deleted'
  return [forbiddenField(path, `${rule}, found new finalizers ${list}`)]
}

function checkVersion(metadata: Fields, old: Fields, path: string): FieldError[] {
  const errors: FieldError[] = []
  if (text(metadata, 'resourceVersion') === '') {
    errors.push(invalidField(`${path}.resourceVersion`, '', 'must be specified for an update'))
  }
  const generation = integer(metadata, 'generation') ?? 0
  if (generation < (integer(old, 'generation') ?? 0)) {
    errors.push(invalidField(`${path}.generation`, generation, 'must not be decremented'))
  }
  return errors
}

function byteLength(value: string): number {
  return Buffer.byteLength(value, 'utf8')
}
