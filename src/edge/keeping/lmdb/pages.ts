/**
 * The pages of an LMDB file, format 2, as bytes: the same on every machine that this program runs on. Every length and
 * offset is held against the page before it is used, since the page may be damaged: what does not fit is `undefined`, never
 * an exception and never a read elsewhere.
 *
 * A page begins with its number, the transaction that wrote it, and its kind. Offsets within a page count from behind that
 * head. The two pages at the beginning of a file, the metas, each name the root of one state of the tree: that of the last
 * transaction, and that of the one before, none of whose pages has been used again yet.
 */

const HEAD_BYTES = 24
const TRANSACTION_AT = 8
const KIND_AT = 18
const LOWER_AT = 20
const BRANCH_KIND = 0x01
const LEAF_KIND = 0x02
const OVERFLOW_KIND = 0x04
const META_KIND = 0x08
/** Flags of a page in memory, which mean nothing on disk. */
const KIND_MASK = 0x0f
const NODE_HEAD_BYTES = 8
const NODE_IN_OVERFLOW = 0x01
const OVERFLOW_REFERENCE_BYTES = 24
const MAGIC = 0xbeefc0de
const VERSION = 2
const NO_PAGE = 0xffff_ffff_ffff_ffffn
/** How much of a page is read to see whether it is a meta. */
export const META_BYTES = 160
/** What LMDB may have chosen, by the machine. */
const SMALLEST_PAGE_BYTES = 512
const LARGEST_PAGE_BYTES = 64 * 1024

export interface Meta {
  readonly pageBytes: number
  readonly transaction: bigint
  /** `undefined`: the tree is empty. */
  readonly root: number | undefined
  /** How many entries the tree has. */
  readonly entries: number
}

/** `bytes` are the first of a page. */
export function parseMeta(bytes: Buffer): Meta | undefined {
  if (kindOf(bytes) !== META_KIND || bytes.readUInt32LE(24) !== MAGIC || bytes.readUInt32LE(28) !== VERSION) {
    return undefined
  }
  const pageBytes = bytes.readUInt32LE(48)
  const isPowerOfTwo = (pageBytes & (pageBytes - 1)) === 0
  if (!isPowerOfTwo || pageBytes < SMALLEST_PAGE_BYTES || pageBytes > LARGEST_PAGE_BYTES) return undefined
  const root = bytes.readBigUInt64LE(136)
  return {
    pageBytes,
    transaction: bytes.readBigUInt64LE(152),
    root: root === NO_PAGE ? undefined : Number(root),
    entries: Number(bytes.readBigUInt64LE(128)),
  }
}

/** A value that has pages of its own. */
export interface OverflowReference {
  readonly page: number
  readonly transaction: bigint
  readonly pages: number
  readonly length: number
}

export type LeafNode =
  | { readonly key: Buffer; readonly value: Buffer }
  | { readonly key: Buffer; readonly overflow: OverflowReference }

export type TreePage =
  /** `lost` counts the children that cannot be made out. */
  { readonly kind: 'branch'; readonly children: readonly number[]; readonly lost: number } | { readonly kind: 'leaf' }

export function parseTreePage(page: Buffer, number: number): TreePage | undefined {
  if (numberOf(page) !== number) return undefined
  const kind = kindOf(page)
  const places = kind === BRANCH_KIND || kind === LEAF_KIND ? nodePlaces(page) : undefined
  if (places === undefined) return undefined
  if (kind === LEAF_KIND) return { kind: 'leaf' }
  const children = places.map((at) => childAt(page, at)).filter((child) => child !== undefined)
  return { kind: 'branch', children, lost: places.length - children.length }
}

/** Of a page that was seen to be a leaf; `undefined` for each that cannot be made out. Keys and values are views of `page`. */
export function parseLeafNodes(page: Buffer): (LeafNode | undefined)[] {
  return (nodePlaces(page) ?? []).map((at) => leafNodeAt(page, at))
}

/** How many bytes of `reference`'s pages are to be read; `undefined` if that cannot be true. */
export function overflowBytes({ page, pages, length }: OverflowReference, meta: Meta, fileBytes: number) {
  const bytes = HEAD_BYTES + length
  const isPlausible = pages >= 1 && bytes <= pages * meta.pageBytes && (page + pages) * meta.pageBytes <= fileBytes
  return isPlausible ? bytes : undefined
}

/** The value in what was read; `undefined` if these are not the pages that were meant, but older ones for instance. */
export function overflowValue(bytes: Buffer, { page, transaction, length }: OverflowReference): Buffer | undefined {
  const isIt =
    numberOf(bytes) === page && kindOf(bytes) === OVERFLOW_KIND && bytes.readBigUInt64LE(TRANSACTION_AT) === transaction
  return isIt ? bytes.subarray(HEAD_BYTES, HEAD_BYTES + length) : undefined
}

function numberOf(page: Buffer): number {
  return Number(page.readBigUInt64LE(0))
}

function kindOf(page: Buffer): number {
  return page.readUInt16LE(KIND_AT) & KIND_MASK
}

/** Where the nodes of a page begin. */
function nodePlaces(page: Buffer): number[] | undefined {
  const lower = page.readUInt16LE(LOWER_AT)
  if (lower % 2 !== 0 || HEAD_BYTES + lower > page.length) return undefined
  return Array.from({ length: lower / 2 }, (_, index) => HEAD_BYTES + page.readUInt16LE(HEAD_BYTES + index * 2))
}

function childAt(page: Buffer, at: number): number | undefined {
  if (at + NODE_HEAD_BYTES > page.length) return undefined
  return page.readUIntLE(at, 6)
}

function leafNodeAt(page: Buffer, at: number): LeafNode | undefined {
  if (at + NODE_HEAD_BYTES > page.length) return undefined
  const length = page.readUInt32LE(at)
  const flags = page.readUInt16LE(at + 4)
  const keyFrom = at + NODE_HEAD_BYTES
  const valueFrom = keyFrom + page.readUInt16LE(at + 6)
  const isInOverflow = flags === NODE_IN_OVERFLOW
  const valueTo = valueFrom + (isInOverflow ? OVERFLOW_REFERENCE_BYTES : length)
  if (valueTo > page.length || (flags !== 0 && !isInOverflow)) return undefined
  const key = page.subarray(keyFrom, valueFrom)
  if (!isInOverflow) return { key, value: page.subarray(valueFrom, valueTo) }
  const overflow = {
    page: Number(page.readBigUInt64LE(valueFrom)),
    transaction: page.readBigUInt64LE(valueFrom + 8),
    pages: Number(page.readBigUInt64LE(valueFrom + 16)),
    length,
  }
  return { key, overflow }
}
