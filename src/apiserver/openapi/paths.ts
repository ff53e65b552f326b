/** All paths of a group version, made from its rows in the catalogue. */
import { presentFields } from '../../kube/present-fields.ts'
import { type ResourceRow, type SubresourceRow, splitApiVersion } from '../../kube/schema/catalogue.ts'
import { capitalized, groupVersionTag, groupVersionTitle, reference } from './names.ts'
import { METHODS, type Method, type Operation, type Parameter, type PathItem } from './openapi.ts'
import {
  connectOperation,
  content,
  createOperation,
  deleteCollectionOperation,
  deleteOperation,
  getOperation,
  listOperation,
  logOperation,
  OBJECT_MEDIA_TYPES,
  type OperationWithTypes,
  patchOperation,
  replaceOperation,
  type Subject,
  UNAUTHORIZED,
  watchOperation,
} from './operations.ts'
import { commonParameters, pathParameters, sortParameters, without } from './parameters.ts'

export interface ServedGroupVersion {
  readonly group: string
  readonly version: string
  readonly resources: readonly ResourceRow[]
}

export interface PathsAndTypes {
  readonly paths: Record<string, PathItem>
  /** Full names of all messages that the operations name. */
  readonly types: ReadonlySet<string>
}

type Operations = { [method in Method]?: OperationWithTypes }

const resourceListType = 'k8s.io.apimachinery.pkg.apis.meta.v1.APIResourceList'
const connectMethods: Readonly<Record<string, readonly Method[]>> = {
  get: ['get'],
  create: ['post'],
  update: ['put'],
  patch: ['patch'],
  delete: ['delete'],
}
/** What a proxy passes on although no verb of discovery stands for it. */
const proxyMethods: readonly Method[] = ['options', 'head']

export function pathsOfGroupVersion(served: ServedGroupVersion): PathsAndTypes {
  const paths = new PathCollector(served)
  paths.addResourceList()
  for (const row of served.resources) {
    if (row.namespaced) paths.addEverywhere(row)
    paths.addResource(row)
    for (const subresource of row.subresources ?? []) paths.addSubresource(row, subresource)
  }
  return paths.finish()
}

class PathCollector {
  readonly #served: ServedGroupVersion
  readonly #root: string
  readonly #items: [string, PathItem][] = []
  readonly #types = new Set<string>()

  constructor(served: ServedGroupVersion) {
    this.#served = served
    this.#root = served.group === '' ? `/api/${served.version}` : `/apis/${served.group}/${served.version}`
  }

  addResourceList(): void {
    const { group, version } = this.#served
    this.#types.add(resourceListType)
    const get: Operation = {
      tags: [groupVersionTag(group, version)],
      description: 'The resources of this group version.',
      operationId: `get${groupVersionTitle(group, version)}APIResources`,
      responses: {
        200: { description: 'OK', content: content(OBJECT_MEDIA_TYPES, reference(resourceListType)) },
        401: UNAUTHORIZED,
      },
    }
    this.#items.push([`${this.#root}/`, { get }])
  }

  /** Collections of all namespaces at once. */
  addEverywhere(row: ResourceRow): void {
    const { resource, kind, verbs } = row
    const subject = this.#subject(row, kind, `${resource} of all namespaces`)
    if (verbs.includes('list')) {
      this.#add(`/${resource}`, { get: listOperation({ ...subject, title: `${kind}ForAllNamespaces` }) })
    }
    if (verbs.includes('watch')) {
      this.#add(`/watch/${resource}`, {
        get: watchOperation({ ...subject, title: `${kind}ListForAllNamespaces` }, 'watchlist'),
      })
    }
  }

  addResource(row: ResourceRow): void {
    const place = placeOf(row)
    const title = scopedTitle(row)
    this.#add(place, this.#collectionOperations(row, title))
    this.#add(`${place}/{name}`, this.#objectOperations(row.verbs, this.#subject(row, title, row.resource)))
    if (!row.verbs.includes('watch')) return
    const subject = this.#subject(row, title, row.resource)
    this.#add(`/watch${place}`, { get: watchOperation({ ...subject, title: `${title}List` }, 'watchlist') })
    if (row.verbs.includes('get')) this.#add(`/watch${place}/{name}`, { get: watchOperation(subject, 'watch') })
  }

  addSubresource(row: ResourceRow, subresource: SubresourceRow): void {
    const path = `${placeOf(row)}/{name}/${subresource.name}`
    const title = scopedTitle(row) + capitalized(subresource.name)
    const subject = this.#subject(row, title, `${row.resource}/${subresource.name}`, subresource)
    if (subresource.kind.endsWith('Options')) {
      this.#addConnect(path, subresource, subject)
      return
    }
    if (subresource.name === 'log') {
      this.#add(path, { get: logOperation(subject) })
      return
    }
    const create = subresource.verbs.includes('create') ? { post: createOperation(subject) } : {}
    this.#add(path, { ...create, ...this.#objectOperations(subresource.verbs, subject) })
  }

  finish(): PathsAndTypes {
    this.#items.sort(([a], [b]) => (a < b ? -1 : 1))
    return { paths: Object.fromEntries(this.#items), types: this.#types }
  }

  #collectionOperations(row: ResourceRow, title: string): Operations {
    const subject = this.#subject(row, title, row.resource)
    return presentFields({
      get: row.verbs.includes('list') ? listOperation(subject) : undefined,
      post: row.verbs.includes('create') ? createOperation(subject) : undefined,
      delete: row.verbs.includes('deletecollection') ? deleteCollectionOperation(subject) : undefined,
    })
  }

  #objectOperations(verbs: readonly string[], subject: Subject): Operations {
    return presentFields({
      get: verbs.includes('get') ? getOperation(subject) : undefined,
      put: verbs.includes('update') ? replaceOperation(subject) : undefined,
      delete: verbs.includes('delete') ? deleteOperation(subject) : undefined,
      patch: verbs.includes('patch') ? patchOperation(subject) : undefined,
    })
  }

  #addConnect(path: string, { name, verbs }: SubresourceRow, subject: Subject): void {
    const isProxy = name === 'proxy'
    const methods = [...verbs.flatMap((verb) => connectMethods[verb] ?? []), ...(isProxy ? proxyMethods : [])]
    const connect = (to: Subject): Operations =>
      Object.fromEntries(methods.map((method) => [method, connectOperation(to, method)]))
    this.#add(path, connect(subject))
    if (isProxy) this.#add(`${path}/{path}`, connect({ ...subject, title: `${subject.title}WithPath` }))
  }

  #add(path: string, operations: Operations): void {
    const inPath = pathParameters(path)
    const present = METHODS.flatMap((method) => {
      const found = operations[method]
      return found === undefined ? [] : [{ method, ...found }]
    })
    if (present.length === 0) return
    const lists = present.map(({ operation }) => [...inPath, ...(operation.parameters ?? [])])
    const common = commonParameters(lists)
    const item: PathItem = {}
    for (const { method, operation, types } of present) {
      item[method] = withParameters(operation, without(operation.parameters ?? [], common))
      for (const type of types) this.#types.add(type)
    }
    if (common.length > 0) item.parameters = sortParameters(common)
    this.#items.push([this.#root + path, item])
  }

  #subject(row: ResourceRow, title: string, description: string, subresource?: SubresourceRow): Subject {
    const { group, version } = this.#served
    const home =
      subresource?.groupVersion === undefined ? { group, version } : splitApiVersion(subresource.groupVersion)
    return { group, version, row, kind: { ...home, kind: subresource?.kind ?? row.kind }, title, description }
  }
}

function placeOf({ namespaced, resource }: ResourceRow): string {
  return namespaced ? `/namespaces/{namespace}/${resource}` : `/${resource}`
}

function scopedTitle({ namespaced, kind }: ResourceRow): string {
  return namespaced ? `Namespaced${kind}` : kind
}

/** An operation without parameters of its own has no list of them. */
function withParameters({ tags, description, operationId, ...rest }: Operation, own: Parameter[]): Operation {
  const { parameters: _all, ...others } = rest
  const parameters = own.length === 0 ? {} : { parameters: sortParameters(own) }
  return { tags, description, operationId, ...parameters, ...others }
}
