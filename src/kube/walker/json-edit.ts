/**
 * Follows a path through JSON and collects the splices of one edit. Recursion goes as deep as the path, never as deep
 * as the document. Where a key occurs twice the last one counts, as for every JSON parser.
 */
import { printJson } from '../codec/json.ts'
import { JsonScanner, readMembers } from './json-scanner.ts'
import { SpliceList } from './splices.ts'
import { ANY_ITEM, type FieldEdit, type ListStep, type PathStep } from './walker.ts'

/** A member of an object or an item of a list: `start` is where its key or, without one, its value starts. */
export interface Part {
  readonly start: number
  readonly valueStart: number
  readonly valueEnd: number
}

export class JsonEdit {
  readonly #bytes: Buffer
  readonly #edit: FieldEdit
  /** The names in the steps of the path, as bytes to compare with. */
  readonly #names: readonly Buffer[]
  readonly #splices: SpliceList

  constructor(bytes: Buffer, edit: FieldEdit) {
    this.#bytes = bytes
    this.#edit = edit
    this.#names = edit.path.map(nameIn)
    this.#splices = new SpliceList(bytes)
  }

  /** The changed document, or undefined if the edit changes nothing. */
  run(): Buffer | undefined {
    const scanner = new JsonScanner(this.#bytes)
    this.#descend(scanner, 0)
    scanner.expectEnd()
    return this.#splices.apply()
  }

  /** Goes on with the path from the value before the scanner, and leaves the scanner behind it. */
  #descend(scanner: JsonScanner, depth: number): void {
    const step = this.#edit.path[depth]
    if (step === undefined) scanner.skipValue()
    else if (typeof step === 'string') this.#intoObject(scanner, step, depth)
    else this.#intoList(scanner, step, depth)
  }

  #intoObject(scanner: JsonScanner, key: string, depth: number): void {
    if (!scanner.isAtObject) {
      scanner.skipValue()
      return
    }
    const name = this.#names[depth] as Buffer
    const members: Part[] = []
    const found: number[] = []
    for (let more = scanner.firstMember(); more; more = scanner.nextMember()) {
      if (scanner.keyIs(name)) found.push(members.length)
      members.push(skipPart(scanner, scanner.keyStart))
    }
    const last = members[found.at(-1) ?? -1]
    if (depth === this.#edit.path.length - 1) this.#changeMember(key, members, found, scanner.pos)
    else if (last !== undefined) this.#descend(this.#at(last), depth + 1)
  }

  #changeMember(key: string, members: Part[], found: number[], objectEnd: number): void {
    const present = members[found.at(-1) ?? -1]
    const before = present === undefined ? undefined : this.#at(present).readValue()
    const after = this.#edit.replace(before)
    if (after === before) return
    if (after === undefined) {
      const removed = new Set(found)
      removeParts(this.#splices, members, (index) => !removed.has(index))
    } else if (present !== undefined) this.#splices.replace(present.valueStart, present.valueEnd, print(after))
    else this.#insertMember(key, after, members.at(-1), objectEnd)
  }

  #insertMember(key: string, value: unknown, last: Part | undefined, objectEnd: number): void {
    const position = last?.valueEnd ?? objectEnd - 1
    const text = `${last === undefined ? '' : ','}${printJson(key)}:${printJson(value)}`
    this.#splices.replace(position, position, Buffer.from(text))
  }

  #intoList(scanner: JsonScanner, step: ListStep, depth: number): void {
    if (!scanner.isAtList) {
      scanner.skipValue()
      return
    }
    const items: Part[] = []
    for (let more = scanner.firstItem(); more; more = scanner.nextItem()) items.push(skipPart(scanner, scanner.pos))
    const selected = this.#select(items, step, depth)
    if (depth === this.#edit.path.length - 1) this.#changeItems(items, new Set(selected))
    else for (const item of selected) this.#descend(this.#at(item), depth + 1)
  }

  #select(items: Part[], step: ListStep, depth: number): Part[] {
    if (step === ANY_ITEM) return items
    if (typeof step === 'number') return items.filter((_item, index) => index === step)
    const name = [this.#names[depth] as Buffer]
    return items.filter((item) => readMembers(this.#at(item), name)[0] === step.equals)
  }

  #changeItems(items: Part[], selected: ReadonlySet<Part>): void {
    removeParts(this.#splices, items, (index) => {
      const item = items[index]
      if (item === undefined || !selected.has(item)) return true
      const before = this.#at(item).readValue()
      const after = this.#edit.replace(before)
      if (after !== before && after !== undefined) this.#splices.replace(item.valueStart, item.valueEnd, print(after))
      return after !== undefined
    })
  }

  #at(part: Part): JsonScanner {
    return new JsonScanner(this.#bytes, part.valueStart, part.valueEnd)
  }
}

/** Steps over the value before the scanner. */
export function skipPart(scanner: JsonScanner, start: number): Part {
  const valueStart = scanner.pos
  scanner.skipValue()
  return { start, valueStart, valueEnd: scanner.pos }
}

/**
 * Goes through the parts of an object or a list in order and removes those for which `keep` says no, each with one
 * comma. `keep` may add splices inside the part it was asked about.
 */
export function removeParts(splices: SpliceList, parts: readonly Part[], keep: (index: number) => boolean): void {
  let keptOne = false
  for (const [index, part] of parts.entries()) {
    if (keep(index)) keptOne = true
    else if (keptOne) splices.remove(parts[index - 1]?.valueEnd ?? part.start, part.valueEnd)
    else splices.remove(part.start, parts[index + 1]?.start ?? part.valueEnd)
  }
}

function nameIn(step: PathStep): Buffer {
  if (typeof step === 'string') return Buffer.from(step)
  return typeof step === 'object' ? Buffer.from(step.key) : nothing
}

const nothing = Buffer.alloc(0)

function print(value: unknown): Buffer {
  return Buffer.from(printJson(value))
}
