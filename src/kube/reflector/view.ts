/**
 * What the reader knows: the objects by key. Every difference between two states leaves here exactly once, as a change;
 * an object that is already known in the same version makes none.
 */
import type { Versioned } from '../objects.ts'

export type Change<T extends Versioned> =
  | { readonly type: 'added'; readonly object: T }
  | { readonly type: 'updated'; readonly object: T; readonly previous: T }
  /** `stale` when the deletion was inferred from a new snapshot: the object may have changed before it went. */
  | { readonly type: 'deleted'; readonly object: T; readonly stale: boolean }

/** `namespace/name`, or `name` for cluster-scoped objects. */
export function keyOf({ metadata }: Versioned): string {
  const name = metadata?.name ?? ''
  return metadata?.namespace ? `${metadata.namespace}/${name}` : name
}

export class View<T extends Versioned> {
  readonly #objects = new Map<string, T>()

  get objects(): ReadonlyMap<string, T> {
    return this.#objects
  }

  /** The object exists in this state. */
  put(object: T): Change<T>[] {
    const key = keyOf(object)
    const previous = this.#objects.get(key)
    if (previous !== undefined && isSameVersion(previous, object)) return []
    this.#objects.set(key, object)
    if (previous === undefined) return [{ type: 'added', object }]
    if (previous.metadata?.uid === object.metadata?.uid) return [{ type: 'updated', object, previous }]
    // Another object under the old one's name: whoever held on to the old one must let go first.
    return [
      { type: 'deleted', object: previous, stale: true },
      { type: 'added', object },
    ]
  }

  /** The object is gone; `object` is its last state. */
  remove(object: T): Change<T>[] {
    const key = keyOf(object)
    const previous = this.#objects.get(key)
    // A late word about an earlier object of the same name says nothing about the present one.
    if (previous === undefined || previous.metadata?.uid !== object.metadata?.uid) return []
    this.#objects.delete(key)
    return [{ type: 'deleted', object, stale: false }]
  }

  /** These objects and no others exist. */
  replace(objects: readonly T[]): Change<T>[] {
    const present = new Set(objects.map(keyOf))
    const changes: Change<T>[] = []
    for (const [key, object] of this.#objects) {
      if (present.has(key)) continue
      this.#objects.delete(key)
      changes.push({ type: 'deleted', object, stale: true })
    }
    for (const object of objects) changes.push(...this.put(object))
    return changes
  }
}

function isSameVersion(a: Versioned, b: Versioned): boolean {
  return a.metadata?.uid === b.metadata?.uid && a.metadata?.resourceVersion === b.metadata?.resourceVersion
}
