/**
 * What a strategic merge patch needs to know about types: how a field is merged, and by which key the items of a list
 * are told apart. The failures name Go types, because the API server looks these things up in Go structs.
 */
import type { FieldType, MessageType, ScalarType } from '../schema/schema.ts'
import { goQuote } from '../status/go-text.ts'
import { strategicMergeFailed } from './patch-errors.ts'

export type MergeStrategy = 'merge' | 'replace' | ''

/** A type as Go's reflection sees it. */
export interface PatchType {
  readonly kind: string
  /** Set for objects with known fields, behind a pointer or not. */
  readonly message?: MessageType
  /** Set for lists. */
  readonly element?: PatchType
}

export interface FieldRules {
  readonly type: PatchType
  readonly strategy: MergeStrategy
  /** Empty where the list has none. */
  readonly mergeKey: string
}

const scalarKinds: Readonly<Record<ScalarType, string>> = {
  string: 'string',
  bool: 'bool',
  int32: 'int32',
  int64: 'int64',
  double: 'float64',
  bytes: 'slice',
}

export function structType(message: MessageType): PatchType {
  return { kind: 'struct', message }
}

/** The rules of a member of an object; a member that the type does not have is a failure. */
export function fieldRules(type: PatchType, key: string): FieldRules {
  const { message } = type
  if (message === undefined) {
    throw strategicMergeFailed(`merging an object in json but data type is not struct, instead is: ${type.kind}`)
  }
  const field =
    findField(message, (name) => name === key) ?? findField(message, (name) => equalsIgnoringCase(name, key))
  if (field === undefined) {
    const name = message.fullName.slice(message.fullName.lastIndexOf('.') + 1)
    throw strategicMergeFailed(`unable to find api field in struct ${name} for the json field ${goQuote(key)}`)
  }
  const { patchStrategy = '', mergeKey = '' } = field.facts
  return { type: typeOfField(field), strategy: readStrategy(patchStrategy), mergeKey }
}

/** The rules of a member that is a list; their type is that of its items. */
export function listRules(type: PatchType, key: string): FieldRules {
  const rules = fieldRules(type, key)
  if (rules.type.element !== undefined) return { ...rules, type: rules.type.element }
  if (rules.type.kind === 'ptr') return rules
  throw strategicMergeFailed(`expected slice or array type, but got: ${type.kind}`)
}

/** Fields of the type itself hide those of the types inlined in it. */
function findField(message: MessageType, matches: (jsonName: string) => boolean): FieldType | undefined {
  const own = message.fields.find((field) => !field.inline && matches(field.jsonName))
  if (own !== undefined) return own
  for (const { inline, message: inlined } of message.fields) {
    const found = inline && inlined !== undefined ? findField(inlined, matches) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

function equalsIgnoringCase(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase()
}

function typeOfField(field: FieldType): PatchType {
  if (field.shape === 'list') return { kind: 'slice', element: elementType(field) }
  if (field.shape === 'map') return { kind: 'map' }
  const type = elementType(field)
  return field.pointer ? { ...type, kind: 'ptr' } : type
}

/** The type of one item of a list, or of the value of a field that is no list. */
function elementType({ scalar, message }: FieldType): PatchType {
  if (scalar === 'bytes') return { kind: 'slice', element: { kind: 'uint8' } }
  if (scalar !== undefined) return { kind: scalarKinds[scalar] }
  if (message?.form !== 'list') return message === undefined ? { kind: 'struct' } : structType(message)
  const [wrapped] = message.fields
  return { kind: 'slice', element: wrapped === undefined ? { kind: 'string' } : elementType(wrapped) }
}

/** `retainKeys` only tells clients to send the directive of that name; applying a patch goes by the other one. */
function readStrategy(patchStrategy: string): MergeStrategy {
  const other = patchStrategy.split(',').find((strategy) => strategy !== 'retainKeys')
  return other === 'merge' || other === 'replace' ? other : ''
}
