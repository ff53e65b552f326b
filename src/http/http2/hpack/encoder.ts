/**
 * Writes header blocks (RFC 7541, 6): a field both sides know is its index, one that may come again is added to the table,
 * and the rest is written out. Names are lower case already, and strings are latin1: what is not goes out as `?`.
 */
import { beginBlock, finishBlock, reserve, writeInteger, writeString } from './block-writer.ts'
import { INITIAL_TABLE_BYTES } from './dynamic-table.ts'
import { EncoderTable } from './encoder-table.ts'
import { indexingOf } from './indexing-policy.ts'
import { staticByName } from './static-table.ts'

export class HpackEncoder {
  readonly #maxTableBytes: number
  readonly #table = new EncoderTable(INITIAL_TABLE_BYTES)
  /** The lowest size since the last block, as long as the peer has not been told. */
  #lowestUntold: number | undefined

  /** `maxTableBytes` is our own ceiling, however much the peer would remember. */
  constructor(maxTableBytes: number = INITIAL_TABLE_BYTES) {
    this.#maxTableBytes = maxTableBytes
    this.setPeerTableBytes(INITIAL_TABLE_BYTES)
  }

  /** The peer's SETTINGS_HEADER_TABLE_SIZE. The next block begins with what the peer has to be told about it. */
  setPeerTableBytes(bytes: number): void {
    const tableBytes = Math.min(bytes, this.#maxTableBytes)
    if (tableBytes === this.#table.maxBytes) return
    this.#table.resize(tableBytes)
    this.#lowestUntold = Math.min(this.#lowestUntold ?? tableBytes, tableBytes)
  }

  /**
   * `fields` is name, value, name, value ... The block is memory of its own; its first `headroomBytes` are left unset for
   * a frame header.
   */
  encode(fields: readonly string[], headroomBytes = 0): Buffer {
    beginBlock(headroomBytes)
    if (this.#lowestUntold !== undefined) this.#tellSize(this.#lowestUntold)
    for (let at = 0; at + 1 < fields.length; at += 2) this.#writeField(fields[at] as string, fields[at + 1] as string)
    return finishBlock()
  }

  /** A dip has to be told too: what it pushed out here must go there as well. */
  #tellSize(lowest: number): void {
    const { maxBytes } = this.#table
    if (lowest < maxBytes) writeInteger(0x20, 0x1f, lowest)
    writeInteger(0x20, 0x1f, maxBytes)
    this.#lowestUntold = undefined
  }

  #writeField(name: string, value: string): void {
    reserve(name.length + value.length)
    const known = staticByName.get(name)
    const index = known?.values.get(value) ?? this.#table.indexOfField(name, value)
    if (index !== 0) writeInteger(0x80, 0x7f, index)
    else this.#writeLiteral(name, value, known?.index ?? this.#table.indexOfName(name))
  }

  #writeLiteral(name: string, value: string, nameIndex: number): void {
    const indexing = indexingOf(name, value, this.#table.maxBytes)
    if (indexing === 'add') writeInteger(0x40, 0x3f, nameIndex)
    else writeInteger(indexing === 'never' ? 0x10 : 0, 0x0f, nameIndex)
    if (nameIndex === 0) writeString(name)
    writeString(value)
    if (indexing === 'add') this.#table.add(name, value)
  }
}
