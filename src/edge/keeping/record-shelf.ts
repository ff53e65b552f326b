/** The records, all of them in memory: they are read from there, and from there a file can be written anew at any time. */
import type { KeptRecord } from './kept.ts'
import { fitsRowKey } from './row-keys.ts'

/** Of all records together: documents of the API, verdicts, answers. */
export const MAX_RECORD_BYTES = 32 * 1024 * 1024
/** What a record costs beside its value. */
const RECORD_OVERHEAD_BYTES = 256

export class RecordShelf {
  readonly #buckets = new Map<string, Map<string, KeptRecord>>()
  #bytes = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  get(bucket: string, key: string): KeptRecord | undefined {
    return this.#buckets.get(bucket)?.get(key)
  }

  /** Says why not, where there is no room for it; then there is none of that name. */
  put(bucket: string, key: string, record: KeptRecord): 'too-large' | 'long-name' | undefined {
    this.delete(bucket, key)
    if (!fitsRowKey(bucket, key)) return 'long-name'
    if (this.#bytes + costOf(record) > MAX_RECORD_BYTES) return 'too-large'
    const records = this.#buckets.get(bucket) ?? new Map<string, KeptRecord>()
    this.#buckets.set(bucket, records.set(key, record))
    this.#bytes += costOf(record)
    this.#size++
    return undefined
  }

  /** Whether it was there. */
  delete(bucket: string, key: string): boolean {
    const records = this.#buckets.get(bucket)
    const record = records?.get(key)
    if (records === undefined || record === undefined) return false
    records.delete(key)
    if (records.size === 0) this.#buckets.delete(bucket)
    this.#bytes -= costOf(record)
    this.#size--
    return true
  }

  values(bucket: string): Map<string, Uint8Array> {
    return new Map([...(this.#buckets.get(bucket) ?? [])].map(([key, { value }]) => [key, value]))
  }

  *names(): Generator<{ readonly bucket: string; readonly key: string }> {
    for (const [bucket, records] of this.#buckets) for (const key of records.keys()) yield { bucket, key }
  }

  clear(): void {
    this.#buckets.clear()
    this.#bytes = 0
    this.#size = 0
  }
}

function costOf({ value }: KeptRecord): number {
  return value.length + RECORD_OVERHEAD_BYTES
}
