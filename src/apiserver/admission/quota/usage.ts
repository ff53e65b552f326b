/** How much of a quota is used: always worked out from the objects that are there, so it cannot drift from them. */
import type { KubeObject } from '../../../kube/objects.ts'
import { finished, type Steps } from '../../../runtime/steps.ts'
import type { Amounts } from '../amounts.ts'
import type { ObjectLookup } from '../lookup.ts'
import { addTotal, NOTHING, type Total, type Totals } from '../totals.ts'
import { type Counted, type QuotaEvaluator, usageAt } from './evaluator.ts'
import { type QuotaFacts, quotaFacts, resourceKey } from './quota-facts.ts'
import { matchesScopes, type ScopeRequirement } from './scopes.ts'

/** The objects that quotas count. */
export interface CountedObjects {
  counted(evaluator: QuotaEvaluator, namespace: string): Iterable<Counted>
  count(evaluator: QuotaEvaluator, namespace: string): number
}

export function countedIn(lookup: ObjectLookup): CountedObjects {
  return {
    counted: ({ resource, counting }, namespace) => lookup.reads(resource, namespace, counting),
    count: ({ resource }, namespace) => lookup.count(resource, namespace),
  }
}

/** `status.used` of a quota. Names in `spec.hard` that are about nothing that exists are left out. */
export function quotaUsage(quota: KubeObject, lookup: ObjectLookup, nowMs: number): Amounts {
  const usage = new NamespaceUsage(countedIn(lookup), quota.metadata?.namespace ?? '', nowMs)
  return finished(usage.of(quotaFacts(quota)))
}

/**
 * What is used in a namespace at one time. Each object is counted once for all quotas of the same scopes: there may be many
 * of both.
 */
export class NamespaceUsage {
  readonly #objects: CountedObjects
  readonly #namespace: string
  readonly #nowMs: number
  readonly #names: ReadonlySet<string> | undefined
  readonly #sums = new Map<string, Totals>()

  /** Only these names, where they are given. */
  constructor(objects: CountedObjects, namespace: string, nowMs: number, names?: ReadonlySet<string>) {
    this.#objects = objects
    this.#namespace = namespace
    this.#nowMs = nowMs
    this.#names = names
  }

  /** All that the quota grants some of. With a stop after each object. */
  *of(quota: QuotaFacts): Steps<Amounts> {
    const used: Record<string, string> = {}
    for (const { evaluator, names } of quota.parts.values()) {
      const sums = yield* this.sums(evaluator, quota)
      for (const name of names) used[name] = (sums.get(name) ?? NOTHING).text
    }
    return used
  }

  /** What the objects of one resource use that the scopes of the quota match. */
  *sums(evaluator: QuotaEvaluator, { scopes, scopeKey }: QuotaFacts): Steps<Totals> {
    const key = `${resourceKey(evaluator.resource)} ${scopeKey}`
    let sums = this.#sums.get(key)
    if (sums === undefined) {
      sums = yield* this.#count(evaluator, scopes)
      this.#sums.set(key, sums)
    }
    return sums
  }

  *#count(evaluator: QuotaEvaluator, scopes: readonly ScopeRequirement[]): Steps<Totals> {
    const sums = new Map<string, Total>()
    const { each } = evaluator
    if (each !== undefined) {
      const count = scopes.length > 0 ? 0 : this.#objects.count(evaluator, this.#namespace)
      for (const [name, total] of each) if (count > 0) sums.set(name, total.times(count))
      return sums
    }
    for (const counted of this.#objects.counted(evaluator, this.#namespace)) {
      if (matchesScopes(scopes, counted.scopes)) this.#add(sums, usageAt(counted, this.#nowMs))
      yield
    }
    return sums
  }

  #add(sums: Map<string, Total>, usage: Totals): void {
    for (const [name, total] of usage) {
      if (this.#names === undefined || this.#names.has(name)) addTotal(sums, name, total)
    }
  }
}
