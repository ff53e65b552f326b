/**
 * Reading and completing open objects. A null is as good as an absent field, as it is for the API server; a value of
 * the wrong type reads as absent, because the codec has refused it before a strategy sees the object.
 */
import { type Fields, isFields } from '../../kube/codec/json.ts'

export { type Fields, isFields }

/** Whether the field is there at all, whatever it holds. */
export function has(parent: Fields | undefined, name: string): boolean {
  return parent?.[name] !== undefined && parent[name] !== null
}

export function struct(parent: Fields | undefined, name: string): Fields | undefined {
  const value = parent?.[name]
  return isFields(value) ? value : undefined
}

/** The struct at `name`, made and attached where there is none. */
export function ensureStruct(parent: Fields, name: string): Fields {
  const found = struct(parent, name)
  if (found !== undefined) return found
  const made: Fields = {}
  parent[name] = made
  return made
}

export function structs(parent: Fields | undefined, name: string): Fields[] {
  const value = parent?.[name]
  return Array.isArray(value) ? value.map((item) => (isFields(item) ? item : {})) : []
}

/** Empty where absent, as in Go. */
export function text(parent: Fields | undefined, name: string): string {
  const value = parent?.[name]
  return typeof value === 'string' ? value : ''
}

export function texts(parent: Fields | undefined, name: string): string[] {
  const value = parent?.[name]
  return Array.isArray(value) ? value.map((item) => (typeof item === 'string' ? item : '')) : []
}

export function integer(parent: Fields | undefined, name: string): number | undefined {
  const value = parent?.[name]
  if (typeof value === 'bigint') return Number(value)
  return typeof value === 'number' ? value : undefined
}

export function flag(parent: Fields | undefined, name: string): boolean {
  return parent?.[name] === true
}

/** A map from names to texts, such as labels; empty where absent. It has no other names: keys come from anybody. */
export function textMap(parent: Fields | undefined, name: string): Record<string, string> {
  const map = Object.create(null) as Record<string, string>
  for (const [key, item] of Object.entries(struct(parent, name) ?? {})) map[key] = typeof item === 'string' ? item : ''
  return map
}

/** A number or a text, as ports and percentages are; undefined where absent. */
export function intOrText(parent: Fields | undefined, name: string): number | string | undefined {
  const value = parent?.[name]
  return typeof value === 'number' || typeof value === 'string' ? value : undefined
}

export function setWhenAbsent(parent: Fields, name: string, value: unknown): void {
  if (!has(parent, name)) parent[name] = value
}

/** Puts `source[name]` into `target`, or takes it away where the source has none. */
export function copyField(target: Fields, source: Fields, name: string): void {
  if (has(source, name)) target[name] = structuredClone(source[name])
  else delete target[name]
}
