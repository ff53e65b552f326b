/**
 * A document while a JSON patch works on it. The document that came in is never changed: an object or list is copied
 * when it is first written to, and only then; copies are remembered, so that ten thousand operations on one list copy
 * it once.
 *
 * It reads paths as the API server does, which is RFC 6901 with one addition: a negative index counts from the end.
 */
import { getOwn, isJsonObject, type JsonObject, plainValue, setOwn } from './json-value.ts'

/** A value inside the document: `key` is a member of an object or the index of a list. */
export interface Place {
  readonly container: JsonObject | unknown[]
  readonly key: string
}

/** Why an operation does not apply. */
export class JsonPatchFailure extends Error {}

const missing = 'missing value'
const invalidIndex = 'invalid index referenced'
const maxIndexDigits = 18

export class JsonPatchDocument {
  #root: unknown
  readonly #copies = new Set<object>()

  constructor(root: unknown) {
    this.#root = root
  }

  get root(): unknown {
    return this.#root
  }

  replaceRoot(value: unknown): void {
    this.#root = value
  }

  /** Where a path leads, for reading. Undefined where nothing lies on the way to it. */
  find(path: string): Place | undefined {
    return this.#walk(path, (place) => readAt(place))
  }

  /** Where a path leads, for writing: everything on the way there is now a copy. */
  findForWriting(path: string): Place | undefined {
    this.#root = this.#ownCopy(this.#root)
    return this.#walk(path, (place) => {
      const child = this.#ownCopy(readAt(place))
      if (child !== undefined) writeAt(place, child)
      return child
    })
  }

  #walk(path: string, enter: (place: Place) => unknown): Place | undefined {
    const keys = parsePointer(path)
    const last = keys?.pop()
    if (keys === undefined || last === undefined) return undefined
    let current = this.#root
    for (const key of keys) {
      if (!isContainer(current)) return undefined
      current = enterOrNothing(() => enter({ container: current as Place['container'], key }))
    }
    return isContainer(current) ? { container: current, key: last } : undefined
  }

  #ownCopy(value: unknown): unknown {
    if (!isContainer(value) || this.#copies.has(value)) return value
    const copy = Array.isArray(value) ? [...value] : { ...value }
    this.#copies.add(copy)
    return copy
  }
}

/** The value at a place; undefined for a member that does not exist. An index that does not exist is a failure. */
export function readAt({ container, key }: Place): unknown {
  return Array.isArray(container) ? plainValue(container[existingIndex(container, key)]) : getOwn(container, key)
}

export function writeAt({ container, key }: Place, value: unknown): void {
  if (Array.isArray(container)) container[existingIndex(container, key)] = value
  else setOwn(container, key, value)
}

export function insertAt({ container, key }: Place, value: unknown): void {
  if (!Array.isArray(container)) setOwn(container, key, value)
  else if (key === '-') container.push(value)
  else container.splice(insertionIndex(container, key), 0, value)
}

export function removeAt({ container, key }: Place): void {
  if (Array.isArray(container)) {
    container.splice(existingIndex(container, key), 1)
    return
  }
  if (!Object.hasOwn(container, key)) {
    throw new JsonPatchFailure(`Unable to remove nonexistent key: ${key}: ${missing}`)
  }
  delete container[key]
}

/** Undefined for what is no JSON pointer. */
function parsePointer(path: string): string[] | undefined {
  if (!path.startsWith('/')) return undefined
  return path
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll(/~[01]/g, (escaped) => (escaped === '~1' ? '/' : '~')))
}

function isContainer(value: unknown): value is Place['container'] {
  return Array.isArray(value) || isJsonObject(value)
}

function enterOrNothing(enter: () => unknown): unknown {
  try {
    return enter()
  } catch (error) {
    if (error instanceof JsonPatchFailure) return undefined
    throw error
  }
}

function existingIndex(list: readonly unknown[], key: string): number {
  return boundedIndex(parseIndex(key), list.length, list.length - 1)
}

function insertionIndex(list: readonly unknown[], key: string): number {
  try {
    return boundedIndex(parseIndex(key), list.length + 1, list.length)
  } catch (error) {
    const text = (error as Error).message
    throw text.startsWith('strconv')
      ? new JsonPatchFailure(`value was not a proper array index: '${key}': ${text}`)
      : error
  }
}

function boundedIndex(index: number, countedFrom: number, last: number): number {
  if (index > last || index < -countedFrom) {
    throw new JsonPatchFailure(`Unable to access invalid index: ${index}: ${invalidIndex}`)
  }
  return index < 0 ? index + countedFrom : index
}

function parseIndex(key: string): number {
  if (!/^[+-]?[0-9]+$/.test(key))
    throw new JsonPatchFailure(`strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`)
  if (key.length > maxIndexDigits) {
    throw new JsonPatchFailure(`strconv.Atoi: parsing ${JSON.stringify(key)}: value out of range`)
  }
  // Not -0: the text of a failure shows the number.
  return Number(key) + 0
}
