/**
 * Objects that were admitted and are on their way into the store. Usage is worked out from the objects in memory, and two
 * requests that are checked before either is stored would both take the last place.
 */
import type { KubeObject } from '../../../kube/objects.ts'
import type { GroupResource } from '../../../kube/status/group-names.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { ObjectLookup } from '../lookup.ts'

/** A write that has not come to an end after this long does not count any more. */
export const PENDING_MS = 5_000

interface Pending {
  readonly resource: GroupResource
  readonly object: KubeObject
  readonly untilMs: number
}

export class PendingObjects implements Pick<ObjectLookup, 'each'> {
  readonly #lookup: ObjectLookup
  readonly #clock: Clock
  readonly #pending = new Map<string, Pending>()

  constructor(lookup: ObjectLookup, clock: Clock) {
    this.#lookup = lookup
    this.#clock = clock
  }

  add(resource: GroupResource, object: KubeObject): void {
    const untilMs = this.#clock.monotonicMs() + PENDING_MS
    this.#pending.set(keyOf(resource, object), { resource, object, untilMs })
  }

  /** The objects that are there and those about to be. */
  each(resource: GroupResource, namespace: string): Iterable<KubeObject> {
    const present = this.#lookup.each(resource, namespace)
    this.#forgetSettled()
    const coming = [...this.#pending.values()].filter(
      (entry) =>
        entry.resource.group === resource.group &&
        entry.resource.resource === resource.resource &&
        entry.object.metadata?.namespace === namespace,
    )
    return joined(
      present,
      coming.map(({ object }) => object),
    )
  }

  #forgetSettled(): void {
    const nowMs = this.#clock.monotonicMs()
    for (const [key, { resource, object, untilMs }] of this.#pending) {
      const { namespace = '', name = '' } = object.metadata ?? {}
      const isStored = this.#lookup.find(resource, namespace, name) !== undefined
      if (isStored || nowMs >= untilMs) this.#pending.delete(key)
    }
  }
}

function* joined(...parts: readonly Iterable<KubeObject>[]): Generator<KubeObject, void, undefined> {
  for (const part of parts) yield* part
}

function keyOf({ group, resource }: GroupResource, { metadata = {} }: KubeObject): string {
  return `${group}/${resource}/${metadata.namespace ?? ''}/${metadata.name ?? ''}`
}
