/** The instructions that a strategic merge patch carries among the fields, told apart by a leading `$`. */
import { badRequest } from '../status/request-errors.ts'
import type { ApiError } from '../status/status.ts'
import { goPrint, goPrintString } from './go-value.ts'
import { isJsonObject, type JsonObject, mapMembers } from './json-value.ts'
import { strategicMergeFailed } from './patch-errors.ts'

/** In an object: `replace` it or `delete` its members. In an item of a list: the same for the list or the item. */
export const PATCH_DIRECTIVE = '$patch'
/** The only members that an object keeps; the patch may set no others. */
export const RETAIN_KEYS_DIRECTIVE = '$retainKeys'
/** `$deleteFromPrimitiveList/<field>`: items to take out of a list of scalars. */
export const DELETE_LIST_PREFIX = '$deleteFromPrimitiveList'
/** `$setElementOrder/<field>`: the order of the items that the client knows of. */
export const SET_ORDER_PREFIX = '$setElementOrder'

export function badSetElementOrder(): ApiError {
  return badRequest('invalid patch format of setElementOrder list')
}

export function unknownDirective(directive: unknown, patch: JsonObject): ApiError {
  return strategicMergeFailed(`unknown patch type: ${goPrintString(directive)} in map: ${goPrint(patch)}`)
}

/** The field that `$setElementOrder/<field>` is about. */
export function orderedField(key: string): string {
  return fieldAfter(key, SET_ORDER_PREFIX) ?? fail(badSetElementOrder())
}

/** The field that `$deleteFromPrimitiveList/<field>` is about. */
export function fieldToDeleteFrom(key: string): string {
  return fieldAfter(key, DELETE_LIST_PREFIX) ?? fail(badRequest('invalid patch format of primitive list'))
}

/** What an object becomes by a patch that has a `$patch` directive of its own. */
export function followPatchDirective(patch: JsonObject): JsonObject {
  const { [PATCH_DIRECTIVE]: directive, ...rest } = patch
  if (directive === 'replace') return rest
  if (directive === 'delete') return {}
  throw unknownDirective(directive, patch)
}

/** A copy of the object that lacks what the patch does not retain. */
export function retainKeys(original: JsonObject, patch: JsonObject): JsonObject {
  if (!Object.hasOwn(patch, RETAIN_KEYS_DIRECTIVE)) return { ...original }
  const list = patch[RETAIN_KEYS_DIRECTIVE]
  const retained = new Set<unknown>(Array.isArray(list) ? list : fail(badRetainKeys()))
  for (const [key, value] of Object.entries(patch)) {
    const isExempt = value === null || key.startsWith(DELETE_LIST_PREFIX) || key.startsWith(SET_ORDER_PREFIX)
    if (!isExempt && key !== RETAIN_KEYS_DIRECTIVE && !retained.has(key)) throw badRetainKeys()
  }
  return Object.fromEntries(Object.entries(original).filter(([key]) => retained.has(key)))
}

/**
 * A value of the patch for which there is nothing to merge with: without nulls, which would have removed something.
 * Null items of lists stay, they remove nothing.
 */
export function withoutNullMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNullMembers)
  if (!isJsonObject(value)) return value
  const kept = Object.entries(value).filter(([, member]) => member !== null)
  return mapMembers(Object.fromEntries(kept), withoutNullMembers)
}

/**
 * The value without the objects that are directives; undefined where it is one itself. The other directives stay and
 * end as unknown fields, as they do in the API server.
 */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined)
  if (!isJsonObject(value)) return value
  if (Object.hasOwn(value, PATCH_DIRECTIVE)) return undefined
  const members = Object.entries(value).map(([key, member]) => [key, withoutDirectives(member)] as const)
  return Object.fromEntries(members.filter(([, member]) => member !== undefined))
}

function badRetainKeys(): ApiError {
  return badRequest('invalid patch format of retainKeys')
}

function fieldAfter(key: string, prefix: string): string | undefined {
  return key.startsWith(`${prefix}/`) ? key.slice(prefix.length + 1) : undefined
}

function fail(error: ApiError): never {
  throw error
}
