/**
 * Plain JSON values as the patch engines handle them. A patch comes from a client, so a key may be any string:
 * `__proto__` and `constructor` are data like every other key, are read only where they are own properties, and are
 * written without ever reaching a prototype.
 */
import { parseJson, RawJson } from '../codec/json.ts'

export type JsonObject = { [key: string]: unknown }

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawJson)
}

/** Raw JSON text becomes the value it stands for, so that an engine can look inside. */
export function plainValue(value: unknown): unknown {
  return value instanceof RawJson ? parseJson(value.text) : value
}

export function getOwn(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? plainValue(object[key]) : undefined
}

export function setOwn(object: JsonObject, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
    return
  }
  object[key] = value
}

/** Deep equality; numbers are compared by value, keys in any order. */
export function jsonEqual(left: unknown, right: unknown): boolean {
  const [a, b] = [plainValue(left), plainValue(right)]
  if (a === b) return true
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => jsonEqual(item, b[index]))
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && jsonEqual(getOwn(a, key), getOwn(b, key)))
  )
}

/** A copy that shares no list and no object with the original. */
export function cloneJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cloneJson)
  return isJsonObject(value) ? mapMembers(value, cloneJson) : value
}

/** A new object with the same keys. */
export function mapMembers(object: JsonObject, change: (value: unknown) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]))
}

/** Whether lists and objects are nested deeper than `maxDepth`. Looks no deeper than that, whatever it is given. */
export function isDeeperThan(value: unknown, maxDepth: number): boolean {
  if (typeof value !== 'object' || value === null || value instanceof RawJson) return false
  if (maxDepth === 0) return true
  return Object.values(value).some((child) => isDeeperThan(child, maxDepth - 1))
}
