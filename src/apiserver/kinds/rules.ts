/**
 * How the rules of one kind become a strategy. A kind states what is special about it; the metadata, the life of the
 * status and the order of checks are the same for all and live here.
 */
import type { KubeObject } from '../../kube/objects.ts'
import type { FieldError } from '../../kube/status/field-error.ts'
import { applyTypedDefaults } from './defaults/engine.ts'
import { sameStored } from './equality.ts'
import { copyField, ensureStruct, type Fields, struct } from './fields.ts'
import { checkGenericMetadata, checkGenericMetadataUpdate, checkMetadata, checkMetadataUpdate } from './metadata.ts'
import { dnsSubdomain, type NameRule, pathSegment } from './names.ts'
import type { GenerationRule, KindStrategy, WriteContext } from './strategy.ts'

/** Metadata that an update of the status leaves alone: nothing, the labels, or all of it. */
export type StatusMetadata = 'writable' | 'labels-kept' | 'kept'

export interface KindRules {
  /** A DNS subdomain unless said otherwise; `any` for kinds that only the least rule binds. */
  readonly name?: NameRule | 'any'
  readonly prepareForCreate?: (object: KubeObject, context: WriteContext) => void
  readonly prepareForUpdate?: (object: KubeObject, old: KubeObject, context: WriteContext) => void
  readonly prepareForStatusUpdate?: (object: KubeObject, old: KubeObject, context: WriteContext) => void
  /** Everything but the metadata. */
  readonly check?: (object: KubeObject) => readonly FieldError[]
  /** Everything but the metadata; `check` of the new object unless said otherwise. */
  readonly checkUpdate?: (object: KubeObject, old: KubeObject, context: WriteContext) => readonly FieldError[]
  readonly checkStatusUpdate?: (object: KubeObject, old: KubeObject) => readonly FieldError[]
  /** Whether the API server checks the metadata of an update like that of a create as well, and so reports twice. */
  readonly checksMetadataAgain?: boolean
  /** Whether a client may set the status when it creates an object. */
  readonly keepsStatusOnCreate?: boolean
  readonly statusMetadata?: StatusMetadata
  /** A subresource besides `status` through which the status is written; the kind itself then keeps the rest. */
  readonly statusSubresource?: string
  readonly allowsUnconditionalUpdate?: boolean
  readonly allowsCreateOnUpdate?: boolean
  /** Fields whose change makes a new generation, such as `spec` or `metadata.annotations`. */
  readonly generationOf?: readonly string[]
  /** 1 unless said otherwise. */
  readonly initialGeneration?: 0 | 1
  readonly warningsOnCreate?: (object: KubeObject) => readonly string[]
  readonly defaultGracePeriodSeconds?: (object: KubeObject) => number
}

export interface KindPlace {
  readonly namespaced: boolean
  readonly hasStatus: boolean
}

export function makeStrategy(rules: KindRules, place: KindPlace): KindStrategy {
  const generation = generationRule(rules)
  const { warningsOnCreate, defaultGracePeriodSeconds } = rules
  return {
    applyDefaults: applyTypedDefaults,
    ...preparation(rules, place),
    ...validation(rules, place),
    allowsUnconditionalUpdate: rules.allowsUnconditionalUpdate ?? true,
    allowsCreateOnUpdate: rules.allowsCreateOnUpdate ?? false,
    generation,
    warningsOnCreate,
    defaultGracePeriodSeconds,
  }
}

function preparation(rules: KindRules, place: KindPlace): KindStrategy {
  return {
    prepareForCreate(object, context) {
      if (place.hasStatus && rules.keepsStatusOnCreate !== true) delete object['status']
      rules.prepareForCreate?.(object, context)
    },
    prepareForUpdate(object, old, context) {
      const writesStatus = context.subresource !== '' && context.subresource === rules.statusSubresource
      if (place.hasStatus && !writesStatus) copyField(object, old, 'status')
      rules.prepareForUpdate?.(object, old, context)
    },
    prepareForStatusUpdate(object, old, context) {
      keepAllButStatus(object, old, rules.statusMetadata ?? 'writable')
      rules.prepareForStatusUpdate?.(object, old, context)
    },
  }
}

function validation(rules: KindRules, place: KindPlace): KindStrategy {
  return {
    validate: (object) => validateCreate(object, rules, place),
    validateUpdate: (object, old, context) => [
      ...validateUpdatedMetadata(object, old, rules, place),
      ...(rules.checkUpdate?.(object, old, context) ?? rules.check?.(object) ?? []),
    ],
    validateStatusUpdate: (object, old) => [
      ...validateUpdatedMetadata(object, old, { name: 'any' }, place),
      ...(rules.checkStatusUpdate?.(object, old) ?? []),
    ],
  }
}

/** Only a kind whose own checks pass is held against the least rule for names: the first answer is the better one. */
function validateCreate(object: KubeObject, rules: KindRules, place: KindPlace): readonly FieldError[] {
  const { namespaced } = place
  const name = rules.name ?? dnsSubdomain
  const own = name === 'any' ? [] : checkMetadata(object, { namespaced, name })
  const errors = [...own, ...(rules.check?.(object) ?? [])]
  return errors.length > 0 ? errors : checkGenericMetadata(object, { namespaced, name: pathSegment })
}

/** What is wrong is named once for all kinds and once more by the kind: clients see both causes. */
function validateUpdatedMetadata(object: KubeObject, old: KubeObject, rules: KindRules, place: KindPlace) {
  const { namespaced } = place
  const name = rules.name ?? dnsSubdomain
  return [
    ...checkGenericMetadata(object, { namespaced, name: pathSegment }),
    ...checkGenericMetadataUpdate(object, old),
    ...checkMetadataUpdate(object, old),
    ...(rules.checksMetadataAgain === true && name !== 'any' ? checkMetadata(object, { namespaced, name }) : []),
  ]
}

function keepAllButStatus(object: KubeObject, old: KubeObject, statusMetadata: StatusMetadata): void {
  for (const name of new Set([...Object.keys(object), ...Object.keys(old)])) {
    if (!['apiVersion', 'kind', 'metadata', 'status'].includes(name)) copyField(object, old, name)
  }
  const oldMetadata = struct(old, 'metadata') ?? {}
  const kept = {
    writable: [],
    'labels-kept': ['labels'],
    kept: ['labels', 'annotations', 'finalizers', 'ownerReferences'],
  }
  for (const name of kept[statusMetadata]) copyField(ensureStruct(object, 'metadata'), oldMetadata, name)
}

function generationRule({ generationOf, initialGeneration = 1 }: KindRules): GenerationRule | undefined {
  if (generationOf === undefined) return undefined
  return {
    initial: initialGeneration,
    hasChanged: (object, old) => generationOf.some((path) => !sameStored(valueAt(object, path), valueAt(old, path))),
  }
}

function valueAt(object: Fields, path: string): unknown {
  const [first = '', second] = path.split('.')
  return second === undefined ? object[first] : struct(object, first)?.[second]
}
