/** Finds keys that stand twice in one JSON object: parsers keep the last one silently, and somebody's change is lost. */
import { stringEnd } from '../../kube/codec/exact-json.ts'

/** Enough to point at the mistake. */
const maxFound = 10

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openList = 0x5b
const closeList = 0x5d
const openObject = 0x7b
const closeObject = 0x7d

/** An object or a list around the present position. Lists have no keys. */
interface Level {
  readonly keys: Set<string> | undefined
  /** The member or the item that is being read, as a step of the path. */
  step: string
  index: number
}

/** Paths such as `spec.containers[0].name`. The text is known to be valid JSON. */
export function findDuplicateKeys(text: string): string[] {
  const found = new Set<string>()
  const levels: Level[] = []
  for (let position = 0; position < text.length && found.size < maxFound; position++) {
    const character = text.charCodeAt(position)
    const level = levels.at(-1)
    if (character === quote) {
      const end = stringEnd(text, position)
      if (level?.keys !== undefined && isFollowedByColon(text, end)) {
        if (!enter(level, level.keys, text.slice(position, end))) found.add(pathOf(levels))
      }
      position = end - 1
    } else if (character === openObject) levels.push({ keys: new Set(), step: '', index: 0 })
    else if (character === openList) levels.push({ keys: undefined, step: '[0]', index: 0 })
    else if (character === closeObject || character === closeList) levels.pop()
    else if (character === comma && level !== undefined && level.keys === undefined) level.step = `[${++level.index}]`
  }
  return [...found]
}

/** False when the object has this key already. */
function enter(level: Level, keys: Set<string>, quoted: string): boolean {
  const key = quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1)
  level.step = key
  const size = keys.size
  return keys.add(key).size > size
}

function isFollowedByColon(text: string, end: number): boolean {
  let position = end
  while (text.charCodeAt(position) <= 0x20) position++
  return text.charCodeAt(position) === colon
}

function pathOf(levels: readonly Level[]): string {
  return levels
    .map(({ step }) => step)
    .join('.')
    .replaceAll('.[', '[')
}
