/**
 * Objects that were admitted and are on their way into the store. Usage is worked out from the objects in memory, and two
 * requests that are checked before either is stored would both take the last place.
 */
import type { KubeObject } from '../../../kube/objects.ts'
import type { GroupResource } from '../../../kube/status/group-names.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { ObjectLookup } from '../lookup.ts'
import type { Counted, QuotaEvaluator } from './evaluator.ts'
import { resourceKey } from './quota-facts.ts'
import { type CountedObjects, countedIn } from './usage.ts'

/** A write that has not come to an end after this long does not count any more. */
export const PENDING_MS = 5_000

interface Pending {
  readonly counted: Counted
  readonly untilMs: number
}

export class PendingObjects implements CountedObjects {
  readonly #lookup: ObjectLookup
  readonly #clock: Clock
  readonly #present: CountedObjects
  /** By resource and namespace, and there by name. */
  readonly #pending = new Map<string, Map<string, Pending>>()

  constructor(lookup: ObjectLookup, clock: Clock) {
    this.#lookup = lookup
    this.#clock = clock
    this.#present = countedIn(lookup)
  }

  add({ resource }: QuotaEvaluator, object: KubeObject, counted: Counted): void {
    const { namespace = '', name = '' } = object.metadata ?? {}
    const key = keyOf(resource, namespace)
    const pending = { counted, untilMs: this.#clock.monotonicMs() + PENDING_MS }
    const others = this.#pending.get(key)
    if (others === undefined) this.#pending.set(key, new Map([[name, pending]]))
    else others.set(name, pending)
  }

  /** The objects that count: those that are there, and those that requests under way are about to make. */
  *counted(evaluator: QuotaEvaluator, namespace: string): Generator<Counted, void, undefined> {
    const coming = this.#coming(evaluator.resource, namespace)
    yield* this.#present.counted(evaluator, namespace)
    yield* coming
  }

  count(evaluator: QuotaEvaluator, namespace: string): number {
    return this.#present.count(evaluator, namespace) + this.#coming(evaluator.resource, namespace).length
  }

  /** Forgets those that have come, and those that nobody waits for any more. */
  #coming(resource: GroupResource, namespace: string): Counted[] {
    const key = keyOf(resource, namespace)
    const pending = this.#pending.get(key)
    if (pending === undefined) return []
    const nowMs = this.#clock.monotonicMs()
    for (const [name, { untilMs }] of pending) {
      if (nowMs >= untilMs || this.#lookup.has(resource, namespace, name)) pending.delete(name)
    }
    if (pending.size === 0) this.#pending.delete(key)
    return [...pending.values()].map(({ counted }) => counted)
  }
}

function keyOf(resource: GroupResource, namespace: string): string {
  return `${resourceKey(resource)} ${namespace}`
}
