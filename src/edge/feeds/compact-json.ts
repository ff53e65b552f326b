/**
 * JSON without the white space between its tokens, and else byte for byte as it was. API servers end answers with a line feed and
 * print some over many lines; within a watch a line feed ends an event.
 */
const lineFeed = 0x0a
const quote = 0x22
const backslash = 0x5c
/** Space, tab, line feed and carriage return; JSON knows no other. */
const highestWhiteSpace = 0x20

/** What was printed on one line is only cut at its end: so are most answers. */
export function compactJson(text: Buffer): Buffer {
  let end = text.length
  while (end > 0 && (text[end - 1] as number) <= highestWhiteSpace) end -= 1
  const trimmed = text.subarray(0, end)
  return trimmed.includes(lineFeed) ? withoutWhiteSpace(trimmed) : trimmed
}

function withoutWhiteSpace(text: Buffer): Buffer {
  const compact = Buffer.allocUnsafe(text.length)
  let length = 0
  let isInString = false
  for (let index = 0; index < text.length; index++) {
    const byte = text[index] as number
    if (!isInString && byte <= highestWhiteSpace) continue
    compact[length++] = byte
    if (byte === quote) isInString = !isInString
    // What follows a backslash ends no string.
    else if (isInString && byte === backslash) compact[length++] = text[++index] as number
  }
  return compact.subarray(0, length)
}
