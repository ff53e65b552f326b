/**
 * Reads header blocks (RFC 7541, 3). What a block may cost is bounded by its own length, and what it may leave behind by
 * the size of the table: a field named by index a thousand times is one string, and the list ends at its limits.
 */
import { BlockReader } from './block-reader.ts'
import { DynamicTable, entryBytes, INITIAL_TABLE_BYTES } from './dynamic-table.ts'
import { HpackError } from './hpack-error.ts'
import { firstDynamicIndex, staticNames, staticValues } from './static-table.ts'

/** A block begins with two size updates at most: down to the lowest size there was, and up to the last. */
const MAX_SIZE_UPDATES_PER_BLOCK = 2

export interface HpackDecoderLimits {
  /** What our SETTINGS_HEADER_TABLE_SIZE says. */
  readonly maxTableBytes: number
  /** Bytes of one list, each field counted as name, value and 32 (RFC 9113, 6.5.2). */
  readonly maxListBytes: number
  readonly maxFields: number
}

export interface DecodedFields {
  /** Name, value, name, value ... in the order of the wire, pseudo headers included. */
  readonly fields: string[]
  /**
   * There were more than `maxListBytes` or `maxFields`. `fields` has only those before the first that did not fit, but the
   * table is right: the stream is to be refused, and the connection can go on.
   */
  readonly isTooLarge: boolean
}

export class HpackDecoder {
  readonly #limits: HpackDecoderLimits
  /** Starts at the protocol's size, whatever our setting: the peer's first blocks may come before it has read ours. */
  readonly #table = new DynamicTable(INITIAL_TABLE_BYTES)
  readonly #reader = new BlockReader()
  #fields: string[] = []
  #listBytes = 0
  #isTooLarge = false

  constructor(limits: HpackDecoderLimits) {
    this.#limits = limits
  }

  /** Takes one whole block. Throws `HpackError`, after which this decoder and its connection are of no more use. */
  decode(block: Buffer): DecodedFields {
    const reader = this.#reader
    reader.open(block)
    this.#fields = []
    this.#listBytes = 0
    this.#isTooLarge = false
    try {
      let sizeUpdates = 0
      let isInFields = false
      while (reader.hasMore) {
        const byte = reader.byte()
        if ((byte & 0xe0) === 0x20) {
          if (isInFields) throw new HpackError('a table size update comes after a field')
          if (++sizeUpdates > MAX_SIZE_UPDATES_PER_BLOCK)
            throw new HpackError('a block has too many table size updates')
          this.#updateSize(reader.integer(byte, 0x1f))
        } else {
          isInFields = true
          this.#readField(byte)
        }
      }
      return { fields: this.#fields, isTooLarge: this.#isTooLarge }
    } finally {
      reader.close()
      this.#fields = []
    }
  }

  #readField(byte: number): void {
    if (byte >= 0x80) {
      const index = this.#reader.integer(byte, 0x7f)
      this.#take(this.#nameOf(index), this.#valueOf(index))
      return
    }
    const isKept = byte >= 0x40
    const index = this.#reader.integer(byte, isKept ? 0x3f : 0x0f)
    const name = index === 0 ? this.#reader.string() : this.#nameOf(index)
    const value = this.#reader.string()
    if (isKept) this.#table.add(name, value)
    this.#take(name, value)
  }

  #nameOf(index: number): string {
    if (index < firstDynamicIndex && index > 0) return staticNames[index] as string
    return this.#table.nameAt(this.#ageOf(index))
  }

  /** To be asked after `#nameOf`, which looks whether there is such an index. */
  #valueOf(index: number): string {
    if (index < firstDynamicIndex) return staticValues[index] as string
    return this.#table.valueAt(index - firstDynamicIndex)
  }

  #ageOf(index: number): number {
    const age = index - firstDynamicIndex
    if (index === 0 || age >= this.#table.count) {
      const last = firstDynamicIndex + this.#table.count - 1
      throw new HpackError(`a field is named by index ${index}, where indices go from 1 to ${last}`)
    }
    return age
  }

  #take(name: string, value: string): void {
    if (this.#isTooLarge) return
    const listBytes = this.#listBytes + entryBytes(name, value)
    if (listBytes > this.#limits.maxListBytes || this.#fields.length >= this.#limits.maxFields * 2) {
      this.#isTooLarge = true
      return
    }
    this.#listBytes = listBytes
    this.#fields.push(name, value)
  }

  #updateSize(bytes: number): void {
    const { maxTableBytes } = this.#limits
    if (bytes > maxTableBytes) {
      throw new HpackError(`a table of ${bytes} bytes is asked for, where our setting allows ${maxTableBytes}`)
    }
    this.#table.resize(bytes)
  }
}
