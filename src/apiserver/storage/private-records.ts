/**
 * Records that servers on one store keep for themselves, beside the objects: `.causeway/kind/name`. No API group starts
 * with a dot, so no request reaches them. They have a uid as every object in the store has, because the cache follows
 * them like objects, and whoever wants to know of changes listens there.
 */
import { randomUUID } from 'node:crypto'

export type RecordKind = 'identity' | 'node-ports' | 'servers'

/** What all records of a kind start with: their collection in the cache. */
export function recordPrefix(kind: RecordKind): string {
  return `.causeway/${kind}/`
}

export function recordKey(kind: RecordKind, name: string): string {
  return `${recordPrefix(kind)}${name}`
}

/** What the store keeps of a record: its content, with the metadata that every object in the store has. */
export function recordValue(name: string, content: Readonly<Record<string, unknown>>): Buffer {
  return Buffer.from(JSON.stringify({ metadata: { name, uid: randomUUID() }, ...content }))
}
