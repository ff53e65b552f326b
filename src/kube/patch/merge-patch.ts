/** JSON merge patch, RFC 7386: objects are merged, null removes a member, everything else replaces what was there. */
import { getOwn, isJsonObject, type JsonObject, plainValue, setOwn } from './json-value.ts'

/** The result shares what the patch does not touch with `target`; neither is changed. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  return isJsonObject(patch) ? mergeObjects(plainValue(target), patch) : patch
}

export function mergeObjects(target: unknown, patch: JsonObject): JsonObject {
  const result = isJsonObject(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else setOwn(result, key, applyMergePatch(getOwn(result, key), value))
  }
  return result
}
