/**
 * The built-in Kubernetes types at run time: message types made from the tables on first use and kept. A message refers
 * to others lazily, so asking for a ConfigMap never loads the types of a Pod.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { FieldFacts, FieldRow, PackageTable, SchemaIndex } from './table.ts'

export type ScalarType = 'string' | 'bool' | 'int32' | 'int64' | 'double' | 'bytes'

export interface FieldType {
  /** Empty for an inlined message: its fields then appear in the object that has this field. */
  readonly jsonName: string
  readonly number: number
  readonly shape: 'single' | 'list' | 'map'
  readonly inline: boolean
  /** A Go pointer: absent and zero are different things. */
  readonly pointer: boolean
  readonly omitEmpty: boolean
  readonly omitZero: boolean
  readonly required: boolean
  readonly facts: FieldFacts
  /** What one element is: a scalar, or a message. */
  readonly scalar: ScalarType | undefined
  readonly message: MessageType | undefined
}

export interface MessageType {
  /** For instance `k8s.io.api.core.v1.PodSpec`. */
  readonly fullName: string
  /**
   * `fields`: an object with these fields. `list`: JSON has a bare list, the wire wraps it as field 1 of a message.
   * `special`: the JSON form has nothing to do with the fields, a hand-written codec knows it.
   */
  readonly form: 'fields' | 'list' | 'special'
  /** In the order in which an API server prints them; for a `list` the one wrapped field. */
  readonly fields: readonly FieldType[]
}

export interface Kind {
  readonly apiVersion: string
  readonly kind: string
  readonly message: MessageType
}

const scalarNames: Readonly<Record<string, ScalarType>> = {
  s: 'string',
  b: 'bool',
  i: 'int32',
  l: 'int64',
  d: 'double',
  y: 'bytes',
}

const metaPackage = 'k8s.io.apimachinery.pkg.apis.meta.v1'

/** Kinds that every group version has, and kinds that belong to no group and are written with apiVersion `v1`. */
const kindsOfEveryGroupVersion = new Set([
  'ListOptions',
  'GetOptions',
  'DeleteOptions',
  'CreateOptions',
  'UpdateOptions',
  'PatchOptions',
])
const kindsOfNoGroup = new Set(['Status', 'APIVersions', 'APIGroup', 'APIGroupList', 'APIResourceList'])

const tables = new Map<string, PackageTable>()
const messages = new Map<string, MessageType>()
/** Kinds asked for before, by name; only existing ones get in, so the tables bound it. */
const kindsFound = new Map<string, Kind[]>()
let schemaIndex: SchemaIndex | undefined

/** The message of an API kind, or undefined where this release has no such kind or it has no protobuf form. */
export function findKind(apiVersion: string, kind: string): Kind | undefined {
  const known = kindsFound.get(kind)?.find((found) => found.apiVersion === apiVersion)
  if (known !== undefined) return known
  const packageName = packageOfKind(apiVersion, kind)
  if (packageName === undefined) return undefined
  const found = { apiVersion, kind, message: messageType(`${packageName}.${kind}`) }
  kindsFound.set(kind, [...(kindsFound.get(kind) ?? []), found])
  return found
}

/** The message type of a full name. Asking for a name that no table has is a programming error. */
export function messageType(fullName: string): MessageType {
  let found = messages.get(fullName)
  if (found === undefined) {
    found = makeMessage(fullName)
    messages.set(fullName, found)
  }
  return found
}

/** `group/version` (or `v1`) of every API that the tables hold, and the kinds of each. */
export function listKinds(): { apiVersion: string; packageName: string; kinds: readonly string[] }[] {
  return Object.entries(index().packages).map(([apiVersion, packageName]) => ({
    apiVersion,
    packageName,
    kinds: loadTable(packageName).kinds,
  }))
}

/** The Kubernetes release that the tables describe. */
export function kubernetesVersion(): string {
  return index().kubernetesVersion
}

function packageOfKind(apiVersion: string, kind: string): string | undefined {
  const packages = index().packages
  const packageName = Object.hasOwn(packages, apiVersion) ? packages[apiVersion] : undefined
  if (packageName !== undefined && loadTable(packageName).kinds.includes(kind)) return packageName
  if (packageName !== undefined && kindsOfEveryGroupVersion.has(kind)) return metaPackage
  if (packageName !== undefined && kind === 'WatchEvent') return metaPackage
  return apiVersion === 'v1' && kindsOfNoGroup.has(kind) ? metaPackage : undefined
}

function makeMessage(fullName: string): MessageType {
  const dot = fullName.lastIndexOf('.')
  const table = loadTable(fullName.slice(0, dot))
  const name = fullName.slice(dot + 1)
  const row = Object.hasOwn(table.messages, name) ? table.messages[name] : undefined
  if (row === undefined) throw new Error(`the schema has no message ${fullName}`)
  if (row === null) return { fullName, form: 'special', fields: [] }
  const rows: FieldRow[] = typeof row === 'string' ? [['', 1, row]] : row
  const home = fullName.slice(0, dot)
  return {
    fullName,
    form: typeof row === 'string' ? 'list' : 'fields',
    fields: rows.map((field) => makeField(field, home, table)),
  }
}

function makeField(row: FieldRow, home: string, table: PackageTable): FieldType {
  const [jsonName, number, type, flags = '', facts = {}] = row
  const shape = type.startsWith('[]') ? 'list' : type.startsWith('{}') ? 'map' : 'single'
  const element = shape === 'single' ? type : type.slice(2)
  const scalar = scalarNames[element]
  const messageName = scalar === undefined ? resolveReference(element, home, table) : undefined
  return {
    jsonName,
    number,
    shape,
    inline: flags.includes('+'),
    pointer: flags.includes('*'),
    omitEmpty: flags.includes('e'),
    omitZero: flags.includes('z'),
    required: flags.includes('r'),
    facts,
    scalar,
    get message() {
      return messageName === undefined ? undefined : messageType(messageName)
    },
  }
}

function resolveReference(reference: string, home: string, table: PackageTable): string {
  const dot = reference.indexOf('.')
  if (dot === -1) return `${home}.${reference}`
  const imported = table.imports[Number(reference.slice(0, dot))]
  if (imported === undefined) throw new Error(`broken schema table ${home}: ${reference}`)
  return `${imported}.${reference.slice(dot + 1)}`
}

function loadTable(packageName: string): PackageTable {
  let table = tables.get(packageName)
  if (table === undefined) {
    table = readSchemaFile(packageName) as PackageTable
    tables.set(packageName, table)
  }
  return table
}

function index(): SchemaIndex {
  schemaIndex ??= readSchemaFile('index') as SchemaIndex
  return schemaIndex
}

/** Sources and built files lie equally deep below the package root, so one relative address serves both. */
export function readSchemaFile(name: string): unknown {
  const path = fileURLToPath(new URL(`../../../data/schema/${name}.json`, import.meta.url))
  return JSON.parse(readFileSync(path, 'utf8'))
}
