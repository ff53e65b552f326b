/**
 * Items in the shape that a client negotiated, as compact JSON: lists, Tables, bare metadata. Everything is put together
 * from the bytes that items keep, so that nothing is read or printed again but the cells of a Table.
 */
import { printJson } from '../../kube/codec/json.ts'
import type { ListMeta } from '../../kube/objects.ts'
import type { Representation } from '../../kube/representation.ts'
import { tableHead } from '../../kube/tables/table.ts'
import type { Item } from '../objects/item.ts'
import type { Resource } from '../objects/resource.ts'

export interface Shape {
  readonly resource: Pick<Resource, 'kind' | 'apiVersion'>
  readonly representation: Representation
}

type MetaRepresentation = Extract<Representation, { version: 'v1' | 'v1beta1' }>

const endOfMember = Buffer.from('}')
const endOfList = Buffer.from(']}')
const openBrace = Buffer.from('{')
const noObject = Buffer.from(',"object":null}')
const objectMember = Buffer.from(',"object":')
const metadataMember = Buffer.from('{"metadata":')
const initialEventsEnd = Buffer.from('"k8s.io/initial-events-end":"true"')

/** The member that holds the entries of a list. */
export function entriesMember({ representation }: Shape): 'items' | 'rows' {
  return representation.as === 'Table' ? 'rows' : 'items'
}

/** A list up to and including the bracket before its first entry. Entries come last, `]}` ends it. */
export function listHead(shape: Shape, metadata: ListMeta, withColumns = true): string {
  const { representation, resource } = shape
  const { kind, apiVersion } = resource
  if (representation.as === 'Table') {
    const { version } = representation
    return opened(tableHead({ kind, apiVersion, version, listMeta: metadata, withHeaders: withColumns }), 'rows')
  }
  if (representation.as === 'Object') return opened({ kind: `${kind}List`, apiVersion, metadata }, 'items')
  return opened({ kind: 'PartialObjectMetadataList', apiVersion: metaVersion(representation), metadata }, 'items')
}

function opened(object: object, member: string): string {
  return `${printJson(object).slice(0, -1)},"${member}":[`
}

/** One entry of a list. `row` is the head of its row, in a Table. */
export function entryParts(item: Item, shape: Shape, row: Buffer): Buffer[] {
  const { representation, resource } = shape
  if (representation.as === 'Table') return [row, ...rowObject(item, representation)]
  if (representation.as !== 'Object') return [metadataMember, item.metadataJson, endOfMember]
  // Items of a list leave their kind and apiVersion away, with which they begin.
  return [openBrace, item.json.subarray(typePrefix(resource).length)]
}

/** One object as a whole, not as an entry of a list. */
export function objectParts(item: Item, shape: Shape, row: Buffer, withColumns = true): Buffer[] {
  const { representation } = shape
  if (representation.as === 'Object') return [item.json]
  if (representation.as === 'PartialObjectMetadata') return partialMetadata(item, representation)
  return [Buffer.from(listHead(shape, {}, withColumns)), ...entryParts(item, shape, row), endOfList]
}

/** What every printed object of a kind begins with. */
function typePrefix({ kind, apiVersion }: Shape['resource']): string {
  return `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`
}

function rowObject(item: Item, representation: Extract<Representation, { as: 'Table' }>): Buffer[] {
  const { includeObject } = representation
  if (includeObject === 'Object') return [objectMember, item.json, endOfMember]
  if (includeObject === 'None' && !endsInitialEvents(item)) return [noObject]
  return [objectMember, ...partialMetadata(item, representation), endOfMember]
}

/** Clients need the metadata of what ends their initial events, even when they asked for no objects. */
function endsInitialEvents(item: Item): boolean {
  if (!item.metadataJson.includes(initialEventsEnd)) return false
  return item.metadata().annotations?.['k8s.io/initial-events-end'] === 'true'
}

function partialMetadata(item: Item, representation: MetaRepresentation): Buffer[] {
  const type = { kind: 'PartialObjectMetadata', apiVersion: metaVersion(representation) }
  return [Buffer.from(`${typePrefix(type)}"metadata":`), item.metadataJson, endOfMember]
}

function metaVersion(representation: Exclude<Representation, { as: 'Object' }>): string {
  return `meta.k8s.io/${representation.version}`
}
