/**
 * The border to the ASN.1 library. Whatever comes from outside is first walked by us: only DER passes (one encoding for
 * one value, nothing left over, bounded depth), so that the library, OpenSSL and Go cannot read the same bytes differently.
 */
import { type AsnType, fromBER } from 'asn1js'
import { IdentityError, type IdentityErrorCode, rethrowAs } from './errors.ts'

/** Certificates nest about ten deep; the walk recurses, so there must be an end. */
export const MAX_DER_DEPTH = 24
/** A certificate has about a hundred values, and a few for each name. */
export const MAX_DER_NODES = 8192

const TAG_NUMBER_MASK = 0x1f
const CONSTRUCTED = 0x20
const CLASS_MASK = 0xc0
const SEQUENCE = 0x30
const SET = 0x31
const BOOLEAN = 0x01
const INTEGER = 0x02
const BIT_STRING = 0x03
/** Lengths above 4 GiB are nobody's certificate, and four octets still are an exact number. */
const MAX_LENGTH_OCTETS = 4

/** Bytes in a buffer of their own, as the ASN.1 library wants them. */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes)
}

/** Parses exactly one DER value that fills all of `bytes`. */
export function readDer(bytes: Uint8Array, source: string): AsnType {
  checkDer(bytes, source)
  const { offset, result } = rethrowAs('malformed-der', `${source} cannot be read as ASN.1`, () =>
    fromBER(ownBytes(bytes), { maxDepth: MAX_DER_DEPTH + 1, maxNodes: MAX_DER_NODES, parseEmbedded: false }),
  )
  if (offset === -1) throw malformed(source, result.error)
  return result
}

/** Parses DER into one of the library's structures, with our error for whatever it throws. */
export function readStructure<T>(
  structure: new (parameters: { schema: AsnType }) => T,
  bytes: Uint8Array,
  code: IdentityErrorCode,
  source: string,
): T {
  const schema = readDer(bytes, source)
  return rethrowAs(code, `${source} does not have the right structure`, () => new structure({ schema }))
}

/** Throws unless `bytes` are one DER value from the first byte to the last. */
export function checkDer(bytes: Uint8Array, source: string): void {
  if (bytes.length === 0) throw malformed(source, 'there are no bytes')
  const end = new DerWalk(bytes, source).value(0, bytes.length, 0)
  if (end !== bytes.length) throw malformed(source, `${bytes.length - end} bytes follow its end`)
}

class DerWalk {
  readonly #bytes: Uint8Array
  readonly #source: string
  #nodes = 0

  constructor(bytes: Uint8Array, source: string) {
    this.#bytes = bytes
    this.#source = source
  }

  /** Walks the value at `start`, which must end by `limit`; returns where it ends. */
  value(start: number, limit: number, depth: number): number {
    if (depth > MAX_DER_DEPTH) throw this.#fail(start, 'values are nested too deep')
    if (++this.#nodes > MAX_DER_NODES) throw this.#fail(start, 'there are too many values')
    const tag = this.#byte(start, limit)
    this.#checkTag(tag, start)
    const { length, at } = this.#length(start + 1, limit)
    const end = at + length
    if (end > limit) throw this.#fail(start, 'a value is longer than what holds it')
    if ((tag & CONSTRUCTED) === 0) this.#checkPrimitive(tag, at, length)
    else for (let next = at; next < end; ) next = this.value(next, end, depth + 1)
    return end
  }

  /** In DER only sequences and sets are constructed among the universal types; X.509 needs no tag above 30. */
  #checkTag(tag: number, at: number): void {
    if ((tag & TAG_NUMBER_MASK) === TAG_NUMBER_MASK) throw this.#fail(at, 'the tag is not one that X.509 uses')
    if ((tag & CLASS_MASK) !== 0) return
    const mustBeConstructed = (tag | CONSTRUCTED) === SEQUENCE || (tag | CONSTRUCTED) === SET
    if (tag === 0 || mustBeConstructed !== ((tag & CONSTRUCTED) !== 0)) throw this.#fail(at, 'the tag is not DER')
  }

  #length(start: number, limit: number): { length: number; at: number } {
    const first = this.#byte(start, limit)
    if (first < 0x80) return { length: first, at: start + 1 }
    const octets = first & 0x7f
    if (octets === 0 || octets > MAX_LENGTH_OCTETS) throw this.#fail(start, 'the length is indefinite or absurd')
    let length = 0
    for (let i = 1; i <= octets; i++) length = length * 256 + this.#byte(start + i, limit)
    if (length < 0x80 || length < 256 ** (octets - 1)) throw this.#fail(start, 'the length is not the shortest form')
    return { length, at: start + 1 + octets }
  }

  #checkPrimitive(tag: number, at: number, length: number): void {
    const content = this.#bytes.subarray(at, at + length)
    if (tag === BOOLEAN && !isBoolean(content)) throw this.#fail(at, 'a boolean is neither true nor false')
    if (tag === INTEGER && !isShortestInteger(content)) throw this.#fail(at, 'a number is not the shortest form')
    if (tag === BIT_STRING && !isBitString(content)) throw this.#fail(at, 'the unused bits of a bit string are wrong')
  }

  #byte(at: number, limit: number): number {
    const byte = at < limit ? this.#bytes[at] : undefined
    if (byte === undefined) throw this.#fail(at, 'it is cut short')
    return byte
  }

  #fail(at: number, problem: string): IdentityError {
    return malformed(this.#source, `${problem} (byte ${at})`)
  }
}

function isBoolean(content: Uint8Array): boolean {
  return content.length === 1 && (content[0] === 0 || content[0] === 0xff)
}

function isShortestInteger([first, second]: Uint8Array): boolean {
  if (first === undefined) return false
  return second === undefined || !((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80))
}

/** The first byte counts the bits at the end that are not used; those must be zero. */
function isBitString(content: Uint8Array): boolean {
  const [unused] = content
  if (unused === undefined || unused > 7) return false
  const last = content.length === 1 ? undefined : content.at(-1)
  return last === undefined ? unused === 0 : (last & ((1 << unused) - 1)) === 0
}

function malformed(source: string, problem: string): IdentityError {
  return new IdentityError('malformed-der', `${source} is not valid DER: ${problem}`)
}
