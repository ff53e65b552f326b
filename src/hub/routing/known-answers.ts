/**
 * What edges have said to destinations of nobody's: who admitted one, and who would not. Most edges say no to most of them, so
 * that a walk through many edges has to go on where the last one ended. It only orders attempts: nobody is left out for good.
 */
import type { Clock } from '../../runtime/clock.ts'

/** Destinations of which is remembered who admitted them: more services than control planes call. */
export const MAX_REMEMBERED_DESTINATIONS = 1_024
/** Denials of all destinations together: 64 edges for each of them, or thousands of edges for the few that are called. */
export const MAX_REMEMBERED_DENIALS = 65_536
/** How long a denial counts: an edge that is started again with other rules is asked like the rest after that. */
export const DENIAL_MEMORY_MS = 300_000

interface Answers {
  admittedBy: string | undefined
  /** When each denial is forgotten. */
  readonly deniedUntilMs: Map<string, number>
}

export class KnownAnswers {
  readonly #clock: Clock
  /** By destination; the one that was used last is the last. */
  readonly #destinations = new Map<string, Answers>()
  #denials = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The node that admitted the destination the last time. */
  admittedBy(address: string): string | undefined {
    return this.#destinations.get(address)?.admittedBy
  }

  isDenied(address: string, node: string): boolean {
    const untilMs = this.#destinations.get(address)?.deniedUntilMs.get(node)
    return untilMs !== undefined && untilMs > this.#clock.monotonicMs()
  }

  admitted(address: string, node: string): void {
    const answers = this.#touch(address)
    answers.admittedBy = node
    if (answers.deniedUntilMs.delete(node)) this.#denials -= 1
    this.#trim()
  }

  denied(address: string, node: string): void {
    const answers = this.#touch(address)
    if (answers.admittedBy === node) answers.admittedBy = undefined
    if (!answers.deniedUntilMs.has(node)) this.#denials += 1
    answers.deniedUntilMs.set(node, this.#clock.monotonicMs() + DENIAL_MEMORY_MS)
    this.#trim()
  }

  #touch(address: string): Answers {
    const answers = this.#destinations.get(address) ?? { admittedBy: undefined, deniedUntilMs: new Map() }
    this.#destinations.delete(address)
    this.#destinations.set(address, answers)
    return answers
  }

  #trim(): void {
    while (this.#destinations.size > MAX_REMEMBERED_DESTINATIONS || this.#denials > MAX_REMEMBERED_DENIALS) {
      const [[address, { deniedUntilMs }] = ['', { deniedUntilMs: new Map() }]] = this.#destinations
      this.#denials -= deniedUntilMs.size
      this.#destinations.delete(address)
    }
  }
}
