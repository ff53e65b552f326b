/**
 * Reads all rows of an LMDB file without LMDB, which ends the whole process on many kinds of damage. Here damage costs the
 * rows that are on the damaged pages and no others. The file must not be written to meanwhile.
 */
import type { Clock } from '../../../runtime/clock.ts'
import { Turns } from '../../../runtime/turns.ts'
import type { FileReader } from './file-reader.ts'
import {
  type LeafNode,
  META_BYTES,
  type Meta,
  type OverflowReference,
  overflowBytes,
  overflowValue,
  parseLeafNodes,
  parseMeta,
  parseTreePage,
} from './pages.ts'

/** Trees of LMDB are seldom deeper than five: what is deeper is a circle or made up. */
const MAX_TREE_DEPTH = 32

/** Values that are read at once share memory, which is kept as long as one of them is. */
const MAX_RUN_BYTES = 32 * 1024

export interface TreeRow {
  readonly key: Buffer
  /** `undefined`: it cannot be read any more. */
  readonly value: Buffer | undefined
}

/** Pages that follow each other, and the bytes of all of them but for the unused end of the last. */
interface Run {
  readonly page: number
  readonly endPage: number
  readonly bytes: Buffer
}

/** One state of the tree: its leaves in the order of their keys. */
interface Snapshot {
  readonly meta: Meta
  readonly leaves: readonly number[]
  readonly lostPages: number
}

export class TreeReader {
  readonly #reader: FileReader
  readonly #turns: Turns
  #lostPages = 0
  #lostNodes = 0

  constructor(reader: FileReader, clock: Clock) {
    this.#reader = reader
    this.#turns = new Turns(clock)
  }

  /** Pages of the tree that make no sense; how many rows were on them nobody knows. */
  get lostPages(): number {
    return this.#lostPages
  }

  /** Places in sound pages at which there is no row to be made out. */
  get lostNodes(): number {
    return this.#lostNodes
  }

  /** In the order of their keys. Keys and values may be kept: they are in memory of their own, some of it shared among rows. */
  async *rows(): AsyncGenerator<TreeRow> {
    const snapshot = await this.#soundest()
    if (snapshot === undefined) {
      this.#lostPages++
      return
    }
    this.#lostPages = snapshot.lostPages
    for (const leaf of snapshot.leaves) {
      const nodes = parseLeafNodes(this.#page(leaf, snapshot.meta))
      const sound = nodes.filter((node) => node !== undefined)
      this.#lostNodes += nodes.length - sound.length
      for (const row of this.#rowsOf(sound, snapshot.meta)) {
        yield row
        if (this.#turns.isOver) await this.#turns.next()
      }
    }
  }

  /** The newest state, unless it has lost pages and the one before it fewer. */
  async #soundest(): Promise<Snapshot | undefined> {
    let best: Snapshot | undefined
    for (const meta of this.#metas()) {
      const snapshot = await this.#snapshot(meta)
      if (best === undefined || snapshot.lostPages < best.lostPages) best = snapshot
      if (best.lostPages === 0) break
    }
    return best
  }

  /** Newest first. The second follows the first at a distance of one page, whose size a damaged first does not tell. */
  #metas(): Meta[] {
    const first = parseMeta(this.#reader.copy(0, META_BYTES))
    const sizes = first === undefined ? [4096, 8192, 16_384, 65_536] : [first.pageBytes]
    const metas = first === undefined ? [] : [first]
    for (const size of sizes) {
      const second = parseMeta(this.#reader.copy(size, META_BYTES))
      if (second?.pageBytes === size) metas.push(second)
    }
    return metas.sort((a, b) => (a.transaction < b.transaction ? 1 : -1))
  }

  async #snapshot(meta: Meta): Promise<Snapshot> {
    const leaves: number[] = []
    const seen = new Set<number>()
    let lostPages = 0
    const visit = async (number: number, depth: number): Promise<void> => {
      const isNew = !seen.has(number)
      seen.add(number)
      const page = isNew && depth < MAX_TREE_DEPTH ? this.#treePage(number, meta) : undefined
      if (this.#turns.isOver) await this.#turns.next()
      if (page === undefined) {
        lostPages++
      } else if (page.kind === 'leaf') {
        leaves.push(number)
      } else {
        lostPages += page.lost
        for (const child of page.children) await visit(child, depth + 1)
      }
    }
    if (meta.root !== undefined) await visit(meta.root, 0)
    return { meta, leaves, lostPages }
  }

  #treePage(number: number, meta: Meta) {
    const isInFile = (number + 1) * meta.pageBytes <= this.#reader.sizeBytes
    return isInFile ? parseTreePage(this.#page(number, meta), number) : undefined
  }

  #page(number: number, { pageBytes }: Meta): Buffer {
    return this.#reader.copy(number * pageBytes, pageBytes)
  }

  *#rowsOf(nodes: readonly LeafNode[], meta: Meta): Generator<TreeRow> {
    let run: Run | undefined
    for (const [index, node] of nodes.entries()) {
      const bytes = 'overflow' in node ? overflowBytes(node.overflow, meta, this.#reader.sizeBytes) : 0
      if (!('overflow' in node)) {
        yield node
      } else if (bytes === undefined) {
        yield { key: node.key, value: undefined }
      } else {
        if (run === undefined || !isWithin(run, node.overflow)) run = this.#readRun(nodes.slice(index), meta)
        const from = (node.overflow.page - run.page) * meta.pageBytes
        yield { key: node.key, value: overflowValue(run.bytes.subarray(from, from + bytes), node.overflow) }
      }
    }
  }

  /** Reads the value of the first node, and with it those of the next ones that lie behind it in a row. */
  #readRun(nodes: readonly LeafNode[], meta: Meta): Run {
    let [page, endPage, length] = [0, 0, 0]
    for (const node of nodes) {
      if (!('overflow' in node)) continue
      const { overflow } = node
      const bytes = overflowBytes(overflow, meta, this.#reader.sizeBytes)
      const isFirst = endPage === 0
      if (isFirst) page = overflow.page
      else if (overflow.page !== endPage || bytes === undefined || length + bytes > MAX_RUN_BYTES) break
      length = (overflow.page - page) * meta.pageBytes + (bytes ?? 0)
      endPage = overflow.page + overflow.pages
    }
    return { page, endPage, bytes: this.#reader.copy(page * meta.pageBytes, length) }
  }
}

function isWithin(run: Run, { page, pages }: OverflowReference): boolean {
  return page >= run.page && page + pages <= run.endPage
}
