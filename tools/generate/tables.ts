/**
 * Joins the protobuf facts (numbers, wire types) with the Go facts (JSON names, order, pointers, omitempty, inlining,
 * list types, merge keys, defaults) into the tables that `src/kube/schema` reads. Any field that one side has and the
 * other has not is an error: a silent gap here would be a field lost on the wire.
 */
import type { FieldFacts, FieldRow, MessageRow, PackageTable } from '../../src/kube/schema/table.ts'
import type { GoField, GoPackage, GoStruct } from './go-structs.ts'
import { findStruct, type SourcePackage } from './packages.ts'
import type { ProtoField, ProtoMessage } from './proto-file.ts'

const meta = 'k8s.io.apimachinery.pkg.apis.meta.v1'
const extensions = [
  'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1',
  'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1beta1',
]

/** Messages whose JSON form is not that of their fields; the codec has one hand-written entry for each. */
const special = new Set([
  'k8s.io.apimachinery.pkg.api.resource.Quantity',
  'k8s.io.apimachinery.pkg.api.resource.QuantityValue',
  'k8s.io.apimachinery.pkg.util.intstr.IntOrString',
  'k8s.io.apimachinery.pkg.runtime.RawExtension',
  'k8s.io.apimachinery.pkg.runtime.Unknown',
  `${meta}.Time`,
  `${meta}.MicroTime`,
  `${meta}.Duration`,
  `${meta}.FieldsV1`,
  ...extensions.flatMap((name) =>
    ['JSON', 'JSONSchemaPropsOrArray', 'JSONSchemaPropsOrBool', 'JSONSchemaPropsOrStringArray'].map(
      (message) => `${name}.${message}`,
    ),
  ),
])

const scalarLetters: Readonly<Record<string, string>> = {
  string: 's',
  bool: 'b',
  int32: 'i',
  int64: 'l',
  double: 'd',
  bytes: 'y',
}

/** TypeMeta carries apiVersion and kind, which travel in the envelope, and has no message of its own inside objects. */
const typeMeta = /^(metav1\.|v1\.|meta\.|runtime\.)?TypeMeta$/

export function buildTable(packages: readonly SourcePackage[], source: SourcePackage): PackageTable {
  const imports: string[] = []
  const messages: Record<string, MessageRow> = {}
  const kinds: string[] = []
  for (const [name, message] of source.proto.messages) {
    const struct = findStruct(packages, source, name)
    messages[name] = buildMessage(source, struct, message, imports)
    if (struct?.fields.some(isTypeMeta)) kinds.push(name)
  }
  const version = source.proto.package.split('.').at(-1) as string
  return { group: source.go.groupName ?? null, version, kinds, imports, messages }
}

function isTypeMeta(field: GoField): boolean {
  return typeMeta.test(field.type) && field.tags['json']?.endsWith(',inline') === true
}

function buildMessage(
  source: SourcePackage,
  struct: GoStruct | undefined,
  message: ProtoMessage,
  imports: string[],
): MessageRow {
  const { package: packageName } = source.proto
  const fullName = `${packageName}.${message.name}`
  if (special.has(fullName)) return null
  if (struct === undefined) return buildListWrapper(source.go, message, packageName, imports)
  const unseen = new Map(message.fields.map((field) => [field.number, field]))
  const rows: FieldRow[] = []
  for (const field of struct.fields) {
    const row = buildField(struct, field, unseen, packageName, imports)
    if (row !== undefined) rows.push(row)
  }
  const missing = [...unseen.values()].map((field) => field.name)
  if (missing.length > 0) throw new Error(`${fullName}: proto fields without a Go field: ${missing.join(', ')}`)
  return rows
}

/** A Go slice type that protobuf can only carry as a message with one repeated field. */
function buildListWrapper(go: GoPackage, message: ProtoMessage, packageName: string, imports: string[]): string {
  const goType = go.named.get(message.name)
  const items = message.fields[0]
  if (!goType?.startsWith('[]') || message.fields.length !== 1 || items?.label !== 'repeated' || items.number !== 1) {
    throw new Error(`${packageName}.${message.name}: neither a struct nor a list wrapper`)
  }
  return typeReference(items, packageName, imports)
}

function buildField(
  struct: GoStruct,
  field: GoField,
  unseen: Map<number, ProtoField>,
  packageName: string,
  imports: string[],
): FieldRow | undefined {
  const where = `${packageName}.${struct.name}.${field.goName}`
  if (isTypeMeta(field) || field.tags['json'] === '-') return undefined
  const [jsonName, ...options] = (field.tags['json'] ?? '').split(',')
  const number = Number(field.tags['protobuf']?.split(',')[1])
  if (jsonName === undefined || Number.isNaN(number)) {
    throw new Error(`${where}: a field without a JSON name and a protobuf number`)
  }
  const proto = unseen.get(number)
  if (proto === undefined) throw new Error(`${where}: number ${number} is not in the proto file`)
  unseen.delete(number)
  if (/^\[\]\*|\]\*/.test(field.type)) throw new Error(`${where}: lists and maps of pointers are not expected`)
  const inline = options.includes('inline')
  const row: FieldRow = [inline ? '' : jsonName, number, typeReference(proto, packageName, imports)]
  const facts = fieldFacts(field)
  const flags = fieldFlags(field, options, inline)
  if (flags !== '' || facts !== undefined) row.push(flags)
  if (facts !== undefined) row.push(facts)
  return row
}

function fieldFlags(field: GoField, options: readonly string[], inline: boolean): string {
  const omitEmpty = options.includes('omitempty')
  const omitZero = options.includes('omitzero')
  const required = field.markers.has('required') || !(inline || omitEmpty || omitZero || field.markers.has('optional'))
  const set: [boolean, string][] = [
    [field.type.startsWith('*'), '*'],
    [omitEmpty, 'e'],
    [omitZero, 'z'],
    [inline, '+'],
    [required, 'r'],
  ]
  return set.map(([on, letter]) => (on ? letter : '')).join('')
}

function fieldFacts({ markers, tags }: GoField): FieldFacts | undefined {
  const facts: FieldFacts = {}
  const listType = markers.get('listType')
  if (listType !== undefined) facts.listType = listType
  const mapKeys = markers.get('listMapKey')
  if (mapKeys !== undefined) facts.mapKeys = mapKeys.split(',')
  const mapType = markers.get('mapType') ?? markers.get('structType')
  if (mapType !== undefined) facts.mapType = mapType
  if (tags['patchStrategy'] !== undefined) facts.patchStrategy = tags['patchStrategy']
  if (tags['patchMergeKey'] !== undefined) facts.mergeKey = tags['patchMergeKey']
  const value = defaultValue(markers.get('default'))
  if (value !== undefined) facts.default = value
  return Object.keys(facts).length === 0 ? undefined : facts
}

/** Defaults are JSON literals, or references to Go constants, which only the API server's own code resolves. */
function defaultValue(text: string | undefined): unknown {
  if (text === undefined || text.startsWith('ref(')) return undefined
  return JSON.parse(text)
}

function typeReference(field: ProtoField, packageName: string, imports: string[]): string {
  const prefix = field.label === 'repeated' ? '[]' : field.label === 'map' ? '{}' : ''
  const letter = scalarLetters[field.type]
  if (letter !== undefined) return prefix + letter
  const dot = field.type.lastIndexOf('.')
  const home = field.type.slice(0, dot)
  const name = field.type.slice(dot + 1)
  if (home === packageName) return prefix + name
  if (!imports.includes(home)) imports.push(home)
  return `${prefix}${imports.indexOf(home)}.${name}`
}
