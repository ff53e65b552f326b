/** The few members by which any JSON object or list is known, found in one pass over the text. */

import type { ListMeta } from '../objects.ts'
import { presentFields } from '../present-fields.ts'
import { type Part, skipPart } from './json-edit.ts'
import { JsonScanner, readMembers } from './json-scanner.ts'
import type { ObjectIdentity } from './walker.ts'

const kindKey = Buffer.from('kind')
const apiVersionKey = Buffer.from('apiVersion')
const metadataKey = Buffer.from('metadata')
const itemsKey = Buffer.from('items')
const identityKeys = ['namespace', 'name', 'uid', 'resourceVersion'].map((key) => Buffer.from(key))
const listMetaKeys = ['resourceVersion', 'continue', 'remainingItemCount'].map((key) => Buffer.from(key))

/** Strings are empty where the object does not say. */
export interface ObjectOutline {
  apiVersion: string
  kind: string
  metadata: Part | undefined
}

export interface ItemOutline extends ObjectOutline {
  readonly part: Part
}

export interface ListOutline extends ObjectOutline {
  /** undefined where the document has no member of that name, and so is no list. */
  items: ItemOutline[] | undefined
}

export function outlineObject(bytes: Buffer): ObjectOutline {
  const scanner = new JsonScanner(bytes)
  const outline = readOutline(scanner)
  scanner.expectEnd()
  return outline
}

export function outlineList(bytes: Buffer): ListOutline {
  const scanner = new JsonScanner(bytes)
  const outline: ListOutline = { apiVersion: '', kind: '', metadata: undefined, items: undefined }
  for (let more = scanner.firstMember(); more; more = scanner.nextMember()) {
    if (scanner.keyIs(itemsKey)) outline.items = readItems(scanner)
    else readCommonMember(scanner, outline)
  }
  scanner.expectEnd()
  return outline
}

export function readIdentity(bytes: Buffer, metadata: Part | undefined): ObjectIdentity {
  const [namespace, name, uid, resourceVersion] = readMetadata(bytes, metadata, identityKeys).map(stringOrEmpty)
  return { namespace, name, uid, resourceVersion } as ObjectIdentity
}

export function readListMeta(bytes: Buffer, metadata: Part | undefined): ListMeta {
  const [version, next, remaining] = readMetadata(bytes, metadata, listMetaKeys)
  return presentFields({
    resourceVersion: typeof version === 'string' && version !== '' ? version : undefined,
    continue: typeof next === 'string' && next !== '' ? next : undefined,
    remainingItemCount: typeof remaining === 'number' || typeof remaining === 'bigint' ? Number(remaining) : undefined,
  })
}

function readOutline(scanner: JsonScanner): ObjectOutline {
  const outline: ObjectOutline = { apiVersion: '', kind: '', metadata: undefined }
  for (let more = scanner.firstMember(); more; more = scanner.nextMember()) readCommonMember(scanner, outline)
  return outline
}

function readCommonMember(scanner: JsonScanner, outline: ObjectOutline): void {
  if (scanner.keyIs(metadataKey)) outline.metadata = skipPart(scanner, scanner.keyStart)
  else if (scanner.keyIs(kindKey)) outline.kind = stringOrEmpty(scanner.readValue())
  else if (scanner.keyIs(apiVersionKey)) outline.apiVersion = stringOrEmpty(scanner.readValue())
  else scanner.skipValue()
}

function readItems(scanner: JsonScanner): ItemOutline[] {
  const items: ItemOutline[] = []
  if (!scanner.isAtList) {
    scanner.skipValue()
    return items
  }
  for (let more = scanner.firstItem(); more; more = scanner.nextItem()) {
    const start = scanner.pos
    const outline = readOutline(scanner)
    items.push({ ...outline, part: { start, valueStart: start, valueEnd: scanner.pos } })
  }
  return items
}

function readMetadata(bytes: Buffer, metadata: Part | undefined, names: readonly Buffer[]): unknown[] {
  if (metadata === undefined) return names.map(() => undefined)
  return readMembers(new JsonScanner(bytes, metadata.valueStart, metadata.valueEnd), names)
}

function stringOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
