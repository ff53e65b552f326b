/**
 * A list in JSON, put together from the bytes of its items: as a whole, or in pieces for a client that reads it bit by bit.
 * Nothing is printed again, and nothing is copied before it is needed.
 */
import { printJson } from '../../kube/codec/json.ts'
import { LIST_PIECE_BYTES } from '../../kube/codec/list-text.ts'
import type { ListMeta } from '../../kube/objects.ts'
import type { Item } from '../objects/item.ts'
import type { Resource } from '../objects/resource.ts'

const comma = 0x2c
const openBrace = 0x7b
const tail = Buffer.from(']}\n')

export class JsonList {
  readonly bytes: number
  readonly #items: readonly Item[]
  readonly #head: Buffer
  /** Every item begins with its kind and apiVersion, which a list leaves away. */
  readonly #skipped: number

  constructor(items: readonly Item[], metadata: ListMeta, { kind, apiVersion }: Pick<Resource, 'kind' | 'apiVersion'>) {
    this.#items = items
    this.#skipped = Buffer.byteLength(typePrefix(kind, apiVersion))
    this.#head = Buffer.from(`${typePrefix(`${kind}List`, apiVersion)}"metadata":${printJson(metadata)},"items":[`)
    this.bytes = this.#bytesOf(0, items.length)
  }

  whole(): Buffer {
    return this.#piece(0, this.#items.length)
  }

  /** Whole items, as many as fill a piece. Together they are the list. */
  *pieces(): Generator<Buffer> {
    const items = this.#items
    let from = 0
    do {
      let to = from
      for (let bytes = 0; to < items.length && bytes < LIST_PIECE_BYTES; to++) bytes += (items[to] as Item).json.length
      yield this.#piece(from, to)
      from = to
    } while (from < items.length)
  }

  /** The head goes with the first item, the tail with the last. */
  #piece(from: number, to: number): Buffer {
    const items = this.#items
    const piece = Buffer.allocUnsafe(this.#bytesOf(from, to))
    let position = from === 0 ? this.#head.copy(piece) : 0
    for (let index = from; index < to; index++) {
      if (index > 0) piece[position++] = comma
      piece[position++] = openBrace
      position += (items[index] as Item).json.copy(piece, position, this.#skipped)
    }
    if (to === items.length) tail.copy(piece, position)
    return piece
  }

  #bytesOf(from: number, to: number): number {
    let bytes = (from === 0 ? this.#head.length : 0) + (to === this.#items.length ? tail.length : 0)
    for (let index = from; index < to; index++) {
      const comma = index > 0 ? 1 : 0
      bytes += (this.#items[index] as Item).json.length - this.#skipped + 1 + comma
    }
    return bytes
  }
}

function typePrefix(kind: string, apiVersion: string): string {
  return `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`
}
