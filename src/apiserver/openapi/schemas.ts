/** One message of the tables as an OpenAPI schema. */
import { presentFields } from '../../kube/present-fields.ts'
import { type FieldType, listKinds, type MessageType, type ScalarType } from '../../kube/schema/schema.ts'
import { fieldDescription, typeDescription, typeMetaDescription } from './descriptions.ts'
import { enumValues } from './enum-values.ts'
import { reference } from './names.ts'
import type { Schema } from './openapi.ts'
import { constantDefault, isAtomicType, specialSchema, unionsOf } from './type-facts.ts'

interface ScalarForm {
  readonly type: NonNullable<Schema['type']>
  readonly format?: string
  /** What a value that cannot be absent is when nobody sets it. */
  readonly zero?: unknown
}

const scalarForms: Readonly<Record<ScalarType, ScalarForm>> = {
  string: { type: 'string', zero: '' },
  bool: { type: 'boolean', zero: false },
  int32: { type: 'integer', format: 'int32', zero: 0 },
  int64: { type: 'integer', format: 'int64', zero: 0 },
  double: { type: 'number', format: 'double', zero: 0 },
  bytes: { type: 'string', format: 'byte' },
}

let kindMessages: ReadonlySet<string> | undefined

/** Without its group, version and kind: those depend on the document in which it stands. */
export function schemaOfMessage(message: MessageType): Schema {
  const special = specialSchema(message.fullName)
  if (special !== undefined) return special
  const properties = isKind(message) ? typeMetaProperties() : {}
  const required: string[] = []
  addFields(message, message, properties, required)
  const unions = unionsOf(message.fullName)
  return presentFields({
    description: typeDescription(message.fullName),
    type: 'object',
    required: required.length === 0 ? undefined : required,
    properties: Object.keys(properties).length === 0 ? undefined : sorted(properties),
    'x-kubernetes-map-type': isAtomicType(message.fullName) ? 'atomic' : undefined,
    'x-kubernetes-unions': unions,
  })
}

/** True for messages that carry apiVersion and kind. */
export function isKind({ fullName }: MessageType): boolean {
  kindMessages ??= new Set(
    listKinds().flatMap(({ packageName, kinds }) => kinds.map((kind) => `${packageName}.${kind}`)),
  )
  return kindMessages.has(fullName)
}

/** The fields of an inlined message are those of the message around it. */
function addFields(
  owner: MessageType,
  message: MessageType,
  properties: Record<string, Schema>,
  required: string[],
): void {
  for (const field of message.fields) {
    if (field.inline && field.message !== undefined) {
      addFields(owner, field.message, properties, required)
      continue
    }
    properties[field.jsonName] = propertySchema(owner, field)
    if (field.required) required.push(field.jsonName)
  }
}

function propertySchema(owner: MessageType, field: FieldType): Schema {
  const description = fieldDescription(field)
  const { listType, mapKeys, mapType, mergeKey, patchStrategy } = field.facts
  return presentFields({
    description,
    ...shapeSchema(owner, field),
    'x-kubernetes-list-map-keys': mapKeys,
    'x-kubernetes-list-type': listType,
    'x-kubernetes-map-type': mapType,
    'x-kubernetes-patch-merge-key': mergeKey,
    'x-kubernetes-patch-strategy': patchStrategy,
  })
}

function shapeSchema(owner: MessageType, field: FieldType): Schema {
  const values = enumValues(owner.fullName, field.jsonName)
  const preset = field.facts.default ?? constantDefault(owner.fullName, field.jsonName)
  const explicit = preset === undefined ? {} : { default: preset }
  if (field.shape === 'list') return { type: 'array', ...explicit, items: elementSchema(field, values) }
  if (field.shape === 'map') return { type: 'object', ...explicit, additionalProperties: elementSchema(field, values) }
  if (field.message !== undefined) return messageSchema(field.message, !field.pointer, explicit)
  const mayBeAbsent = field.pointer || field.omitEmpty || field.omitZero
  return scalarSchema(field.scalar, mayBeAbsent ? explicit : { ...zeroOf(field.scalar), ...explicit }, values)
}

/** Elements of lists and maps are always there, so each has its zero as default. */
function elementSchema({ message, scalar }: FieldType, values: readonly string[] | undefined): Schema {
  if (message === undefined) return scalarSchema(scalar, zeroOf(scalar), values)
  return message.form === 'fields' ? messageSchema(message, true, {}) : bareSchema(message)
}

/** A `$ref` tolerates nothing beside itself: where there is more to say it goes into an `allOf`. */
function messageSchema(message: MessageType, alwaysThere: boolean, explicit: { default?: unknown }): Schema {
  if (message.form === 'list') return bareSchema(message)
  const empty = alwaysThere && message.form === 'fields' ? { default: {} } : {}
  return { ...empty, ...explicit, allOf: [reference(message.fullName)] }
}

/** A list that only protobuf wraps stands where it is used; everything else is referred to. */
function bareSchema(message: MessageType): Schema {
  const [wrapped] = message.fields
  if (message.form !== 'list' || wrapped === undefined) return reference(message.fullName)
  return { type: 'array', items: elementSchema(wrapped, undefined) }
}

function scalarSchema(scalar: ScalarType | undefined, extra: Schema, values: readonly string[] | undefined): Schema {
  if (scalar === undefined) throw new Error('a field of the schema tables is neither a scalar nor a message')
  const { type, format } = scalarForms[scalar]
  return presentFields({
    type,
    format,
    ...extra,
    enum: values,
  })
}

function zeroOf(scalar: ScalarType | undefined): { default?: unknown } {
  const zero = scalar === undefined ? undefined : scalarForms[scalar].zero
  return zero === undefined ? {} : { default: zero }
}

function typeMetaProperties(): Record<string, Schema> {
  return {
    apiVersion: { description: typeMetaDescription('apiVersion'), type: 'string' },
    kind: { description: typeMetaDescription('kind'), type: 'string' },
  }
}

export function sorted<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)))
}
