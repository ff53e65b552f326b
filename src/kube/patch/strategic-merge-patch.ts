/**
 * Strategic merge patch: a merge patch that knows the types. Objects are merged; lists are replaced unless their field
 * says that they merge, scalars then as sets and objects by their merge key; `$` directives say the rest.
 *
 * Where the API server goes through a patch in random order, this goes through it in the order of the text, with
 * `$setElementOrder` first and `$deleteFromPrimitiveList` last.
 */
import type { MessageType } from '../schema/schema.ts'
import { goTypeName } from './go-value.ts'
import { getOwn, isJsonObject, type JsonObject, setOwn } from './json-value.ts'
import {
  DELETE_LIST_PREFIX,
  fieldToDeleteFrom,
  followPatchDirective,
  PATCH_DIRECTIVE,
  RETAIN_KEYS_DIRECTIVE,
  retainKeys,
  SET_ORDER_PREFIX,
  withoutDirectives,
  withoutNullMembers,
} from './strategic-directives.ts'
import { deleteFromList, type MergeObjects, mergeLists } from './strategic-lists.ts'
import { fieldRules, listRules, type PatchType, structType } from './strategic-schema.ts'
import { applySetElementOrder } from './strategic-set-order.ts'

/** Returns the patched object or throws an `ApiError`; neither `object` nor `patch` is changed. */
export function applyStrategicMergePatch(object: JsonObject, patch: JsonObject, message: MessageType): JsonObject {
  return mergeObjects(object, patch, structType(message))
}

function mergeObjects(original: JsonObject, patch: JsonObject, type: PatchType): JsonObject {
  if (Object.hasOwn(patch, PATCH_DIRECTIVE)) return followPatchDirective(patch)
  const result = retainKeys(original, patch)
  const settled = setElementOrders(result, patch, type)
  const deletions: [key: string, value: unknown][] = []
  for (const [key, value] of Object.entries(patch)) {
    if (settled.has(key)) continue
    if (key.startsWith(DELETE_LIST_PREFIX)) deletions.push([fieldToDeleteFrom(key), value])
    else mergeMember(result, key, value, type, false)
  }
  for (const [key, value] of deletions) mergeMember(result, key, value, type, true)
  return result
}

/** Applies the ordering directives to `result`; returns the keys of the patch that are done with. */
function setElementOrders(result: JsonObject, patch: JsonObject, type: PatchType): Set<string> {
  const settled = new Set([RETAIN_KEYS_DIRECTIVE])
  for (const key of Object.keys(patch)) {
    if (!key.startsWith(SET_ORDER_PREFIX)) continue
    settled.add(key)
    const { field, items } = applySetElementOrder(key, result, patch, type, mergeItemsOf)
    if (items === undefined) continue
    setOwn(result, field, items)
    settled.add(field)
  }
  return settled
}

function mergeMember(result: JsonObject, key: string, value: unknown, type: PatchType, isDeletion: boolean): void {
  if (value === null) {
    delete result[key]
    return
  }
  const current = getOwn(result, key)
  if (current === undefined || goTypeName(current) !== goTypeName(value)) {
    if (!isDeletion) replaceMember(result, key, withoutDirectives(withoutNullMembers(value)))
  } else if (isJsonObject(current) && isJsonObject(value)) {
    const rules = fieldRules(type, key)
    setOwn(result, key, rules.strategy === 'replace' ? value : mergeObjects(current, value, rules.type))
  } else if (Array.isArray(current) && Array.isArray(value)) {
    setOwn(result, key, mergeListMember(current, value, key, type, isDeletion))
  } else {
    setOwn(result, key, value)
  }
}

function replaceMember(result: JsonObject, key: string, value: unknown): void {
  if (value === undefined) delete result[key]
  else setOwn(result, key, value)
}

function mergeListMember(
  current: readonly unknown[],
  value: readonly unknown[],
  key: string,
  type: PatchType,
  isDeletion: boolean,
): readonly unknown[] {
  const rules = listRules(type, key)
  if (isDeletion) return deleteFromList(current, value, rules, mergeItemsOf(rules.type))
  return rules.strategy === 'merge' ? mergeLists(current, value, rules, mergeItemsOf(rules.type)).items : value
}

function mergeItemsOf(itemType: PatchType): MergeObjects {
  return (original, patch) => mergeObjects(original, patch, itemType)
}
