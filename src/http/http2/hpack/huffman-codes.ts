/**
 * The Huffman code of HPACK (RFC 7541, appendix B). The code is canonical: codes of one length follow each other in the
 * order of their symbols, and shorter codes come first. So the 257 lengths say everything.
 */

/** The symbol that ends a string; only its beginning ever appears, as padding. */
export const eosSymbol = 256

/** EOS and three control characters have codes this long. */
export const longestCodeBits = 30

const codeLengths = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6,
  5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23,
  22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22,
  23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26,
  20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27,
  27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27,
  27, 27, 27, 26, 30,
]

export interface HuffmanCodes {
  /** By symbol: how many bits. */
  readonly lengths: Uint8Array
  /** By symbol: the code, in the lowest `lengths[symbol]` bits. */
  readonly codes: Uint32Array
  /** All symbols in the order of their codes. */
  readonly symbols: Uint16Array
}

export const huffmanCodes: HuffmanCodes = assignCodes()

function assignCodes(): HuffmanCodes {
  const lengths = Uint8Array.from(codeLengths)
  const codes = new Uint32Array(lengths.length)
  const symbols = new Uint16Array(lengths.length)
  let code = 0
  let placed = 0
  for (let length = 1; length <= longestCodeBits; length++) {
    code *= 2
    for (const [symbol, itsLength] of lengths.entries()) {
      if (itsLength !== length) continue
      codes[symbol] = code++
      symbols[placed++] = symbol
    }
  }
  return { lengths, codes, symbols }
}
