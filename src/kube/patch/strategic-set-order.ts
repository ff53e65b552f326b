/**
 * `$setElementOrder/<field>`: the client names every item of a list that it knows of, in the order it wants. The patch
 * to the list itself, if there is one, is applied together with it and must follow that order.
 */
import { goPrint } from './go-value.ts'
import { getOwn, isJsonObject, type JsonObject } from './json-value.ts'
import { strategicMergeFailed } from './patch-errors.ts'
import {
  badSetElementOrder,
  orderedField,
  PATCH_DIRECTIVE,
  SET_ORDER_PREFIX,
  withoutDirectives,
} from './strategic-directives.ts'
import {
  expectList,
  expectObject,
  itemTypeName,
  type MergedList,
  type MergeObjects,
  mergeKeyValue,
  mergeLists,
} from './strategic-lists.ts'
import { orderItems } from './strategic-order.ts'
import { type FieldRules, listRules, type PatchType } from './strategic-schema.ts'

export interface OrderedList {
  readonly field: string
  /** Undefined where neither the object nor the patch has the list. */
  readonly items: readonly unknown[] | undefined
}

/** The list that the directive `key` of the patch is about, merged and ordered. */
export function applySetElementOrder(
  key: string,
  object: JsonObject,
  patch: JsonObject,
  type: PatchType,
  mergeItemsOf: (itemType: PatchType) => MergeObjects,
): OrderedList {
  const order = expectList(patch[key])
  const field = orderedField(key)
  const live = Object.hasOwn(object, field) ? expectList(getOwn(object, field)) : undefined
  const change = Object.hasOwn(patch, field) ? expectList(patch[field]) : undefined
  const rules = listRules(type, field)
  checkPatchFollowsOrder(change ?? [], order, rules.mergeKey)
  if (live === undefined && change === undefined) return { field, items: undefined }
  const merged = mergeContents(live, change, rules, mergeItemsOf(rules.type))
  const sort = rules.mergeKey === '' ? sortScalars : sortObjects
  return { field, items: sort(merged, order, rules.mergeKey, [live ?? [], change ?? []]) }
}

function mergeContents(
  live: readonly unknown[] | undefined,
  change: readonly unknown[] | undefined,
  rules: FieldRules,
  mergeObjects: MergeObjects,
): MergedList {
  if (change === undefined) return { items: live ?? [], liveOrder: live ?? [] }
  if (live === undefined) return { items: withoutDirectives(change) as unknown[], liveOrder: [] }
  if (rules.strategy !== 'merge') return { items: change, liveOrder: live }
  return mergeLists(live, change, rules, mergeObjects)
}

function sortScalars(
  { items, liveOrder }: MergedList,
  order: readonly unknown[],
  _mergeKey: string,
  sources: (readonly unknown[])[],
): unknown[] {
  if ([...items, ...order].some((item) => typeof item === 'object' && item !== null)) throw badSetElementOrder()
  itemTypeName(...sources)
  return orderItems(items, order, liveOrder, (item) => item)
}

function sortObjects(
  { items, liveOrder }: MergedList,
  order: readonly unknown[],
  mergeKey: string,
  sources: (readonly unknown[])[],
): unknown[] {
  const keyOf = (item: unknown): unknown => mergeKeyValue(expectObject(item), mergeKey)
  const stranger = order.findIndex((item) => !isJsonObject(item))
  const readable = stranger === -1 ? order : order.slice(0, stranger)
  const known = new Set(readable.map((item) => (item as JsonObject)[mergeKey]))
  for (const item of items) {
    const key = keyOf(item)
    if (stranger !== -1 && !known.has(key)) throw strategicMergeFailed(`value for key ${stranger} is not a map`)
  }
  itemTypeName(...sources)
  return orderItems(items, order, liveOrder, keyOf)
}

/** Every item of the patch must be in the order list, and in the same order; deletions need not. */
function checkPatchFollowsOrder(patch: readonly unknown[], order: readonly unknown[], mergeKey: string): void {
  if (patch.length === 0 || order.length === 0) return
  const expected = mergeKey === '' ? patch : patch.filter((item) => expectObject(item)[PATCH_DIRECTIVE] !== 'delete')
  let followed = 0
  for (const place of order) {
    while (hasDirective(expected[followed])) followed++
    if (followed >= expected.length) return
    if (isSameItem(expected[followed], place, mergeKey)) followed++
  }
  if (followed >= expected.length) return
  const lists = `${goPrint(patch)}\n doesn't match ${SET_ORDER_PREFIX} list:\n${goPrint(order)}\n`
  throw strategicMergeFailed(`The order in patch list:\n${lists}`)
}

function hasDirective(item: unknown): boolean {
  return isJsonObject(item) && Object.hasOwn(item, PATCH_DIRECTIVE)
}

function isSameItem(left: unknown, right: unknown, mergeKey: string): boolean {
  if (mergeKey === '') return left === right
  const [typedLeft, typedRight] = [expectObject(left), expectObject(right)]
  return mergeKeyValue(typedLeft, mergeKey) === mergeKeyValue(typedRight, mergeKey)
}
