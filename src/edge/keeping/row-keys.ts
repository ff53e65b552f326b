/**
 * The keys of rows. Their first byte orders the kinds: records come before the heads of feeds, and heads before entries, so
 * that whoever reads a file from its beginning knows a feed before its entries. An entry has the number of its feed; feeds
 * get a new number whenever they are written anew, so that entries of an earlier writing are never taken for present ones.
 */

const FORMAT_KIND = 1
const RECORD_KIND = 2
const HEAD_KIND = 3
const ENTRY_KIND = 4
const NUMBER_AT = 1
const NAME_AT = 5

/** LMDB takes 1978 bytes; names and namespaces of Kubernetes have 317 at most. */
const MAX_ROW_NAME_BYTES = 1_024
/** Numbers of feeds in one file; each writing of a whole feed takes one. */
export const MAX_FEED_NUMBER = 4_294_967_295

export type RowKey =
  | { readonly kind: 'format' }
  | { readonly kind: 'record'; readonly shelf: string; readonly key: string }
  | { readonly kind: 'head'; readonly feed: number }
  | { readonly kind: 'entry'; readonly feed: number; readonly key: string }

export const FORMAT_ROW_KEY = Buffer.from([FORMAT_KIND])

export function recordRowKey(shelf: string, key: string): Buffer {
  return Buffer.concat([Buffer.from([RECORD_KIND]), Buffer.from(`${shelf}\0${key}`)])
}

export function headRowKey(feed: number): Buffer {
  return numbered(HEAD_KIND, feed, '')
}

export function entryRowKey(feed: number, key: string): Buffer {
  return numbered(ENTRY_KIND, feed, key)
}

/** Whether a name, or a shelf and a key together, is short enough for a row. */
export function fitsRowKey(...names: readonly string[]): boolean {
  return names.reduce((bytes, name) => bytes + Buffer.byteLength(name) + 1, 0) <= MAX_ROW_NAME_BYTES
}

/** `undefined` for what none of the above has made. */
export function parseRowKey(bytes: Buffer): RowKey | undefined {
  switch (bytes[0]) {
    case FORMAT_KIND:
      return { kind: 'format' }
    case RECORD_KIND:
      return parseRecord(bytes.toString('utf8', 1))
    case HEAD_KIND:
      return bytes.length === NAME_AT ? { kind: 'head', feed: bytes.readUInt32BE(NUMBER_AT) } : undefined
    case ENTRY_KIND:
      if (bytes.length < NAME_AT) return undefined
      return { kind: 'entry', feed: bytes.readUInt32BE(NUMBER_AT), key: bytes.toString('utf8', NAME_AT) }
    default:
      return undefined
  }
}

function parseRecord(name: string): RowKey | undefined {
  const end = name.indexOf('\0')
  return end < 0 ? undefined : { kind: 'record', shelf: name.slice(0, end), key: name.slice(end + 1) }
}

function numbered(kind: number, feed: number, name: string): Buffer {
  const bytes = Buffer.allocUnsafe(NAME_AT + Buffer.byteLength(name))
  bytes[0] = kind
  bytes.writeUInt32BE(feed, NUMBER_AT)
  bytes.write(name, NAME_AT)
  return bytes
}
