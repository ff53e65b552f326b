/** The form of a JSON patch: a list of objects, whose `op`, `path` and `from` are strings where they are present. */
import { goQuote } from '../status/go-text.ts'
import { badRequest, requestEntityTooLarge } from '../status/request-errors.ts'
import type { ApiError } from '../status/status.ts'
import { goJsonWord } from './go-value.ts'
import { JsonPatchFailure } from './json-patch-document.ts'
import { isJsonObject, type JsonObject } from './json-value.ts'

/** The API server's number: each operation may walk the whole document. */
export const MAX_JSON_PATCH_OPERATIONS = 10_000

const textFields = new Set(['op', 'path', 'from'])

/** The operations of a patch whose form is right; whether they make sense shows when they are applied. */
export function readOperations(patch: unknown): JsonObject[] {
  if (patch === null) return []
  if (!Array.isArray(patch)) throw undecodable(`${goJsonWord(patch)} into Go value of type []handlers.jsonPatchOp`)
  const operations = patch.map(readOperation)
  if (operations.length > MAX_JSON_PATCH_OPERATIONS) {
    const limit = `The allowed maximum operations in a JSON patch is ${MAX_JSON_PATCH_OPERATIONS}`
    throw requestEntityTooLarge(`${limit}, got ${operations.length}`)
  }
  return operations
}

/**
 * What field validation says about the operations: members that no operation has, in the API server's words. They are
 * warnings, or reasons to refuse the patch, as the client asked; applying a patch ignores them.
 */
export function unknownOperationFields(patch: unknown): string[] {
  const operations: unknown[] = Array.isArray(patch) ? patch : []
  return operations.flatMap((operation, index) =>
    Object.keys(isJsonObject(operation) ? operation : {})
      .filter((field) => !textFields.has(field) && field !== 'value')
      .map((field) => `json patch unknown field ${goQuote(`[${index}].${field}`)}`),
  )
}

function readOperation(operation: unknown): JsonObject {
  if (operation === null) return {}
  if (!isJsonObject(operation)) throw undecodable(`${goJsonWord(operation)} into Go value of type handlers.jsonPatchOp`)
  for (const [field, value] of Object.entries(operation)) {
    if (!textFields.has(field) || value === null || typeof value === 'string') continue
    throw undecodable(`${goJsonWord(value)} into Go struct field jsonPatchOp.${field} of type string`)
  }
  return operation
}

function undecodable(what: string): ApiError {
  return badRequest(`error decoding patch: json: cannot unmarshal ${what}`)
}

export function operationKind(operation: JsonObject): string {
  return textOf(operation, 'op') ?? 'unknown'
}

function textOf(operation: JsonObject, field: string): string | undefined {
  const text = Object.hasOwn(operation, field) ? operation[field] : undefined
  return typeof text === 'string' ? text : undefined
}

/** Null where it is absent. */
export function operandOf(operation: JsonObject): unknown {
  return (Object.hasOwn(operation, 'value') ? operation['value'] : undefined) ?? null
}

export function pathOf(operation: JsonObject, kind: string): string {
  const path = textOf(operation, 'path')
  if (path === undefined) throw new JsonPatchFailure(`${kind} operation failed to decode path: missing value`)
  return path
}

export function fromOf(operation: JsonObject, kind: string): string {
  const from = textOf(operation, 'from')
  if (from === undefined) throw new JsonPatchFailure(`${kind} operation failed to decode from: missing value`)
  return from
}
