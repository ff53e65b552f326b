/** Reads a watch in the background and lets a test wait for what it wants to see. */
import type { Change, ChangeBatch, Store } from '../../../src/apiserver/storage/store.ts'

export class Watcher {
  readonly batches: ChangeBatch[] = []
  error: unknown
  ended = false
  readonly #abort = new AbortController()
  readonly #done: Promise<void>
  #wake: (() => void) | undefined

  constructor(store: Store, prefix: string, afterRevision: number) {
    this.#done = this.#read(store.watch(prefix, afterRevision, this.#abort.signal))
  }

  get changes(): Change[] {
    return this.batches.flatMap((batch) => batch.changes)
  }

  /** Resolves when the condition holds; rejects when the watch ends before. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.ended) throw new Error('the watch ended before what the test waits for', { cause: this.error })
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  untilRevision(revision: number): Promise<void> {
    return this.until(() => (this.batches.at(-1)?.revision ?? 0) >= revision)
  }

  async stop(): Promise<void> {
    this.#abort.abort()
    await this.#done
  }

  /** Waits for the watch to fail and returns the error. */
  async failure(): Promise<unknown> {
    await this.#done
    return this.error
  }

  async #read(batches: AsyncIterable<ChangeBatch>): Promise<void> {
    try {
      for await (const batch of batches) {
        this.batches.push(batch)
        this.#wake?.()
      }
    } catch (error) {
      this.error = error
    }
    this.ended = true
    this.#wake?.()
  }
}
