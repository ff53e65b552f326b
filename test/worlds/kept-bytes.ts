/** What outlives a process, in memory, for the tests of those who keep something. */
import type { Kept } from '../../src/edge/readers/kept.ts'

export class KeptBytes implements Kept {
  bytes: Uint8Array | undefined
  saves = 0
  /** What becomes of the next writes. */
  problem: Error | undefined

  async load(): Promise<Uint8Array | undefined> {
    return this.bytes
  }

  async save(bytes: Uint8Array): Promise<void> {
    if (this.problem !== undefined) throw this.problem
    this.saves += 1
    this.bytes = bytes
  }

  get text(): string {
    return Buffer.from(this.bytes ?? []).toString('utf8')
  }
}
