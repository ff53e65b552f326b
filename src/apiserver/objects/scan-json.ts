/**
 * One look at the text of a JSON body before anything is made of it: is it of a size that can be worked with, and do keys
 * stand twice in one object? Parsers keep the last of two silently, and somebody's change is lost.
 */
import { stringEnd } from '../../kube/codec/exact-json.ts'
import { badRequest, requestEntityTooLarge } from '../../kube/status/request-errors.ts'

/** Lists, objects and what is in them: more than the largest objects in use have. Each costs time at every step. */
export const MAX_BODY_VALUES = 50_000
/** Ten times what the deepest schemas of custom resources have. */
export const MAX_BODY_DEPTH = 1_000
/** Integers have at most 20 digits; reading far longer numbers takes time that grows with the square of their length. */
export const MAX_NUMBER_CHARACTERS = 1_024

/** Enough to point at the mistake. */
const maxFound = 10
const maxPathCharacters = 1_024

const quote = 0x22
const comma = 0x2c
const minus = 0x2d
const zero = 0x30
const nine = 0x39
const colon = 0x3a
const openList = 0x5b
const closeList = 0x5d
const openObject = 0x7b
const closeObject = 0x7d

/** An object or a list around the present position. Lists have no keys. */
interface Level {
  readonly keys: Set<string> | undefined
  /** The keys that were found twice. */
  twice: Set<string> | undefined
  /** The member or the item that is being read, as a step of the path. */
  step: string
  index: number
}

export interface JsonFacts {
  /** Paths such as `spec.containers[0].name`, some of them where there are many. */
  readonly duplicates: readonly string[]
}

/** Throws an ApiError where the text is beyond the limits. What it is worth otherwise is not looked at. */
export function scanJson(text: string): JsonFacts {
  const duplicates: string[] = []
  const levels: Level[] = []
  let values = 1
  for (let position = 0; position < text.length; position++) {
    const character = text.charCodeAt(position)
    const level = levels.at(-1)
    if (character === quote) {
      const end = stringEnd(text, position)
      if (level?.keys !== undefined && isFollowedByColon(text, end)) {
        const isNew = enter(level, level.keys, text.slice(position, end))
        if (!isNew && duplicates.length < maxFound && isFirstRepetition(level)) duplicates.push(pathOf(levels))
      }
      position = end - 1
    } else if (character === openObject || character === openList) {
      values += 1
      const isList = character === openList
      levels.push({ keys: isList ? undefined : new Set(), twice: undefined, step: isList ? '[0]' : '', index: 0 })
      if (levels.length > MAX_BODY_DEPTH) throw badRequest(`it is nested more than ${MAX_BODY_DEPTH} deep`)
    } else if (character === closeObject || character === closeList) levels.pop()
    else if (character === comma) {
      values += 1
      if (values > MAX_BODY_VALUES) throw requestEntityTooLarge(`limit is ${MAX_BODY_VALUES} values`)
      if (level !== undefined && level.keys === undefined) level.step = `[${++level.index}]`
    } else if (character === minus || (character >= zero && character <= nine)) position = numberEnd(text, position) - 1
  }
  return { duplicates }
}

/** False when the object has this key already. */
function enter(level: Level, keys: Set<string>, quoted: string): boolean {
  const key = quoted.includes('\\') ? unescaped(quoted) : quoted.slice(1, -1)
  level.step = key
  const size = keys.size
  return keys.add(key).size > size
}

/** A broken escape is the parser's to refuse. */
function unescaped(quoted: string): string {
  try {
    return JSON.parse(quoted) as string
  } catch {
    return quoted
  }
}

/** Each key is named once, however often it stands there. */
function isFirstRepetition(level: Level): boolean {
  level.twice ??= new Set()
  const size = level.twice.size
  return level.twice.add(level.step).size > size
}

function isFollowedByColon(text: string, end: number): boolean {
  let position = end
  while (text.charCodeAt(position) <= 0x20) position++
  return text.charCodeAt(position) === colon
}

const numberRest = /[0-9.eE+-]*/y

function numberEnd(text: string, start: number): number {
  numberRest.lastIndex = start
  numberRest.test(text)
  const end = numberRest.lastIndex
  if (end - start > MAX_NUMBER_CHARACTERS) throw badRequest(`a number has more than ${MAX_NUMBER_CHARACTERS} digits`)
  return end
}

function pathOf(levels: readonly Level[]): string {
  const path = levels.reduce(
    (path, { step }) => (step.startsWith('[') || path === '' ? path + step : `${path}.${step}`),
    '',
  )
  return path.slice(0, maxPathCharacters)
}
