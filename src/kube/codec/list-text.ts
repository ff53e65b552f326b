/**
 * A list in a text form, taken apart: what stands before its entries, between them and behind them. Entries are encoded some
 * at a time, inside a list of their own, and cut out of it again.
 */
import { type BodyForm, encodeJson } from './encode-body.ts'

/** About as much as a socket takes at once: small enough to stay in the processor's cache while it is encrypted. */
export const LIST_PIECE_BYTES = 128 * 1024
/** How much JSON is indented, or made YAML of, between two looks at the time: a few milliseconds. */
const INDENTED_PIECE_BYTES = 16 * 1024
const YAML_PIECE_BYTES = 4 * 1024

export interface ListText {
  readonly head: Buffer
  readonly separator: Buffer
  readonly tail: Buffer
  /** The whole list where it has no entries. */
  readonly empty: Buffer
  /** About how much JSON of entries to encode at a time. */
  readonly pieceBytes: number
  /** Entries, printed and joined by commas, as a document to be encoded. */
  wrapped(entries: Buffer): Buffer
  /** The entries in the encoded document. */
  inner(encoded: Buffer): Buffer
}

const nothing = Buffer.alloc(0)

/** `head` is printed JSON up to the bracket before the first entry; the entries are its last member. */
export function listText(head: string, member: 'items' | 'rows', form: BodyForm): ListText {
  const empty = encodeJson(`${head}]}`, form)
  const wrapped = (entries: Buffer): Buffer =>
    Buffer.concat([Buffer.from(`{"${member}":[`), entries, Buffer.from(']}')])
  if (form === 'yaml') return { empty, wrapped, ...yamlText(empty.toString('utf8'), member) }
  if (form === 'indented') return { empty, wrapped, ...indentedText(empty, member) }
  return {
    empty,
    wrapped,
    head: Buffer.from(head),
    separator: Buffer.from(','),
    tail: Buffer.from(']}\n'),
    pieceBytes: LIST_PIECE_BYTES,
    inner: (encoded) => encoded,
  }
}

function indentedText(empty: Buffer, member: string): Omit<ListText, 'empty' | 'wrapped'> {
  const opening = Buffer.byteLength(`{\n  "${member}": [\n`)
  const tail = Buffer.from('\n  ]\n}')
  return {
    head: Buffer.concat([empty.subarray(0, -']\n}'.length), Buffer.from('\n')]),
    separator: Buffer.from(',\n'),
    tail,
    pieceBytes: INDENTED_PIECE_BYTES,
    inner: (encoded) => encoded.subarray(opening, -tail.length),
  }
}

/** Keys are in alphabetical order, so that some may follow the entries. Only keys of the list stand at the margin. */
function yamlText(empty: string, member: string): Omit<ListText, 'empty' | 'wrapped'> {
  const line = `${member}: []\n`
  const start = empty.startsWith(line) ? 0 : empty.indexOf(`\n${line}`) + 1
  const opening = `${member}:\n`
  return {
    head: Buffer.from(empty.slice(0, start) + opening),
    separator: nothing,
    tail: Buffer.from(empty.slice(start + line.length)),
    pieceBytes: YAML_PIECE_BYTES,
    inner: (encoded) => encoded.subarray(opening.length),
  }
}

/** Entries, printed and joined by commas, as they stand in the list. */
export function encodeEntries(text: ListText, entries: Buffer, form: BodyForm): Buffer {
  return form === 'compact' ? entries : text.inner(encodeJson(text.wrapped(entries).toString('utf8'), form))
}
