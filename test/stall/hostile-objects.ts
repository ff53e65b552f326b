/**
 * Every kind at the largest accepted size in its worst shapes, made from the schema: each list and map as long as a body
 * may be, of empty, equal and different elements, lists side by side, and each text as long as it may be. Nothing is
 * valid on purpose: how long it takes to find that out is the question.
 */
import { MAX_BODY_BYTES } from '../../src/apiserver/objects/decode-body.ts'
import { storedResource } from '../../src/apiserver/objects/resource.ts'
import { MAX_BODY_VALUES } from '../../src/apiserver/objects/scan-json.ts'
import { joinGroupVersion, listGroupVersions } from '../../src/kube/schema/catalogue.ts'
import { type FieldType, findKind, type MessageType } from '../../src/kube/schema/schema.ts'

export interface HostileObject {
  /** Kind, path and shape: `Pod spec.containers: equal`. */
  readonly name: string
  /** Of the collection. */
  readonly path: string
  readonly body: string
}

type Make = (index: number) => unknown

/** Room for what stands around a list. */
const maxBytes = MAX_BODY_BYTES - 1_024
const maxValues = MAX_BODY_VALUES - 1_000

/** Each list, map and text of a message once: in the first kind that leads to it, or in every kind. */
export function* hostileObjects(inEveryKind: boolean): Generator<HostileObject> {
  const seen = new Set<string>()
  for (const { group, version, resources } of listGroupVersions()) {
    for (const row of resources) {
      const resource = storedResource(group, version, row.resource)
      if (resource === undefined || !row.verbs.includes('create')) continue
      if (row.stored !== joinGroupVersion(group, version)) continue
      if (inEveryKind) seen.clear()
      const kind = findKind(resource.apiVersion, row.kind)
      if (kind === undefined) continue
      const prefix = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
      const path = `${prefix}${row.namespaced ? '/namespaces/default' : ''}/${row.resource}`
      for (const [where, shape, fill] of shapesOf(kind.message, [], seen)) {
        const object = at(where, fill(''))
        const metadata = { name: 'x', ...(object['metadata'] as object | undefined) }
        yield { name: `${row.kind} ${where.join('.')}: ${shape}`, path, body: JSON.stringify({ ...object, metadata }) }
      }
    }
  }
}

type Shape = readonly [where: readonly string[], name: string, fill: (prefix: string) => unknown]

/** Breadth first would be the shortest way to each message; depth is bounded by never entering one twice. */
function* shapesOf(message: MessageType, where: readonly string[], seen: Set<string>): Generator<Shape> {
  if (message.form !== 'fields' || seen.has(message.fullName)) return
  seen.add(message.fullName)
  const lists = message.fields.filter(({ shape, inline }) => shape === 'list' && !inline)
  for (const field of message.fields) {
    if (field.inline && field.message !== undefined) yield* shapesOf(field.message, where, seen)
    else yield* fieldShapes(field, [...where, field.jsonName])
  }
  if (lists.length > 1) {
    const share = 1 / lists.length
    const together = (): unknown =>
      Object.fromEntries(lists.map((field) => [field.jsonName, filled(field, distinct(field), share)]))
    yield [where, 'all lists at once', together]
  }
  for (const field of message.fields) {
    if (field.inline || field.message === undefined) continue
    const step =
      field.shape === 'list'
        ? [field.jsonName, '0']
        : field.shape === 'map'
          ? [field.jsonName, 'key']
          : [field.jsonName]
    yield* shapesOf(field.message, [...where, ...step], seen)
  }
}

function* fieldShapes(field: FieldType, where: readonly string[]): Generator<Shape> {
  if (field.shape === 'single') {
    if (field.scalar === 'string' || field.scalar === 'bytes') yield [where, 'long', () => 'A'.repeat(maxBytes - 4_096)]
    else if (field.message?.form === 'special') {
      yield [where, 'long', () => '9'.repeat(maxBytes - 4_096)]
      yield [where, 'deep', () => nested(900)]
    }
    return
  }
  yield [where, 'empty', () => filled(field, () => emptyOf(field))]
  yield [where, 'equal', () => filled(field, () => distinct(field)(0))]
  yield [where, 'different', () => filled(field, distinct(field))]
  if (field.shape === 'map') yield [where, 'long keys', () => filled(field, distinct(field), 1, 'k'.repeat(1_000))]
}

/** As many elements as there is room for. */
function filled(field: FieldType, make: Make, share = 1, keyPrefix = 'k'): unknown {
  const sample = JSON.stringify(make(12_345)) ?? 'null'
  const isMap = field.shape === 'map'
  const valuesEach = sample.split(/[,{[]/).length + (isMap ? 1 : 0)
  const bytesEach = sample.length + 1 + (isMap ? keyPrefix.length + 9 : 0)
  const count = Math.floor(Math.min(maxValues / valuesEach, maxBytes / bytesEach) * share)
  const elements = Array.from({ length: count }, (_, index) => make(index))
  return isMap ? Object.fromEntries(elements.map((element, index) => [`${keyPrefix}${index}`, element])) : elements
}

function emptyOf({ scalar, message }: FieldType): unknown {
  if (scalar === 'string' || scalar === 'bytes') return ''
  if (scalar !== undefined) return scalar === 'bool' ? false : 0
  return message?.form === 'list' ? [] : {}
}

/** With all its plain fields set, so that what compares them has something to compare. */
function distinct({ scalar, message }: FieldType): Make {
  if (scalar !== undefined) return (index) => scalarOf(scalar, index)
  if (message === undefined || message.form === 'list') return () => []
  if (message.form === 'special') return (index) => specialOf(message, index)
  return (index) => {
    const object: Record<string, unknown> = {}
    for (const field of message.fields) {
      if (field.shape !== 'single' || field.inline) continue
      if (field.scalar !== undefined) object[field.jsonName] = scalarOf(field.scalar, index)
    }
    return object
  }
}

function scalarOf(scalar: NonNullable<FieldType['scalar']>, index: number): unknown {
  if (scalar === 'string') return `a${index}`
  if (scalar === 'bytes') return Buffer.from(`a${index}`).toString('base64')
  return scalar === 'bool' ? index % 2 === 0 : index % 60_000
}

function specialOf({ fullName }: MessageType, index: number): unknown {
  if (/Time$/.test(fullName)) return '2026-01-01T00:00:00Z'
  if (/Quantity$/.test(fullName)) return `1e${index % 100}`
  if (/Duration$/.test(fullName)) return `${index}s`
  return /IntOrString$/.test(fullName) ? index : { a: index }
}

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

/** The value at a place of an otherwise empty object; `0` stands for the only item of a list. */
function at(where: readonly string[], value: unknown): Record<string, unknown> {
  return where.reduceRight<unknown>((inner, step) => (step === '0' ? [inner] : { [step]: inner }), value) as Record<
    string,
    unknown
  >
}
