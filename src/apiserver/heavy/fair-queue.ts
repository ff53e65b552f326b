/**
 * Waiting work of several callers: each in its order, and the callers in turn, so that nobody waits behind all of another's.
 * The ServiceAccounts of a namespace are in one hand, and have one turn together.
 */
import { serviceAccountOf } from '../auth/tokens/service-account-user.ts'

/** One that waits, and whose it is. */
interface Waiting<Item> {
  readonly caller: string
  readonly item: Item
}

/** Callers in one hand, and what they wait for. */
class Household<Item> {
  /** By caller; whose turn it is comes first. */
  readonly #waiting = new Map<string, Item[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  sizeOf(caller: string): number {
    return this.#waiting.get(caller)?.length ?? 0
  }

  push(caller: string, item: Item): void {
    const own = this.#waiting.get(caller)
    if (own === undefined) this.#waiting.set(caller, [item])
    else own.push(item)
    this.#size += 1
  }

  /** The first of the caller whose turn it is; the caller stands last then. */
  shift(): Item | undefined {
    const [next] = this.#waiting
    if (next === undefined) return undefined
    const [caller, items] = next
    this.#waiting.delete(caller)
    const item = items.shift()
    if (items.length > 0) this.#waiting.set(caller, items)
    this.#size -= 1
    return item
  }

  /** The last of the caller who has most. */
  last(): Waiting<Item> | undefined {
    const [most] = [...this.#waiting].toSorted(([, one], [, other]) => other.length - one.length)
    const item = most?.[1].at(-1)
    return most === undefined || item === undefined ? undefined : { caller: most[0], item }
  }

  remove(caller: string, item: Item): void {
    const own = this.#waiting.get(caller)
    const index = own?.indexOf(item) ?? -1
    if (own === undefined || index === -1) return
    own.splice(index, 1)
    this.#size -= 1
    if (own.length === 0) this.#waiting.delete(caller)
  }
}

export class FairQueue<Item> {
  /** Whose turn it is comes first. */
  readonly #households = new Map<string, Household<Item>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** How much of it is this caller's. */
  sizeOf(caller: string): number {
    return this.#households.get(householdOf(caller))?.sizeOf(caller) ?? 0
  }

  push(caller: string, item: Item): void {
    const name = householdOf(caller)
    const household = this.#households.get(name) ?? new Household<Item>()
    household.push(caller, item)
    this.#households.set(name, household)
    this.#size += 1
  }

  /** The first of those whose turn it is; they stand last then. */
  shift(): Item | undefined {
    const [next] = this.#households
    if (next === undefined) return undefined
    const [name, household] = next
    this.#households.delete(name)
    const item = household.shift()
    if (household.size > 0) this.#households.set(name, household)
    this.#size -= 1
    return item
  }

  /** Makes room for one of this caller, if others in one hand have more: theirs that came last is taken out. */
  displace(caller: string): Item | undefined {
    const [fullest] = [...this.#households.values()].toSorted((one, other) => other.size - one.size)
    const own = this.#households.get(householdOf(caller))?.size ?? 0
    if (fullest === undefined || fullest.size <= own + 1) return undefined
    const last = fullest.last()
    if (last !== undefined) this.remove(last.caller, last.item)
    return last?.item
  }

  remove(caller: string, item: Item): void {
    const name = householdOf(caller)
    const household = this.#households.get(name)
    if (household === undefined) return
    const before = household.size
    household.remove(caller, item)
    this.#size -= before - household.size
    if (household.size === 0) this.#households.delete(name)
  }
}

function householdOf(caller: string): string {
  const account = serviceAccountOf(caller)
  return account === undefined ? `user ${caller}` : `namespace ${account.namespace}`
}
