/** Which nodes claim a text: a name, an address, a range. */

const nobody: ReadonlySet<string> = new Set()

export class Owners {
  readonly #owners = new Map<string, Set<string>>()
  #contested = 0

  add(key: string, node: string): void {
    const owners = this.#owners.get(key) ?? new Set()
    this.#owners.set(key, owners)
    if (owners.size === 1 && !owners.has(node)) this.#contested += 1
    owners.add(node)
  }

  remove(key: string, node: string): void {
    const owners = this.#owners.get(key)
    if (owners === undefined || !owners.delete(node)) return
    if (owners.size === 1) this.#contested -= 1
    if (owners.size === 0) this.#owners.delete(key)
  }

  of(key: string): ReadonlySet<string> {
    return this.#owners.get(key) ?? nobody
  }

  get isEmpty(): boolean {
    return this.#owners.size === 0
  }

  /** Texts that more than one node claims. */
  get contestedCount(): number {
    return this.#contested
  }
}
