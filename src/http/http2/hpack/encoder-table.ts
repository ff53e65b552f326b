/**
 * The dynamic table as the writing side needs it: found by name, and by name and value. A field is only added where it is
 * not there yet, so each pair of name and value is in it once at most.
 */
import { DynamicTable } from './dynamic-table.ts'
import { firstDynamicIndex } from './static-table.ts'

interface KnownName {
  /** Serial of the newest entry with this name. */
  newestSerial: number
  readonly serials: Map<string, number>
}

export class EncoderTable {
  readonly #byName = new Map<string, KnownName>()
  readonly #table: DynamicTable

  constructor(maxBytes: number) {
    this.#table = new DynamicTable(maxBytes, (name, value, serial) => this.#forget(name, value, serial))
  }

  get maxBytes(): number {
    return this.#table.maxBytes
  }

  resize(maxBytes: number): void {
    this.#table.resize(maxBytes)
  }

  /** The index of this very field; 0 if there is none. */
  indexOfField(name: string, value: string): number {
    const serial = this.#byName.get(name)?.serials.get(value)
    return serial === undefined ? 0 : this.#indexOf(serial)
  }

  /** The index of a field of this name; 0 if there is none. */
  indexOfName(name: string): number {
    const known = this.#byName.get(name)
    return known === undefined ? 0 : this.#indexOf(known.newestSerial)
  }

  /** The field must fit in the table and not be in it. */
  add(name: string, value: string): void {
    this.#table.add(name, value)
    const serial = this.#table.nextSerial - 1
    const known = this.#byName.get(name)
    if (known === undefined) {
      this.#byName.set(name, { newestSerial: serial, serials: new Map([[value, serial]]) })
    } else {
      known.newestSerial = serial
      known.serials.set(value, serial)
    }
  }

  #indexOf(serial: number): number {
    return firstDynamicIndex + this.#table.nextSerial - 1 - serial
  }

  #forget(name: string, value: string, serial: number): void {
    const known = this.#byName.get(name)
    if (known === undefined) return
    if (known.newestSerial === serial) this.#byName.delete(name)
    else known.serials.delete(value)
  }
}
