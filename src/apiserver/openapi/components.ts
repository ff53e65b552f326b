/** The schemas of one document: those that its operations name, and everything that these contain. */
import { findResourceOfKind, splitApiVersion } from '../../kube/schema/catalogue.ts'
import { listKinds, type MessageType } from '../../kube/schema/schema.ts'
import { kindDescription } from './descriptions.ts'
import { schemaName } from './names.ts'
import type { GroupVersionKind, Schema } from './openapi.ts'
import { isKind, schemaOfMessage, sorted } from './schemas.ts'
import { typeOf } from './type-facts.ts'

const metaPackage = 'k8s.io.apimachinery.pkg.apis.meta.v1'
/** Kinds that every group version has as its own, and which are core's as well. */
const sharedKinds = new Set(['DeleteOptions', 'WatchEvent'])

interface Described {
  readonly schema: Schema
  /** The messages that it refers to. */
  readonly uses: readonly string[]
}

/** By message; all documents share them, so that a PodSpec is described once. */
const described = new Map<string, Described>()
let apiVersions: ReadonlyMap<string, string> | undefined

/** `group` and `version` are those of the document. */
export function componentSchemas(roots: Iterable<string>, group: string, version: string): Record<string, Schema> {
  const schemas: Record<string, Schema> = {}
  const seen = new Set<string>()
  const waiting = [...roots]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (seen.has(name)) continue
    seen.add(name)
    const { schema, uses } = describe(name)
    const kinds = kindsOf(typeOf(name), { group, version })
    schemas[schemaName(name)] = kinds.length === 0 ? schema : { ...schema, 'x-kubernetes-group-version-kind': kinds }
    waiting.push(...uses)
  }
  return sorted(schemas)
}

function describe(messageName: string): Described {
  let known = described.get(messageName)
  if (known === undefined) {
    const message = typeOf(messageName)
    known = { schema: withResource(message, schemaOfMessage(message)), uses: [...messagesIn(message)] }
    described.set(messageName, known)
  }
  return known
}

function withResource(message: MessageType, schema: Schema): Schema {
  const { packageName, name } = split(message.fullName)
  const resource = findResourceOfKind(apiVersionOf(packageName) ?? '', name)
  return resource === undefined ? schema : { ...schema, description: kindDescription(message.fullName, resource) }
}

/** Inlined messages and wrapped lists are described in place: only what they contain is referred to. */
function* messagesIn(message: MessageType): Generator<string> {
  for (const field of message.fields) {
    if (field.message === undefined) continue
    if (field.inline || field.message.form === 'list') yield* messagesIn(field.message)
    else yield field.message.fullName
  }
}

function kindsOf(message: MessageType, document: { group: string; version: string }): GroupVersionKind[] {
  const { packageName, name: kind } = split(message.fullName)
  if (packageName === metaPackage) {
    if (!isKind(message) && kind !== 'WatchEvent') return []
    const core = { group: '', kind, version: 'v1' }
    const own = { group: document.group, kind, version: document.version }
    return sharedKinds.has(kind) && document.group !== '' ? [core, own] : [core]
  }
  const apiVersion = isKind(message) ? apiVersionOf(packageName) : undefined
  if (apiVersion === undefined) return []
  const { group, version } = splitApiVersion(apiVersion)
  return [{ group, kind, version }]
}

function apiVersionOf(packageName: string): string | undefined {
  apiVersions ??= new Map(listKinds().map((entry) => [entry.packageName, entry.apiVersion]))
  return apiVersions.get(packageName)
}

function split(messageName: string): { packageName: string; name: string } {
  const dot = messageName.lastIndexOf('.')
  return { packageName: messageName.slice(0, dot), name: messageName.slice(dot + 1) }
}
