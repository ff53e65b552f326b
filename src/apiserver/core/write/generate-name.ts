/** Names for objects that leave theirs to the server. */
import { randomInt } from 'node:crypto'

/** Without vowels and look-alikes, so that no words appear. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789'
const suffixCharacters = 5
/** Names end at 63 characters so that they may also be labels. */
const maxBaseCharacters = 63 - suffixCharacters

export function generateName(base: string): string {
  const suffix = Array.from({ length: suffixCharacters }, () => alphabet[randomInt(alphabet.length)]).join('')
  return base.slice(0, maxBaseCharacters) + suffix
}
