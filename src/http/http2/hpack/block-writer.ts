/**
 * Puts a header block together (RFC 7541, 5): integers and strings, one after the other, in memory that all encoders
 * share. Nothing waits between `begin` and `finish`, so no two blocks are ever under way.
 */
import { huffmanBytes, writeHuffman } from './huffman.ts'

/** The shared memory starts with this, which the heads of all usual requests and answers fit in. */
const BLOCK_SCRATCH_BYTES = 16 * 1024

/** More room than the integers of one field can take. */
const integerRoomBytes = 32

/** Up to here a loop is faster than a call out of the engine. */
const longestByHand = 24
const beyondLatin1 = /[\u0100-\uffff]/
const everyBeyondLatin1 = /[\u0100-\uffff]/g

let scratch = Buffer.allocUnsafeSlow(BLOCK_SCRATCH_BYTES)
let at = 0
let headroom = 0

/** The first `headroomBytes` of the block are left for the caller to fill. */
export function beginBlock(headroomBytes: number): void {
  headroom = headroomBytes
  at = headroomBytes
  reserve(0)
}

/** The block, as memory of its own. */
export function finishBlock(): Buffer {
  const block = Buffer.allocUnsafe(at)
  scratch.copy(block, headroom, headroom, at)
  if (scratch.length > BLOCK_SCRATCH_BYTES) scratch = Buffer.allocUnsafeSlow(BLOCK_SCRATCH_BYTES)
  return block
}

/** To be called before a field is written, with the characters of its name and value. */
export function reserve(characters: number): void {
  // Each string is also there as it is, behind the room for it on the wire, while it is being coded.
  const needed = at + 2 * (characters + integerRoomBytes)
  if (needed <= scratch.length) return
  const larger = Buffer.allocUnsafeSlow(needed * 2)
  scratch.copy(larger, 0, 0, at)
  scratch = larger
}

/** `pattern` are the bits before the prefix, `prefixMask` those of the prefix. */
export function writeInteger(pattern: number, prefixMask: number, value: number): void {
  if (value < prefixMask) {
    scratch[at++] = pattern | value
    return
  }
  scratch[at++] = pattern | prefixMask
  let rest = value - prefixMask
  while (rest >= 0x80) {
    scratch[at++] = (rest & 0x7f) | 0x80
    rest >>>= 7
  }
  scratch[at++] = rest
}

/** Huffman coded where that is shorter, so a string never takes more bytes on the wire than it has. */
export function writeString(text: string): void {
  const start = at + integerRoomBytes + text.length
  const end = start + text.length
  placeText(text, start)
  const codedBytes = huffmanBytes(scratch, start, end)
  if (codedBytes < text.length) {
    writeInteger(0x80, 0x7f, codedBytes)
    at = writeHuffman(scratch, start, end, at)
  } else {
    writeInteger(0, 0x7f, text.length)
    scratch.copyWithin(at, start, end)
    at += text.length
  }
}

/** A character that latin1 does not have becomes `?`: cut to its low byte it could be a line break. */
function placeText(text: string, start: number): void {
  if (text.length > longestByHand) {
    scratch.write(beyondLatin1.test(text) ? text.replaceAll(everyBeyondLatin1, '?') : text, start, 'latin1')
    return
  }
  for (let index = 0; index < text.length; index++) {
    const codeUnit = text.charCodeAt(index)
    scratch[start + index] = codeUnit < 256 ? codeUnit : 0x3f
  }
}
