/**
 * The fields both sides remember (RFC 7541, 2.3.2 and 4), newest first, within a number of bytes. A ring: adding and
 * dropping cost the same whatever the size, and the ring grows only with what is in it. Every entry also has a serial
 * number that it keeps, because its index moves with each one added.
 */

/** What an entry costs beyond its name and value (RFC 7541, 4.1). */
const entryOverheadBytes = 32

/** What every connection starts with, until the writing side says otherwise (RFC 9113, 6.5.2). */
export const INITIAL_TABLE_BYTES = 4096

const firstCapacity = 16

export function entryBytes(name: string, value: string): number {
  return name.length + value.length + entryOverheadBytes
}

export class DynamicTable {
  /** The capacity is a power of two, so that a serial number's place is its low bits. */
  #names: string[] = new Array<string>(firstCapacity).fill('')
  #values: string[] = new Array<string>(firstCapacity).fill('')
  #mask = firstCapacity - 1
  #count = 0
  #bytes = 0
  #maxBytes: number
  #nextSerial = 0
  readonly #onDrop: ((name: string, value: string, serial: number) => void) | undefined

  constructor(maxBytes: number, onDrop?: (name: string, value: string, serial: number) => void) {
    this.#maxBytes = maxBytes
    this.#onDrop = onDrop
  }

  get count(): number {
    return this.#count
  }

  get maxBytes(): number {
    return this.#maxBytes
  }

  /** What the entry added last has plus one. */
  get nextSerial(): number {
    return this.#nextSerial
  }

  /** 0 is the newest; `age` must be below `count`. */
  nameAt(age: number): string {
    return this.#names[(this.#nextSerial - 1 - age) & this.#mask] as string
  }

  valueAt(age: number): string {
    return this.#values[(this.#nextSerial - 1 - age) & this.#mask] as string
  }

  resize(maxBytes: number): void {
    this.#maxBytes = maxBytes
    this.#dropUntil(maxBytes)
  }

  /** An entry larger than the whole table empties it and is not kept: that is the rule, not an error. */
  add(name: string, value: string): void {
    const bytes = entryBytes(name, value)
    this.#dropUntil(this.#maxBytes - bytes)
    if (bytes > this.#maxBytes) return
    if (this.#count > this.#mask) this.#grow()
    const place = this.#nextSerial++ & this.#mask
    this.#names[place] = name
    this.#values[place] = value
    this.#bytes += bytes
    this.#count++
  }

  #dropUntil(bytesLeft: number): void {
    while (this.#count > 0 && this.#bytes > bytesLeft) {
      const serial = this.#nextSerial - this.#count
      const place = serial & this.#mask
      const name = this.#names[place] as string
      const value = this.#values[place] as string
      this.#names[place] = ''
      this.#values[place] = ''
      this.#bytes -= entryBytes(name, value)
      this.#count--
      this.#onDrop?.(name, value, serial)
    }
  }

  #grow(): void {
    const capacity = (this.#mask + 1) * 2
    const names = new Array<string>(capacity).fill('')
    const values = new Array<string>(capacity).fill('')
    for (let serial = this.#nextSerial - this.#count; serial < this.#nextSerial; serial++) {
      names[serial & (capacity - 1)] = this.#names[serial & this.#mask] as string
      values[serial & (capacity - 1)] = this.#values[serial & this.#mask] as string
    }
    this.#names = names
    this.#values = values
    this.#mask = capacity - 1
  }
}
