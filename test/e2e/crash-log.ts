/**
 * What clients of a server that is killed know for sure. Each name has one writer, so for each there is the last answer,
 * and at most one request that was sent and never answered.
 */
import { expect } from 'vitest'
import type { ConfigMap } from '../../src/kube/index.ts'

/** A state of an object: what was written and the version it got, or that it is gone. */
export interface KnownState {
  readonly value: string | undefined
  /** Unknown for a delete, and for what was never answered. */
  readonly version: number | undefined
}

export interface AnsweredWrite {
  readonly name: string
  readonly value: string
  readonly version: number
}

export class CrashLog {
  readonly #answered = new Map<string, KnownState>()
  readonly #inDoubt = new Map<string, KnownState>()
  /** All versions that were answered, in the order of the answers. */
  readonly writes: AnsweredWrite[] = []
  /** No write that begins later may get a version that is not greater. */
  highestVersion = 0
  answers = 0

  stateOf(name: string): KnownState | undefined {
    return this.#answered.get(name)
  }

  sent(name: string, value: string | undefined): void {
    this.#inDoubt.set(name, { value, version: undefined })
  }

  answered(name: string, value: string | undefined, version: number | undefined): void {
    this.#inDoubt.delete(name)
    this.#answered.set(name, { value, version })
    this.answers++
    if (value === undefined || version === undefined) return
    this.writes.push({ name, value, version })
    this.highestVersion = Math.max(this.highestVersion, version)
  }

  /** Compares with what the server has after a crash, and takes that for the truth from now on. */
  check(items: readonly ConfigMap[], listVersion: number): void {
    expect(listVersion).toBeGreaterThanOrEqual(this.highestVersion)
    const found = new Map(items.map((item) => [item.metadata?.name ?? '', stateIn(item)]))
    for (const name of found.keys()) expect(this.#knows(name), `nobody created ${name}`).toBe(true)
    for (const name of new Set([...this.#answered.keys(), ...this.#inDoubt.keys()])) {
      const state = found.get(name) ?? { value: undefined, version: undefined }
      this.#checkState(name, state)
      this.#answered.set(name, state)
    }
    this.#inDoubt.clear()
    this.highestVersion = Math.max(this.highestVersion, listVersion)
  }

  #checkState(name: string, state: KnownState): void {
    const answered = this.#answered.get(name)
    const doubtful = this.#inDoubt.get(name)
    if (doubtful !== undefined && doubtful.value === state.value && state.value !== answered?.value) {
      if (state.version !== undefined) expect(state.version).toBeGreaterThan(answered?.version ?? 0)
      return
    }
    // The very state that was answered, not a later one with the same content.
    expect(state, name).toEqual(answered ?? { value: undefined, version: undefined })
  }

  #knows(name: string): boolean {
    return this.#answered.has(name) || this.#inDoubt.has(name)
  }
}

function stateIn(item: ConfigMap): KnownState {
  return { value: item.data?.['value'], version: Number(item.metadata?.resourceVersion) }
}
