/**
 * A list in a text form, taken apart: what stands before its entries, between them and behind them. Entries are encoded some
 * at a time, inside a list of their own, and cut out of it again.
 */
import { type BodyForm, encodeJson } from './encode-body.ts'

/** How much JSON is put into one piece, or indented, or made YAML of: a few milliseconds at most. */
const COMPACT_PIECE_BYTES = 128 * 1024
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
  /** Entries, as compact JSON and joined by commas, in this form. */
  encoded(entries: Buffer): Buffer
}

const nothing = Buffer.alloc(0)

/** `head` is printed JSON up to the bracket before the first entry; the entries are its last member. */
export function listText(head: string, member: 'items' | 'rows', form: Exclude<BodyForm, 'protobuf'>): ListText {
  const empty = encodeJson(`${head}]}`, form)
  if (form === 'yaml') return { empty, ...yamlText(empty.toString('utf8'), member) }
  if (form === 'indented') return { empty, ...indentedText(empty, member) }
  return {
    empty,
    head: Buffer.from(head),
    separator: Buffer.from(','),
    tail: Buffer.from(']}\n'),
    pieceBytes: COMPACT_PIECE_BYTES,
    encoded: (entries) => entries,
  }
}

function wrapped(entries: Buffer, member: string): string {
  return `{"${member}":[${entries.toString('utf8')}]}`
}

function indentedText(empty: Buffer, member: string): Omit<ListText, 'empty'> {
  const opening = Buffer.byteLength(`{\n  "${member}": [\n`)
  const tail = Buffer.from('\n  ]\n}')
  return {
    head: Buffer.concat([empty.subarray(0, -']\n}'.length), Buffer.from('\n')]),
    separator: Buffer.from(',\n'),
    tail,
    pieceBytes: INDENTED_PIECE_BYTES,
    encoded: (entries) => encodeJson(wrapped(entries, member), 'indented').subarray(opening, -tail.length),
  }
}

/** Keys are in alphabetical order, so that some may follow the entries. Only keys of the list stand at the margin. */
function yamlText(empty: string, member: string): Omit<ListText, 'empty'> {
  const line = `${member}: []\n`
  const start = empty.startsWith(line) ? 0 : empty.indexOf(`\n${line}`) + 1
  const opening = `${member}:\n`
  return {
    head: Buffer.from(empty.slice(0, start) + opening),
    separator: nothing,
    tail: Buffer.from(empty.slice(start + line.length)),
    pieceBytes: YAML_PIECE_BYTES,
    encoded: (entries) => encodeJson(wrapped(entries, member), 'yaml').subarray(opening.length),
  }
}
