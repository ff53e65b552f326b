/** Merging two lists by the rules of a strategic merge patch: scalars as sets, objects by their merge key. */
import { goPrint, goTypeName } from './go-value.ts'
import { isJsonObject, type JsonObject } from './json-value.ts'
import { patchDoesNotApply, strategicMergeFailed } from './patch-errors.ts'
import { PATCH_DIRECTIVE, unknownDirective } from './strategic-directives.ts'
import { orderItems } from './strategic-order.ts'
import type { FieldRules } from './strategic-schema.ts'

export type MergeObjects = (original: JsonObject, patch: JsonObject) => JsonObject

export interface MergedList {
  readonly items: readonly unknown[]
  /**
   * By which `$setElementOrder` orders the items that only the server knows. It has as many places as the list had
   * before: new items take the places of deleted ones, as they do in the API server.
   */
  readonly liveOrder: readonly unknown[]
}

const objectType = goTypeName({})
const listType = goTypeName([])

export function mergeLists(
  original: readonly unknown[],
  patch: readonly unknown[],
  { type, mergeKey }: FieldRules,
  mergeObjects: MergeObjects,
): MergedList {
  if (original.length === 0 && patch.length === 0) return { items: original, liveOrder: original }
  if (itemTypeName(original, patch) !== objectType) {
    const union = [...new Set([...original, ...patch])]
    return { items: orderItems(union, patch, original, (item) => item), liveOrder: original }
  }
  if (mergeKey === '') throw strategicMergeFailed(`cannot merge lists without merge key for ${type.kind}`)
  return mergeKeyedLists(original as JsonObject[], patch as JsonObject[], mergeKey, mergeObjects)
}

/** `$deleteFromPrimitiveList`. A list of objects has no such thing: there it merges like any other patch. */
export function deleteFromList(
  original: readonly unknown[],
  patch: readonly unknown[],
  rules: FieldRules,
  mergeObjects: MergeObjects,
): readonly unknown[] {
  const isEmpty = original.length === 0 && patch.length === 0
  if (isEmpty || itemTypeName(original, patch) === objectType) {
    return mergeLists(original, patch, rules, mergeObjects).items
  }
  const unwanted = new Set(patch)
  return original.filter((item) => !unwanted.has(item))
}

/** The Go type of the items of both lists, which must be one and the same, and no list. */
export function itemTypeName(...lists: (readonly unknown[])[]): string {
  const items = lists.flat()
  if (items.length === 0) throw strategicMergeFailed('no elements in any of the given slices')
  const name = goTypeName(items[0])
  if (name === listType) throw patchDoesNotApply('lists of lists are not supported')
  if (items[0] === null || items.some((item) => goTypeName(item) !== name)) {
    throw strategicMergeFailed(`list element types are not identical: ${goPrint(lists)}`)
  }
  return name
}

/** The value that tells an item apart from the others of its list. */
export function mergeKeyValue(item: JsonObject, mergeKey: string): unknown {
  if (Object.hasOwn(item, mergeKey)) return item[mergeKey]
  throw strategicMergeFailed(`map: ${goPrint(item)} does not contain declared merge key: ${mergeKey}`)
}

function mergeKeyedLists(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  mergeKey: string,
  mergeObjects: MergeObjects,
): MergedList {
  const { survivors, changes } = followItemDirectives(original, patch, mergeKey)
  const merged = mergeItems(survivors, changes, mergeKey, mergeObjects)
  for (const item of merged) mergeKeyValue(item, mergeKey)
  return {
    items: orderItems(merged, changes, survivors, (item) => (item as JsonObject)[mergeKey]),
    liveOrder: merged.slice(0, original.length),
  }
}

interface DirectedLists {
  /** What is left to merge into, and what is left to merge. */
  readonly survivors: readonly JsonObject[]
  readonly changes: readonly JsonObject[]
}

function followItemDirectives(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  mergeKey: string,
): DirectedLists {
  const changes: JsonObject[] = []
  const deleted = new Set<unknown>()
  let isReplaced = false
  for (const item of patch) {
    const directive = Object.hasOwn(item, PATCH_DIRECTIVE) ? item[PATCH_DIRECTIVE] : undefined
    if (directive === undefined) changes.push(item)
    else if (directive === 'delete') deleted.add(mergeKeyValue(item, mergeKey))
    else if (directive === 'replace') isReplaced = true
    else if (directive === 'merge') throw strategicMergeFailed('merging lists cannot yet be specified in the patch')
    else throw unknownDirective(directive, item)
  }
  if (isReplaced) return { survivors: changes, changes: [] }
  const isDeleted = (item: JsonObject): boolean => Object.hasOwn(item, mergeKey) && deleted.has(item[mergeKey])
  return { survivors: original.filter((item) => !isDeleted(item)), changes }
}

/** What was there in its order, with new items at the end. */
function mergeItems(
  original: readonly JsonObject[],
  changes: readonly JsonObject[],
  mergeKey: string,
  mergeObjects: MergeObjects,
): JsonObject[] {
  const items = [...original]
  const positions = new Map<unknown, number>()
  for (const [position, item] of items.entries()) {
    if (!positions.has(item[mergeKey])) positions.set(item[mergeKey], position)
  }
  for (const change of changes) {
    const key = mergeKeyValue(change, mergeKey)
    const position = positions.get(key) ?? items.length
    const present = items[position]
    items[position] = present === undefined ? change : mergeObjects(present, change)
    positions.set(key, position)
  }
  return items
}

/** An item that must be an object. */
export function expectObject(value: unknown): JsonObject {
  if (isJsonObject(value)) return value
  throw strategicMergeFailed(`expected a ${objectType}, but received a ${goTypeName(value)}`)
}

/** A value that must be a list. */
export function expectList(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw strategicMergeFailed(`expected a ${listType}, but received a ${goTypeName(value)}`)
}
