/** Whether a list of a rule has a word. Roles are asked far more often than written, and their lists may be long. */

/** Fewer words are looked at one by one as quickly as in a set. */
const minSetWords = 16

/** The words of lists that were asked for one: lists must not change, and sets live as long as their role. */
const sets = new WeakMap<readonly string[], ReadonlySet<string>>()

/** Whether the list has the word; a list that a client left out, or wrote as `null`, has none. */
export function hasWord(list: readonly string[] | null | undefined, word: string): boolean {
  if (list === undefined || list === null) return false
  if (list.length < minSetWords) return list.includes(word)
  let set = sets.get(list)
  if (set === undefined) {
    set = new Set(list)
    sets.set(list, set)
  }
  return set.has(word)
}
