/** The four ways to patch, each with its own media type. */
import { printJson } from '../codec/json.ts'
import type { KubeObject } from '../objects.ts'

export interface JsonPatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test'
  readonly path: string
  readonly from?: string
  readonly value?: unknown
}

export type Patch =
  /** RFC 6902: a list of operations. */
  | { readonly type: 'json'; readonly operations: readonly JsonPatchOperation[] }
  /** RFC 7386: maps are merged, lists replaced, null deletes. */
  | { readonly type: 'merge'; readonly patch: object }
  /** Like merge, but lists are merged by their keys. Built-in kinds only. */
  | { readonly type: 'strategic'; readonly patch: object }
  /** Server-side apply: the object with exactly the fields this manager cares for. */
  | { readonly type: 'apply'; readonly object: KubeObject; readonly fieldManager: string; readonly force?: boolean }

export interface EncodedPatch {
  readonly contentType: string
  readonly body: Uint8Array
  readonly query: { readonly fieldManager?: string; readonly force?: boolean }
}

const mediaTypes: Readonly<Record<Patch['type'], string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  // Every JSON document is a YAML document.
  apply: 'application/apply-patch+yaml',
}

export function encodePatch(patch: Patch): EncodedPatch {
  const body = Buffer.from(printJson(documentOf(patch)))
  return { contentType: mediaTypes[patch.type], body, query: queryOf(patch) }
}

function documentOf(patch: Patch): object {
  if (patch.type === 'json') return patch.operations
  return patch.type === 'apply' ? patch.object : patch.patch
}

function queryOf(patch: Patch): EncodedPatch['query'] {
  if (patch.type !== 'apply') return {}
  const { fieldManager, force } = patch
  return force === undefined ? { fieldManager } : { fieldManager, force }
}
