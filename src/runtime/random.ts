/** Chance as a dependency, so that tests can foretell ids, keys and waits. */
import { randomBytes } from 'node:crypto'

export interface Random {
  /** Bytes that nobody can guess. */
  readonly bytes: (count: number) => Buffer
  /** From 0 up to but not including 1; for spreading waits, not for secrets. */
  readonly fraction: () => number
}

export const systemRandom: Random = { bytes: (count) => randomBytes(count), fraction: () => Math.random() }
