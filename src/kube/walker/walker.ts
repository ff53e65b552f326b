/**
 * The wire walker: looks at and changes single fields of an encoded object, list or watch event and leaves every other
 * byte as it came. One interface, two implementations: `jsonWalker` and `protobufWalker`. Unknown fields survive, since
 * nobody decodes them.
 *
 * What is stepped over is checked only as far as it takes to find its end; a document that is broken there is copied as
 * broken as it came. Everything that is wrong with what is looked at is a WireError.
 */
import type { ListMeta, WatchEventType } from '../objects.ts'

/** As a step: every item of a list. */
export const ANY_ITEM: unique symbol = Symbol('ANY_ITEM')

/** As a step: every item of a list that has this value in its field `key`. */
export interface ItemMatch {
  readonly key: string
  readonly equals: string | number | boolean
}

/** A number is the index of one item. */
export type ListStep = number | typeof ANY_ITEM | ItemMatch

/** A string is a field's name or a map's key. */
export type PathStep = string | ListStep

/** Leads from an object to the places to look at: `['spec', 'ports', { key: 'name', equals: 'https' }, 'port']`. */
export type FieldPath = readonly PathStep[]

export interface FieldEdit {
  /**
   * The last step is the place to change: a field, a map entry or a list item. A path that leads nowhere, because an
   * object or a list on the way is missing or of another kind, changes nothing.
   */
  readonly path: FieldPath
  /**
   * Gets the JSON value at each place, undefined where a field or map entry is absent, and returns the new one;
   * undefined removes it. Returning the value itself keeps the bytes. Never change a value in place.
   *
   * In protobuf the value is written anew as a whole, without unknown fields inside it: end the path as deep as you can.
   */
  replace(value: unknown): unknown
}

/** What tells one object of a collection from another; empty where the object does not say. */
export interface ObjectIdentity {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
}

export interface DocumentType {
  readonly apiVersion: string
  readonly kind: string
}

export interface ListItem {
  /** What the item says of itself, or else what follows from the list: an item of a `PodList` is a `Pod`. */
  readonly type: DocumentType
  readonly identity: ObjectIdentity
  /** A view of the list's bytes: valid in a list, not as a document of its own. */
  readonly bytes: Uint8Array
  read(path: FieldPath): unknown
  /** The bytes of the item with the edits applied; `bytes` itself where nothing changed. */
  edit(edits: readonly FieldEdit[]): Uint8Array
  /** The item as a document of its own, with its type. */
  toDocument(): Uint8Array
}

/** What becomes of an item: undefined keeps it, null drops it, bytes take its place. */
export type ItemChange = (item: ListItem) => Uint8Array | null | undefined

export interface EventParts {
  readonly type: WatchEventType
  /** A view of the frame: a document that can be walked. */
  readonly object: Uint8Array
}

/** All methods throw a WireError for bytes they cannot make sense of, and change nothing then. */
export interface DocumentWalker {
  /** Empty strings where the document does not say. */
  typeOf(document: Uint8Array): DocumentType
  identityOf(document: Uint8Array): ObjectIdentity
  /** The first value that the path leads to, as JSON has it; undefined where there is none. */
  read(document: Uint8Array, path: FieldPath): unknown
  /** Applies the edits in order, each to the result of the one before. Returns `document` itself if nothing changed. */
  edit(document: Uint8Array, edits: readonly FieldEdit[]): Uint8Array
  /** The metadata of a list; what it does not say is left out. */
  listMeta(document: Uint8Array): ListMeta
  /** The items of a list of any type, known to the schema or not. */
  items(document: Uint8Array): ListItem[]
  /** The list with its items kept, dropped or changed. Returns `document` itself if every one was kept. */
  mapItems(document: Uint8Array, change: ItemChange): Uint8Array
  /** Takes a watch event apart; a frame is one line of JSON or one length-delimited message. */
  readEvent(frame: Uint8Array): EventParts
  /** The frame of an event, without line feed or length. */
  writeEvent(type: WatchEventType, object: Uint8Array): Uint8Array
}

/** `spec.ports[name=https].port`, for error texts. */
export function formatFieldPath(path: FieldPath): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'string') text += text === '' ? step : `.${step}`
    else if (typeof step === 'number') text += `[${step}]`
    else if (step === ANY_ITEM) text += '[*]'
    else text += `[${step.key}=${step.equals}]`
  }
  return text
}

/** The type of the items of a list, by the rule that all lists of API objects follow. */
export function itemTypeOf(list: DocumentType): DocumentType {
  const kind = list.kind.endsWith('List') ? list.kind.slice(0, -'List'.length) : ''
  return { apiVersion: list.apiVersion, kind }
}

/** A field edit that only looks: keeps the first value that is there in `found`. */
export class FieldProbe implements FieldEdit {
  readonly path: FieldPath
  found: unknown

  constructor(path: FieldPath) {
    this.path = path
  }

  replace(value: unknown): unknown {
    if (this.found === undefined) this.found = value
    return value
  }
}
