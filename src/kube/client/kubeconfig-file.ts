/**
 * One kubeconfig file: YAML text to checked entries. Every complaint names the file and the entry. Fields that this
 * client does not know are ignored, as kubectl does; fields that would change who we are or where we go are refused
 * by name when the entry is used (see kubeconfig.ts).
 */
import { dirname, resolve } from 'node:path'
import { isScalar, parseDocument, visit, type YAMLMap } from 'yaml'
import { excessiveNestingAt } from '../codec/yaml-nesting.ts'
import { ConnectionConfigError } from './connection.ts'

/** Kubeconfigs with inline certificates for hundreds of clusters stay far below this. */
export const MAX_KUBECONFIG_BYTES = 8 * 1024 * 1024

/** One named entry, with the file it came from. */
export class KubeconfigEntry {
  readonly file: string
  readonly title: string
  readonly #fields: Readonly<Record<string, unknown>>

  constructor(file: string, title: string, fields: Readonly<Record<string, unknown>>) {
    this.file = file
    this.title = title
    this.#fields = fields
  }

  has(field: string): boolean {
    const value = this.#fields[field]
    return value !== undefined && value !== null && value !== ''
  }

  /** A text field; empty counts as absent. */
  text(field: string): string | undefined {
    if (!this.has(field)) return undefined
    const value = this.#fields[field]
    if (typeof value !== 'string') throw this.error(`${field} must be a string, not ${kindOf(value)}`)
    return value
  }

  flag(field: string): boolean {
    if (!this.has(field)) return false
    const value = this.#fields[field]
    if (typeof value !== 'boolean') throw this.error(`${field} must be true or false, not ${kindOf(value)}`)
    return value
  }

  texts(field: string): string[] {
    return this.has(field) ? this.#textList(field, this.#fields[field]) : []
  }

  textLists(field: string): Record<string, string[]> {
    if (!this.has(field)) return {}
    const value = this.#fields[field]
    if (!isRecord(value)) throw this.error(`${field} must be a map, not ${kindOf(value)}`)
    return Object.fromEntries(Object.entries(value).map(([key, list]) => [key, this.#textList(field, list)]))
  }

  /** A file name; relative names are meant from the directory of the kubeconfig. */
  path(field: string): string | undefined {
    const path = this.text(field)
    return path === undefined ? undefined : resolve(dirname(this.file), path)
  }

  error(problem: string): ConnectionConfigError {
    return new ConnectionConfigError(`kubeconfig ${this.file}: ${this.title}: ${problem}`)
  }

  #textList(field: string, value: unknown): string[] {
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
      throw this.error(`${field} must be a list of strings`)
    }
    return value
  }
}

export interface Kubeconfig {
  readonly currentContext: string | undefined
  readonly clusters: ReadonlyMap<string, KubeconfigEntry>
  readonly users: ReadonlyMap<string, KubeconfigEntry>
  readonly contexts: ReadonlyMap<string, KubeconfigEntry>
}

export function parseKubeconfig(text: string, file: string): Kubeconfig {
  const document = parseYaml(text, file) ?? {}
  if (!isRecord(document)) {
    throw new ConnectionConfigError(`kubeconfig ${file}: expected a map at the top, not ${kindOf(document)}`)
  }
  const top = new KubeconfigEntry(file, 'top level', document)
  expectText(top, 'kind', 'Config')
  expectText(top, 'apiVersion', 'v1')
  return {
    currentContext: top.text('current-context'),
    clusters: namedEntries(top, document['clusters'], 'clusters', 'cluster'),
    users: namedEntries(top, document['users'], 'users', 'user'),
    contexts: namedEntries(top, document['contexts'], 'contexts', 'context'),
  }
}

/** Absent is as good as expected. */
function expectText(top: KubeconfigEntry, field: string, expected: string): void {
  const value = top.text(field) ?? expected
  if (value !== expected) throw top.error(`${field} is ${value}; expected ${expected}`)
}

/** `[{name, <kind>: {...}}, ...]` to a map by name. */
function namedEntries(top: KubeconfigEntry, value: unknown, list: string, kind: string): Map<string, KubeconfigEntry> {
  const entries = new Map<string, KubeconfigEntry>()
  if (value === undefined || value === null) return entries
  if (!Array.isArray(value)) throw top.error(`${list} must be a list, not ${kindOf(value)}`)
  for (const [index, item] of (value as unknown[]).entries()) {
    const name = isRecord(item) ? item['name'] : undefined
    if (!isRecord(item) || typeof name !== 'string') throw top.error(`${list}[${index}] needs a name`)
    const fields = item[kind] ?? {}
    if (!isRecord(fields)) throw top.error(`${list}[${index}] (${name}): ${kind} must be a map, not ${kindOf(fields)}`)
    if (entries.has(name)) throw top.error(`${list} has two entries named ${JSON.stringify(name)}`)
    entries.set(name, new KubeconfigEntry(top.file, `${kind} ${JSON.stringify(name)}`, fields))
  }
  return entries
}

function parseYaml(text: string, file: string): unknown {
  try {
    if (excessiveNestingAt(text) !== undefined) throw new Error('nested too deeply')
    // The library compares every key with every other; ours is the check below.
    const document = parseDocument(text, { uniqueKeys: false })
    const [error] = document.errors
    if (error?.code === 'MULTIPLE_DOCS') throw new Error('more than one document')
    if (error !== undefined) throw error
    visit(document, { Map: (_key, map) => refuseRepeatedKeys(map) })
    return document.toJS()
  } catch (cause) {
    const [summary] = (cause as Error).message.split('\n')
    throw new ConnectionConfigError(`kubeconfig ${file}: not valid YAML: ${summary}`, { cause })
  }
}

function refuseRepeatedKeys({ items }: YAMLMap): void {
  const seen = new Set<unknown>()
  for (const { key } of items) {
    const value = isScalar(key) ? key.value : key
    if (seen.has(value)) throw new Error(`the key ${JSON.stringify(value)} is given twice`)
    seen.add(value)
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}
