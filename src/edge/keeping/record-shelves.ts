/** The records, all of them in memory: they are read from there, and from there a file can be written anew at any time. */
import type { KeptRecord } from './kept.ts'
import { fitsRowKey } from './row-keys.ts'

/** Of all records together: documents of the API, verdicts, answers. */
const MAX_RECORD_BYTES = 32 * 1024 * 1024
/** What a record costs beside its value. */
const RECORD_OVERHEAD_BYTES = 256

export class RecordShelves {
  readonly #shelves = new Map<string, Map<string, KeptRecord>>()
  #bytes = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  get(shelf: string, key: string): KeptRecord | undefined {
    return this.#shelves.get(shelf)?.get(key)
  }

  /** Says why not, where there is no room for it; then there is none of that name. */
  put(shelf: string, key: string, record: KeptRecord): 'too-large' | 'long-name' | undefined {
    this.delete(shelf, key)
    if (!fitsRowKey(shelf, key)) return 'long-name'
    if (this.#bytes + costOf(record) > MAX_RECORD_BYTES) return 'too-large'
    const records = this.#shelves.get(shelf) ?? new Map<string, KeptRecord>()
    this.#shelves.set(shelf, records.set(key, record))
    this.#bytes += costOf(record)
    this.#size++
    return undefined
  }

  /** Whether it was there. */
  delete(shelf: string, key: string): boolean {
    const records = this.#shelves.get(shelf)
    const record = records?.get(key)
    if (records === undefined || record === undefined) return false
    records.delete(key)
    if (records.size === 0) this.#shelves.delete(shelf)
    this.#bytes -= costOf(record)
    this.#size--
    return true
  }

  values(shelf: string): Map<string, Uint8Array> {
    return new Map([...(this.#shelves.get(shelf) ?? [])].map(([key, { value }]) => [key, value]))
  }

  *names(): Generator<{ readonly shelf: string; readonly key: string }> {
    for (const [shelf, records] of this.#shelves) for (const key of records.keys()) yield { shelf, key }
  }

  clear(): void {
    this.#shelves.clear()
    this.#bytes = 0
    this.#size = 0
  }
}

function costOf({ value }: KeptRecord): number {
  return value.length + RECORD_OVERHEAD_BYTES
}
