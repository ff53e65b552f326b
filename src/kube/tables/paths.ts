/**
 * Looking deep into open objects: a path of field names, and a plain answer at its end. What is absent, null or of
 * another type reads as Go's zero value, so that no object, however odd, can spoil the table it stands in.
 */

import { type Fields, isFields } from '../codec/json.ts'
import { canonicalQuantity } from '../codec/quantity.ts'
import { parseTime } from '../codec/time.ts'

type Path = readonly string[]

/** What stands at the path; undefined for null and for every path that leads nowhere. */
export function at(value: unknown, ...path: Path): unknown {
  let found = value
  for (const name of path) {
    if (!isFields(found) || !Object.hasOwn(found, name)) return undefined
    found = found[name]
  }
  return found ?? undefined
}

/** For fields that may be empty on purpose: undefined only where there is none. */
export function optionalTextAt(value: unknown, ...path: Path): string | undefined {
  const found = at(value, ...path)
  return typeof found === 'string' ? found : undefined
}

export function textAt(value: unknown, ...path: Path): string {
  return optionalTextAt(value, ...path) ?? ''
}

export function integerAt(value: unknown, ...path: Path): number {
  const found = at(value, ...path)
  return typeof found === 'number' || typeof found === 'bigint' ? Number(found) : 0
}

export function flagAt(value: unknown, ...path: Path): boolean {
  return at(value, ...path) === true
}

export function listAt(value: unknown, ...path: Path): readonly unknown[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

export function textsAt(value: unknown, ...path: Path): string[] {
  return listAt(value, ...path).filter((item) => typeof item === 'string')
}

export function mapAt(value: unknown, ...path: Path): Fields {
  const found = at(value, ...path)
  return isFields(found) ? found : {}
}

/** Milliseconds since the epoch; undefined where there is no time. */
export function timeMsAt(value: unknown, ...path: Path): number | undefined {
  const time = parseTime(textAt(value, ...path))
  return time === undefined ? undefined : time.seconds * 1000 + time.microseconds / 1000
}

/** A quantity in its canonical form; undefined where there is none. */
export function quantityAt(value: unknown, ...path: Path): string | undefined {
  const found = at(value, ...path)
  if (typeof found === 'number') return String(found)
  return typeof found === 'string' ? (canonicalQuantity(found) ?? found) : undefined
}

/** The first condition of this type, as objects of most kinds list them in their status. */
export function conditionAt(object: unknown, type: string): Fields | undefined {
  return listAt(object, 'status', 'conditions')
    .filter(isFields)
    .find((condition) => condition['type'] === type)
}

export function hasTrueCondition(object: unknown, type: string): boolean {
  return textAt(conditionAt(object, type), 'status') === 'True'
}
