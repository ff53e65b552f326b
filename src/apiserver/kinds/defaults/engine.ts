/**
 * Defaults by type: what the API documents as the default of a field holds wherever that type appears, so a pod template
 * gets the same ones in a Deployment, a Job and a CronJob. This file walks an object along its schema and applies the
 * `+default` facts of the schema and the tables beside it, outer types first.
 */
import { canonicalQuantity } from '../../../kube/codec/quantity.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { type FieldType, findKind, type MessageType } from '../../../kube/schema/schema.ts'
import { type Fields, isFields, setWhenAbsent, struct } from '../fields.ts'
import { checkWorkable, quantities, quantity, roundedQuantity } from '../quantities.ts'
import { DEFAULT_RULES } from './rules.ts'
import { DEFAULT_VALUES } from './values.ts'

const quantityName = 'k8s.io.apimachinery.pkg.api.resource.Quantity'
const apiPrefix = 'k8s.io.api.'
const aggregatorPrefix = 'k8s.io.kube_aggregator.pkg.apis.'

/** The work that a type and the types below it give; computed once per type and kept. */
interface TypePlan {
  readonly values: readonly { field: FieldType; value: unknown }[]
  readonly rule: ((fields: Fields) => void) | undefined
  readonly below: readonly FieldType[]
}

const plans = new Map<MessageType, TypePlan>()
const concernedTypes = new Map<MessageType, boolean>()

/** Completes an object in place; kinds without a schema stay as they are. */
export function applyTypedDefaults(object: KubeObject): void {
  const kind = findKind(object.apiVersion ?? '', object.kind ?? '')
  if (kind !== undefined) completeMessage(kind.message, object)
}

function completeMessage(message: MessageType, fields: Fields): void {
  const plan = planOf(message)
  for (const { field, value } of plan.values) setDefault(fields, field, value)
  plan.rule?.(fields)
  for (const field of plan.below) completeField(field, fields)
}

function completeField(field: FieldType, fields: Fields): void {
  const message = field.message
  if (message === undefined) return
  if (field.inline) completeMessage(message, fields)
  else if (message.fullName === quantityName) completeQuantities(field, fields)
  else if (field.shape === 'single') completeSingle(field, message, fields)
  else {
    const value = fields[field.jsonName]
    const items = Array.isArray(value) ? value : isFields(value) ? Object.values(value) : []
    for (const item of items) if (isFields(item)) completeMessage(message, item)
  }
}

/** A struct that is no pointer is always there for the API server, so its defaults apply even where JSON has none. */
function completeSingle(field: FieldType, message: MessageType, fields: Fields): void {
  const value = fields[field.jsonName]
  if (isFields(value)) completeMessage(message, value)
  else if (!field.pointer && (value === undefined || value === null)) {
    const made: Fields = {}
    completeMessage(message, made)
    if (Object.keys(made).length > 0) fields[field.jsonName] = made
  }
}

/** Amounts in maps of resources are rounded up to thousandths, single ones only written canonically. */
function completeQuantities(field: FieldType, fields: Fields): void {
  const map = struct(fields, field.jsonName)
  if (field.shape === 'map' && map !== undefined) {
    for (const [resource, amount] of quantities(fields, field.jsonName)) {
      checkWorkable(amount)
      map[resource] = roundedQuantity(amount)
    }
  } else if (field.shape === 'single') {
    const amount = quantity(fields, field.jsonName)
    if (amount === undefined) return
    checkWorkable(amount)
    fields[field.jsonName] = canonicalQuantity(amount) ?? amount
  }
}

/** Where absent and zero are the same thing, a zero is replaced as well. */
function setDefault(fields: Fields, field: FieldType, value: unknown): void {
  const current = fields[field.jsonName]
  const isZero = current === '' || current === 0 || current === false
  if (isZero && !field.pointer) delete fields[field.jsonName]
  setWhenAbsent(fields, field.jsonName, structuredClone(value))
}

function planOf(message: MessageType): TypePlan {
  const known = plans.get(message)
  if (known !== undefined) return known
  const listed = DEFAULT_VALUES[shortName(message)] ?? {}
  const values = message.fields.flatMap((field) => {
    const value = listed[field.jsonName] ?? field.facts.default
    const isZeroOfValue = !field.pointer && (value === '' || value === 0 || value === false)
    return value === undefined || isZeroOfValue ? [] : [{ field, value }]
  })
  const below = message.fields.filter(({ message: type }) => type !== undefined && isConcerned(type))
  const plan = { values, rule: DEFAULT_RULES[shortName(message)], below }
  plans.set(message, plan)
  return plan
}

/** Whether defaults exist for the type or for any type that it leads to. Types may lead back to themselves. */
function isConcerned(message: MessageType): boolean {
  const known = concernedTypes.get(message)
  if (known !== undefined) return known
  const seen = new Set<MessageType>([message])
  for (const type of seen) {
    if (hasOwnDefaults(type)) {
      concernedTypes.set(message, true)
      return true
    }
    for (const field of type.fields) if (field.message !== undefined) seen.add(field.message)
  }
  concernedTypes.set(message, false)
  return false
}

function hasOwnDefaults(message: MessageType): boolean {
  const name = shortName(message)
  return (
    message.fullName === quantityName ||
    name in DEFAULT_VALUES ||
    name in DEFAULT_RULES ||
    message.fields.some((field) => field.facts.default !== undefined)
  )
}

/** `core.v1.Pod` for `k8s.io.api.core.v1.Pod`. */
function shortName(message: MessageType): string {
  const { fullName } = message
  if (fullName.startsWith(apiPrefix)) return fullName.slice(apiPrefix.length)
  return fullName.startsWith(aggregatorPrefix) ? fullName.slice(aggregatorPrefix.length) : fullName
}
