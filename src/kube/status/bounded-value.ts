/**
 * Values in error texts, cut to a size that people read. Every error may repeat a value of the client's, and a list of
 * thousands repeated a thousand times is more than a process can hold.
 */
import { RawJson } from '../codec/json.ts'
import { goJson, goQuote } from './go-text.ts'

/** Characters of one value; longer ones are cut, which three dots show. */
const MAX_SHOWN_VALUE_CHARACTERS = 1_024

/** Characters of one reason: some show what has changed. */
export const MAX_SHOWN_REASON_CHARACTERS = 8_192

const maxShownDepth = 64
const cut = '...'

/** What is left to show; below zero once something has been left out. */
interface Room {
  characters: number
}

export function printValue(value: unknown): string {
  const room: Room = { characters: MAX_SHOWN_VALUE_CHARACTERS }
  const beginning = beginningOf(value, room, 0)
  const text = typeof beginning === 'string' ? goQuote(beginning) : goJson(beginning)
  return room.characters >= 0 ? text : `${text.slice(0, MAX_SHOWN_VALUE_CHARACTERS)}${cut}`
}

/** A text that stands for itself, such as a path or a reason. */
export function shortened(text: string, maxCharacters = MAX_SHOWN_VALUE_CHARACTERS): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters)}${cut}`
}

/** The value itself as far as there is room, which is used up on the way: nobody prints what nobody shows. */
function beginningOf(value: unknown, room: Room, depth: number): unknown {
  if (value instanceof RawJson) return beginningOf(value.text, room, depth)
  if (typeof value === 'string') {
    room.characters -= value.length
    return room.characters >= 0 ? value : value.slice(0, MAX_SHOWN_VALUE_CHARACTERS)
  }
  room.characters -= 1
  if (typeof value !== 'object' || value === null) return value
  if (depth === maxShownDepth) room.characters = -1
  if (Array.isArray(value)) return taken(value, room, (item) => beginningOf(item, room, depth + 1))
  const entries = taken(Object.keys(value), room, (key) => {
    room.characters -= key.length
    return [key, beginningOf((value as Record<string, unknown>)[key], room, depth + 1)] as const
  })
  return Object.fromEntries(entries)
}

function taken<From, To>(items: readonly From[], room: Room, make: (item: From) => To): To[] {
  const made: To[] = []
  for (const item of items) {
    if (room.characters < 0) break
    made.push(make(item))
  }
  return made
}
