/**
 * The difference of two specs as a unified diff of their JSON, for people to read in a refusal. The API server prints
 * its internal types there, with other names and all absent fields; ours shows the fields as they were written.
 */
const contextLines = 3
/** Of each side: the table of what they have in common has as many places as their product. */
const maxAlignedLines = 500
/** People read no more of it. */
const maxCharacters = 8_192

type Line = readonly [sign: ' ' | '-' | '+', text: string]

export function specDifference(before: unknown, after: unknown): string {
  const lines = align(print(before), print(after))
  const changed = lines.flatMap(([sign], index) => (sign === ' ' ? [] : [index]))
  let output = ''
  let from = 0
  while (from < changed.length && output.length < maxCharacters) {
    let to = from
    while (to + 1 < changed.length && (changed[to + 1] ?? 0) - (changed[to] ?? 0) <= 2 * contextLines) to++
    output += hunk(lines, Math.max(0, (changed[from] ?? 0) - contextLines), (changed[to] ?? 0) + contextLines + 1)
    from = to + 1
  }
  return output
}

/** Integers beyond those of JavaScript are shown as nearly as it can. */
function print(value: unknown): string[] {
  const replacer = (_key: string, item: unknown): unknown => (typeof item === 'bigint' ? Number(item) : item)
  return JSON.stringify(value, replacer, 1).split('\n')
}

function hunk(lines: readonly Line[], start: number, end: number): string {
  const shown = lines.slice(start, end)
  const position = (other: '-' | '+'): string => {
    const first = lines.slice(0, start).filter(([sign]) => sign !== other).length + 1
    const count = shown.filter(([sign]) => sign !== other).length
    return count === 1 ? `${first}` : `${first},${count}`
  }
  return `@@ -${position('+')} +${position('-')} @@\n${shown.map(([sign, text]) => `${sign}${text}\n`).join('')}`
}

/** Equal ends are cut off first, so that the table below covers only the part that changed. */
function align(before: readonly string[], after: readonly string[]): Line[] {
  let head = 0
  while (head < before.length && head < after.length && before[head] === after[head]) head++
  let tail = 0
  while (tail < before.length - head && tail < after.length - head && before.at(-1 - tail) === after.at(-1 - tail))
    tail++
  const same = (texts: readonly string[]): Line[] => texts.map((text) => [' ', text])
  return [
    ...same(before.slice(0, head)),
    ...alignChanged(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...same(before.slice(before.length - tail)),
  ]
}

/** The longest common subsequence of both sides stays, the rest goes or comes. Where much has changed, all of it. */
function alignChanged(before: readonly string[], after: readonly string[]): Line[] {
  if (before.length > maxAlignedLines || after.length > maxAlignedLines) {
    return [...before.map((text): Line => ['-', text]), ...after.map((text): Line => ['+', text])]
  }
  const width = after.length + 1
  const lengths = new Uint32Array((before.length + 1) * width)
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const longer = Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0)
      lengths[i * width + j] = before[i] === after[j] ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1 : longer
    }
  }
  const lines: Line[] = []
  let [i, j] = [0, 0]
  while (i < before.length || j < after.length) {
    const longerWithout = (lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0)
    const dropsLine = j === after.length || longerWithout
    if (i < before.length && before[i] === after[j]) {
      lines.push([' ', before[i] ?? ''])
      i++
      j++
    } else if (i < before.length && dropsLine) lines.push(['-', before[i++] ?? ''])
    else lines.push(['+', after[j++] ?? ''])
  }
  return lines
}
