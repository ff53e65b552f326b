/**
 * Finds what a mistyped name was probably meant to be.
 */

/** Further off than this is another word, not a mistyped one. */
export const MAX_TYPING_DISTANCE = 3

/** The known name closest to `name`, letter case and `-`/`_` aside; undefined when none is close. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const wanted = simplified(name)
  let best: { readonly name: string; readonly distance: number } | undefined
  for (const candidate of known) {
    const simple = simplified(candidate)
    if (Math.abs(wanted.length - simple.length) > MAX_TYPING_DISTANCE) continue
    const distance = typingDistance(wanted, simple)
    // At least half of the letters must agree, or every two-letter word would be near every other.
    if (distance > MAX_TYPING_DISTANCE || distance * 2 > Math.max(wanted.length, simple.length)) continue
    if (best === undefined || distance < best.distance) best = { name: candidate, distance }
  }
  return best?.name
}

/** `; did you mean "x"?`, or the list of what there is when nothing is near. */
export function suggestion(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known)
  return nearest === undefined ? `; known: ${known.join(', ')}` : `; did you mean "${nearest}"?`
}

function simplified(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}

/** Letters inserted, dropped, replaced or swapped with their neighbour (optimal string alignment). */
function typingDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      let cost = Math.min(replaced, at(last, j) + 1, at(row, j - 1) + 1)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, at(beforeLast, j - 2) + 1)
      row.push(cost)
    }
    beforeLast = last
    last = row
  }
  return at(last, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}
