/**
 * Collects what a conversion could not carry over. Crossing between JSON and protobuf loses fields that the schema does
 * not know, as it does in an API server; the caller is told which.
 */

/** More names than this help nobody; the count goes on. */
const MAX_REPORTED_FIELDS = 32

export class DroppedFields {
  #names: Set<string> | undefined
  #count = 0

  add(name: string): void {
    this.#count++
    this.#names ??= new Set()
    if (this.#names.size < MAX_REPORTED_FIELDS) this.#names.add(name)
  }

  /** How many values were dropped. */
  get count(): number {
    return this.#count
  }

  /** The first distinct names, for instance `spec.containers[0].colour` or `PodSpec field 999`. */
  get names(): string[] {
    return [...(this.#names ?? [])]
  }
}
