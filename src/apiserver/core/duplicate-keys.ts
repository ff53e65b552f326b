/** Finds keys that stand twice in one JSON object: parsers keep the last one silently, and somebody's change is lost. */

/** Enough to point at the mistake. */
const maxFound = 10

/** Paths such as `spec.containers[0].name`. The text is known to be valid JSON. */
export function findDuplicateKeys(text: string): string[] {
  const found = new Set<string>()
  const levels: { keys: Set<string> | undefined; step: string; index: number }[] = []
  const token = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\],]/g
  for (let match = token.exec(text); match !== null && found.size < maxFound; match = token.exec(text)) {
    const [word, isKey] = match
    const level = levels.at(-1)
    if (word === '{') levels.push({ keys: new Set(), step: '', index: 0 })
    else if (word === '[') levels.push({ keys: undefined, step: '[0]', index: 0 })
    else if (word === '}' || word === ']') levels.pop()
    else if (word === ',' && level?.keys === undefined && level !== undefined) level.step = `[${++level.index}]`
    else if (isKey !== undefined && level?.keys !== undefined) {
      const key = JSON.parse(word.slice(0, -isKey.length)) as string
      level.step = key
      if (level.keys.has(key))
        found.add(
          levels
            .map(({ step }) => step)
            .join('.')
            .replaceAll('.[', '['),
        )
      level.keys.add(key)
    }
  }
  return [...found]
}
