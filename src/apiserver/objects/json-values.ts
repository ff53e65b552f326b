/** How many values a JSON text holds: what an object costs at every step goes by them more than by its bytes. */

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openList = 0x5b
const openObject = 0x7b

/** Lists, objects and what stands behind commas, counted up to a little more than `maxValues`. */
export function countJsonValues(json: Uint8Array, maxValues: number): number {
  let values = 1
  let isInString = false
  for (let position = 0; position < json.length && values <= maxValues; position++) {
    const byte = json[position]
    if (isInString) {
      if (byte === backslash) position++
      else if (byte === quote) isInString = false
    } else if (byte === quote) isInString = true
    else if (byte === comma || byte === openObject || byte === openList) values += 1
  }
  return values
}
