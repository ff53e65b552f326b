/**
 * The one way to the patch engines: bytes or a value in, the patched object out. What comes out is plain JSON and not
 * yet an object of the kind: unknown fields, nulls and wrong types are for the decoder that reads every other body.
 */

import { WireError } from '../../protobuf/wire-error.ts'
import { parseJson } from '../codec/json.ts'
import type { MessageType } from '../schema/schema.ts'
import { badRequest, requestEntityTooLarge } from '../status/request-errors.ts'
import { goJsonSyntaxError } from './go-json-syntax.ts'
import { goJsonWord } from './go-value.ts'
import { applyJsonPatch } from './json-patch.ts'
import { isDeeperThan, isJsonObject, type JsonObject } from './json-value.ts'
import { MAX_PATCH_BYTES, MAX_PATCH_DEPTH } from './limits.ts'
import { mergeObjects } from './merge-patch.ts'
import { applyStrategicMergePatch } from './strategic-merge-patch.ts'

export type PatchKind = 'json' | 'merge' | 'strategic'

export const PATCH_MEDIA_TYPES: Readonly<Record<PatchKind, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
}

/** How the API server introduces what is wrong with the text of a JSON patch or a merge patch. */
const decoding = 'error decoding patch: '

export interface PatchRequest {
  readonly type: PatchKind
  /** The body as it came, or the JSON value it holds. */
  readonly patch: unknown
  /** In the version that the client addressed. */
  readonly object: JsonObject
  /** The type of the object; undefined for kinds that are not built in, which have no strategic merge patch. */
  readonly message: MessageType | undefined
}

/** A strategic merge patch for a kind without a schema. The media type is at fault: answer 415 before reading a body. */
export class NoStrategicMergeError extends Error {
  override readonly name = 'NoStrategicMergeError'

  constructor() {
    super('a strategic merge patch needs the schema of a built-in kind; send a JSON patch or a merge patch')
  }
}

/** The kinds of patch that objects of a type take. */
export function patchKindsOf(message: MessageType | undefined): PatchKind[] {
  return message === undefined ? ['json', 'merge'] : ['json', 'merge', 'strategic']
}

/** Throws an `ApiError` for a bad patch and `NoStrategicMergeError`; neither `object` nor `patch` is ever changed. */
export function applyPatch({ type, patch, object, message }: PatchRequest): JsonObject {
  if (type === 'json') return applyJsonPatch(object, readPatch(patch, decoding))
  if (type === 'merge') return mergeObjects(object, readMergePatch(patch))
  if (message === undefined) throw new NoStrategicMergeError()
  return applyStrategicMergePatch(object, expectPatchObject(readPatch(patch, '') ?? {}, ''), message)
}

function readMergePatch(patch: unknown): JsonObject {
  const value = readPatch(patch, decoding)
  if (value === null) throw badRequest('Invalid JSON Patch')
  return expectPatchObject(value, decoding)
}

function expectPatchObject(value: unknown, prefix: string): JsonObject {
  if (isJsonObject(value)) return value
  const what = `${goJsonWord(value)} into Go value of type map[string]interface {}`
  throw badRequest(`${prefix}json: cannot unmarshal ${what}`)
}

function readPatch(patch: unknown, prefix: string): unknown {
  const value = patch instanceof Uint8Array ? parsePatch(patch, prefix) : patch
  if (isDeeperThan(value, MAX_PATCH_DEPTH)) throw badRequest(`${prefix}exceeded max depth ${MAX_PATCH_DEPTH}`)
  return value
}

function parsePatch(bytes: Uint8Array, prefix: string): unknown {
  if (bytes.length > MAX_PATCH_BYTES) throw requestEntityTooLarge(`limit is ${MAX_PATCH_BYTES}`)
  try {
    return parseJson(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  } catch (error) {
    if (!(error instanceof WireError)) throw error
    throw badRequest(`${prefix}${goJsonSyntaxError(bytes) ?? error.message}`, { cause: error })
  }
}
