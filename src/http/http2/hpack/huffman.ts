/**
 * Huffman coding of header strings (RFC 7541, 5.2), both ways. Reading looks nine bits up at once, which covers every
 * character of a usual header; the rare longer codes are found by their place in the canonical order. The time is linear
 * in the bytes given, whatever they are.
 */
import { HpackError } from './hpack-error.ts'
import { eosSymbol, huffmanCodes, longestCodeBits } from './huffman-codes.ts'

/** Strings up to this length are put together in one block of memory that all connections share: nothing here waits. */
export const SHARED_TEXT_BYTES = 8 * 1024

const { lengths, codes, symbols } = huffmanCodes
const sharedText = Buffer.alloc(SHARED_TEXT_BYTES)
const shortestCodeBits = 5
const fastBits = 9
const fastMask = (1 << fastBits) - 1
/** By the next nine bits: the symbol times 16 plus the length of its code, or 0 where the code is longer than nine bits. */
const fastEntries = buildFastEntries()
const writtenEntries = buildWrittenEntries()
/** By length: the first code above those of this length, moved up to `longestCodeBits`. */
const upperBounds = new Uint32Array(longestCodeBits + 1)
/** By length: what has to be added to a code of this length for its place in `symbols`. */
const symbolOffsets = new Int32Array(longestCodeBits + 1)
fillLengthTables()

/** Reads the string coded in `bytes` from `start` to `end`, which must lie inside. */
export function decodeHuffman(bytes: Buffer, start: number, end: number): string {
  const maxCharacters = Math.ceil(((end - start) * 8) / shortestCodeBits)
  const text = maxCharacters <= SHARED_TEXT_BYTES ? sharedText : Buffer.allocUnsafeSlow(maxCharacters)
  let count = 0
  let at = start
  /** The last bits read; the lowest `bits` of them are not used yet. */
  let window = 0
  let bits = 0
  for (;;) {
    if (bits < fastBits) {
      if (at + 1 < end) {
        window = (window << 16) | ((bytes[at] as number) << 8) | (bytes[at + 1] as number)
        at += 2
        bits += 16
      } else if (at < end) {
        window = (window << 8) | (bytes[at++] as number)
        bits += 8
        if (bits < fastBits) break
      } else break
    }
    const entry = fastEntries[(window >>> (bits - fastBits)) & fastMask] as number
    if (entry !== 0) {
      text[count++] = entry >>> 4
      bits -= entry & 15
    } else {
      const bitOffset = at * 8 - bits
      const long = readLongCode(bytes, bitOffset, end)
      text[count++] = long >>> 5
      const next = bitOffset + (long & 31)
      at = (next + 7) >>> 3
      bits = at * 8 - next
      window = bits === 0 ? 0 : (bytes[at - 1] as number)
    }
  }
  // Fewer than nine bits are left: at most one more symbol, a short one, and the padding.
  const rest = fastBits - bits
  const last = fastEntries[((window << rest) | ((1 << rest) - 1)) & fastMask] as number
  if (last !== 0 && (last & 15) <= bits) {
    text[count++] = last >>> 4
    bits -= last & 15
  }
  checkPadding(window, bits)
  return text.toString('latin1', 0, count)
}

/** What is left must be the beginning of EOS, which is all ones, and less than a byte. */
function checkPadding(window: number, bits: number): void {
  if (bits > 7) throw new HpackError('a Huffman string ends in more than seven bits of padding')
  const ones = (1 << bits) - 1
  if ((window & ones) !== ones)
    throw new HpackError('a Huffman string ends inside a code or in padding that is not ones')
}

/** The symbol times 32 plus the length of its code; there is more than nine bits of it. */
function readLongCode(bytes: Buffer, bitOffset: number, end: number): number {
  const code = peekLongest(bytes, bitOffset, end)
  let length = fastBits + 1
  while (code >= (upperBounds[length] as number)) length++
  if (bitOffset + length > end * 8) throw new HpackError('a Huffman string ends inside a code or in too much padding')
  const place = (code >>> (longestCodeBits - length)) + (symbolOffsets[length] as number)
  const symbol = symbols[place] as number
  if (symbol === eosSymbol) throw new HpackError('a Huffman string has the end-of-string symbol in it')
  return symbol * 32 + length
}

/** As many bits as the longest code has, from `bitOffset` on; after the end come ones. */
function peekLongest(bytes: Buffer, bitOffset: number, end: number): number {
  const first = bitOffset >>> 3
  let value = 0
  for (let at = first; at < first + 4; at++) value = (value << 8) | (at < end ? (bytes[at] as number) : 255)
  const used = bitOffset & 7
  if (used === 0) return value >>> (32 - longestCodeBits)
  const fifth = first + 4 < end ? (bytes[first + 4] as number) : 255
  return ((value << used) | (fifth >>> (8 - used))) >>> (32 - longestCodeBits)
}

/** How many bytes the characters in `bytes` from `start` to `end` take when coded. */
export function huffmanBytes(bytes: Buffer, start: number, end: number): number {
  let bits = 0
  for (let from = start; from < end; from++) bits += lengths[bytes[from] as number] as number
  return (bits + 7) >>> 3
}

/**
 * Codes the characters from `start` to `end` and writes them at `target` in the same memory, which must have
 * `huffmanBytes` of room there and not overlap. Returns where it stopped.
 */
export function writeHuffman(bytes: Buffer, start: number, end: number, target: number): number {
  let at = target
  /** The last bits put together; the lowest `bits` of them, fewer than sixteen, are not written yet. */
  let window = 0
  let bits = 0
  for (let from = start; from < end; from++) {
    const entry = writtenEntries[bytes[from] as number] as number
    if (entry < 0) {
      // The whole code would not fit beside the bits that wait, so what is above its lowest sixteen goes first.
      const above = longAbove(bytes[from] as number)
      const length = above & 31
      window = (window << length) | (above >>> 5)
      bits += length
      if (bits >= 16) {
        bits -= 16
        bytes[at++] = window >>> (bits + 8)
        bytes[at++] = window >>> bits
      }
    }
    const length = entry & 31
    window = (window << length) | ((entry >>> 5) & 0xffff)
    bits += length
    if (bits >= 16) {
      bits -= 16
      bytes[at++] = window >>> (bits + 8)
      bytes[at++] = window >>> bits
    }
  }
  if (bits >= 8) {
    bits -= 8
    bytes[at++] = window >>> bits
  }
  if (bits > 0) bytes[at++] = (window << (8 - bits)) | (0xff >>> bits)
  return at
}

/** The bits of a long code above its lowest sixteen, times 32, plus how many they are. */
function longAbove(symbol: number): number {
  return ((codes[symbol] as number) >>> 16) * 32 + (lengths[symbol] as number) - 16
}

/** By symbol: the code, or its lowest sixteen bits, times 32, plus how many they are; negative where there is more. */
function buildWrittenEntries(): Int32Array {
  const entries = new Int32Array(eosSymbol)
  for (let symbol = 0; symbol < eosSymbol; symbol++) {
    const length = lengths[symbol] as number
    const low = ((codes[symbol] as number) & 0xffff) * 32 + Math.min(length, 16)
    entries[symbol] = length > 16 ? low | (1 << 31) : low
  }
  return entries
}

function buildFastEntries(): Uint16Array {
  const entries = new Uint16Array(1 << fastBits)
  for (let symbol = 0; symbol < eosSymbol; symbol++) {
    const length = lengths[symbol] as number
    if (length > fastBits) continue
    const first = (codes[symbol] as number) << (fastBits - length)
    entries.fill(symbol * 16 + length, first, first + (1 << (fastBits - length)))
  }
  return entries
}

function fillLengthTables(): void {
  for (const [place, symbol] of symbols.entries()) {
    const length = lengths[symbol] as number
    const code = codes[symbol] as number
    upperBounds[length] = (code + 1) * 2 ** (longestCodeBits - length)
    symbolOffsets[length] = place - code
  }
}
