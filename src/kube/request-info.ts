/**
 * What a request is about: verb, resource, namespace and name, exactly as an API server reads them from method, path
 * and query. Authorization, caching and filters all decide on this reading, so it must not differ in any corner.
 */
import { EMPTY_QUERY, hasBrokenEscape, parseQuery, type RequestQuery } from './request-query.ts'
import { parseFieldSelector, requiresExactMatch } from './selectors/field.ts'
import { parseLabelSelector } from './selectors/label.ts'
import { parseInt64 } from './selectors/label-requirement.ts'
import { internalError } from './status/availability-errors.ts'
import { badRequest } from './status/request-errors.ts'
import { ApiError } from './status/status.ts'

/** Room for long label selectors; HTTP servers stop at a similar size. */
export const MAX_REQUEST_TARGET_LENGTH = 65_536

/** The empty verb is that of a method which means nothing for a resource, such as OPTIONS. */
export type ResourceVerb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'deletecollection'
  | 'proxy'
  | ''

/** Strings are empty where the request says nothing. */
export interface ResourceRequest {
  readonly kind: 'resource'
  /** Percent-decoded. */
  readonly path: string
  readonly verb: ResourceVerb
  readonly apiPrefix: 'api' | 'apis'
  readonly apiGroup: string
  readonly apiVersion: string
  /** For the resource `namespaces` itself this is the name. */
  readonly namespace: string
  readonly resource: string
  readonly subresource: string
  /** Of a list or a watch: the only object that may be shown, by the path or by a field selector. */
  readonly name: string
  /** The path from the resource on. */
  readonly parts: readonly string[]
  /** Whether the path leads through a namespace, and does not end with it. */
  readonly isInNamespace: boolean
  /** The old paths of watches, `/api/v1/watch/...`. */
  readonly isWatchPath: boolean
  /** Unparsed; only for list, watch and deletecollection, and not for the old paths of watches. */
  readonly fieldSelector: string
  readonly labelSelector: string
}

export interface NonResourceRequest {
  readonly kind: 'non-resource'
  /** Percent-decoded. */
  readonly path: string
  /** The HTTP method in lower case. */
  readonly verb: string
}

export type RequestInfo = ResourceRequest | NonResourceRequest

export interface RequestTarget {
  readonly method: string
  /** As it stood in the request; it may carry the query, unless `query` is given. */
  readonly path: string
  /** Without the question mark. */
  readonly query?: string
}

/** All that stands in the target of a request. Whoever decides about a request, or carries it out, decides on this. */
export interface RequestReading {
  readonly info: RequestInfo
  readonly query: RequestQuery
}

/** Throws a 400 for a target that is not a URL, a 500 for `watch` or `proxy` without a resource, as API servers do. */
export function readRequest(target: RequestTarget): RequestReading {
  const { rawPath, rawQuery } = splitTarget(target)
  const query = parseQuery(rawQuery)
  return { info: readPath(decodePath(rawPath), query, target), query }
}

/** What is known of a request that could not be read. */
export const UNREAD_REQUEST: RequestReading = {
  info: { kind: 'non-resource', path: '', verb: '' },
  query: EMPTY_QUERY,
}

/** For those to whom the query means nothing further. */
export function parseRequestInfo(target: RequestTarget): RequestInfo {
  return readRequest(target).info
}

/** Bytes that are not UTF-8 have no faithful text, and two different ones must never look alike: they are refused. */
function decodePath(rawPath: string): string {
  try {
    return decodeURIComponent(rawPath)
  } catch (error) {
    throw badRequest('the path of the request is not valid UTF-8 after percent-decoding', { cause: error })
  }
}

function readPath(path: string, query: RequestQuery, target: RequestTarget): RequestInfo {
  const parts = splitPath(path)
  const [prefix] = parts
  const isGrouped = prefix === 'apis'
  if ((prefix !== 'api' && !isGrouped) || parts.length < (isGrouped ? 4 : 3)) {
    return { kind: 'non-resource', path, verb: target.method.toLowerCase() }
  }
  const [apiGroup = '', apiVersion = ''] = isGrouped ? parts.slice(1) : ['', parts[1]]
  const subject = readSubject(parts.slice(isGrouped ? 3 : 2), target)
  const { namespace, resource, subresource, parts: steps, isInNamespace } = subject.names
  const { verb, name, fieldSelector, labelSelector } = refineVerb(subject, query)
  // Field by field: objects made of two spreads each get a shape of their own, and everybody who reads one is slower for it.
  return {
    kind: 'resource',
    path,
    apiPrefix: prefix,
    apiGroup,
    apiVersion,
    namespace,
    resource,
    name,
    subresource,
    parts: steps,
    isInNamespace,
    isWatchPath: subject.isByPath && verb === 'watch',
    verb,
    fieldSelector,
    labelSelector,
  }
}

interface Subject {
  readonly verb: ResourceVerb
  /** The path names the verb. */
  readonly isByPath: boolean
  readonly names: Pick<ResourceRequest, 'namespace' | 'resource' | 'subresource' | 'name' | 'parts' | 'isInNamespace'>
}

const methodVerbs: ReadonlyMap<string, ResourceVerb> = new Map([
  ['GET', 'get'],
  ['HEAD', 'get'],
  ['POST', 'create'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
])

/** `/api/v1/watch/pods` is the old way to say watch; `proxy` has no other meaning any more. */
function readSubject(parts: readonly string[], { method, path }: RequestTarget): Subject {
  const [first] = parts
  if (first !== 'watch' && first !== 'proxy') {
    const verb = methodVerbs.get(method) ?? ''
    return { verb, isByPath: false, names: readNames(parts, verb) }
  }
  if (parts.length < 2) {
    throw internalError(`failed to create RequestInfo: unable to determine kind and namespace from url, ${path}`)
  }
  return { verb: first, isByPath: true, names: readNames(parts.slice(1), first) }
}

/** Subresources of a namespace; anything else after its name is a resource inside it. */
export const NAMESPACE_SUBRESOURCES: readonly string[] = ['status', 'finalize']

function readNames(given: readonly string[], verb: ResourceVerb): Subject['names'] {
  const [first, second = '', third] = given
  const namespace = first === 'namespaces' ? second : ''
  const isInNamespace = first === 'namespaces' && third !== undefined && !NAMESPACE_SUBRESOURCES.includes(third)
  const parts = isInNamespace ? given.slice(2) : given
  const [resource = '', name = '', subresource = ''] = parts
  return { namespace, resource, name, subresource: verb === 'proxy' ? '' : subresource, parts, isInNamespace }
}

type RefinedVerb = Pick<ResourceRequest, 'verb' | 'name' | 'fieldSelector' | 'labelSelector'>

/** Without a name, a get is a list or a watch and a delete is a deletecollection. */
function refineVerb({ verb, names }: Subject, query: RequestQuery): RefinedVerb {
  const isCollection = names.name === '' && (verb === 'get' || verb === 'delete')
  if (!isCollection) return { verb, name: names.name, fieldSelector: '', labelSelector: '' }
  return {
    ...(verb === 'delete' ? ({ verb: 'deletecollection', name: '' } as const) : readOrWatch(query)),
    fieldSelector: query.first('fieldSelector') ?? '',
    labelSelector: query.first('labelSelector') ?? '',
  }
}

function readOrWatch(query: RequestQuery): Pick<ResourceRequest, 'verb' | 'name'> {
  return { verb: query.isSet('watch') ? 'watch' : 'list', name: selectedName(query) }
}

/**
 * A list or watch of `metadata.name=x` is a request for x, which lets a role for one name allow it. Only if the whole
 * query is sound: the server forgets the name when it cannot decode any of the options.
 */
function selectedName(query: RequestQuery): string {
  const fieldSelector = query.first('fieldSelector')
  if (fieldSelector === undefined) return ''
  try {
    const name = requiresExactMatch(parseFieldSelector(fieldSelector), 'metadata.name')
    if (name === undefined || !isPathSegment(name)) return ''
    for (const option of ['limit', 'timeoutSeconds']) {
      const value = query.first(option)
      if (value !== undefined && parseInt64(value) === undefined) return ''
    }
    parseLabelSelector(query.first('labelSelector') ?? '')
    return name
  } catch (error) {
    if (error instanceof ApiError) return ''
    throw error
  }
}

/** A text that can stand between two slashes and mean itself. */
export function isPathSegment(text: string): boolean {
  return text !== '.' && text !== '..' && !/[/%]/.test(text)
}

function splitTarget({ path, query }: RequestTarget): { rawPath: string; rawQuery: string } {
  if (path.length + (query?.length ?? 0) > MAX_REQUEST_TARGET_LENGTH) {
    throw badRequest(`the request target is longer than ${MAX_REQUEST_TARGET_LENGTH} characters`)
  }
  const local = path.replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?]*/, '')
  const mark = query === undefined ? local.indexOf('?') : -1
  const rawPath = mark === -1 ? local : local.slice(0, mark)
  const rawQuery = query ?? (mark === -1 ? '' : local.slice(mark + 1))
  if (/[^\x21-\x7e]/.test(rawPath + rawQuery)) {
    throw badRequest('the request target contains characters that must be percent-encoded')
  }
  if (hasBrokenEscape(rawPath)) throw badRequest('the request path contains a % that is not followed by two hex digits')
  return { rawPath, rawQuery }
}

/** Slashes at both ends do not count; one slash too many in between makes an empty part. */
function splitPath(path: string): string[] {
  const parts = path.split('/')
  const first = parts.findIndex((part) => part !== '')
  return first === -1 ? [] : parts.slice(first, parts.findLastIndex((part) => part !== '') + 1)
}

const longRunningVerbs: readonly string[] = ['watch', 'proxy']
const longRunningSubresources: readonly string[] = ['attach', 'exec', 'proxy', 'log', 'portforward']

/** Requests without a deadline: they end when one of the two sides wants to. */
export function isLongRunning(info: RequestInfo): boolean {
  if (longRunningVerbs.includes(info.verb)) return true
  return info.kind === 'resource'
    ? longRunningSubresources.includes(info.subresource)
    : info.path.startsWith('/debug/pprof/')
}
