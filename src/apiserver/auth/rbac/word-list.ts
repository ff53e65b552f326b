/** Whether a list of a rule has a word. Roles are asked far more often than written, and their lists may be long. */

/** Fewer are looked at one by one as quickly. */
const minSetWords = 16

/** Of lists that were asked; they must not change, and live as long as their role. */
const sets = new WeakMap<readonly string[], ReadonlySet<string>>()

/** A client may have left the list out, or have written `null`. */
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
