/**
 * What a request asks to read, as far as the replica can have it: one object, a collection, or changes of one. Everything else
 * is none of its business: writes, subresources, requests in another's name, selectors that are too long to be kept, and what an
 * API server would refuse to understand.
 */
import type { RequestHeaders } from '../../http/server/exchange.ts'
import { type CollectionOptions, readCollectionOptions } from '../../kube/collection/options.ts'
import { type NegotiatedOutput, negotiateOutput } from '../../kube/negotiation.ts'
import { BUILT_IN_COLLECTION, BUILT_IN_OBJECT, CUSTOM_RESOURCE } from '../../kube/negotiation-offers.ts'
import type { RequestInfo, ResourceRequest } from '../../kube/request-info.ts'
import type { RequestQuery } from '../../kube/request-query.ts'
import { findResource } from '../../kube/schema/catalogue.ts'
import { escapeFieldValue } from '../../kube/selectors/field.ts'
import { ApiError } from '../../kube/status/status.ts'
import {
  type CollectionScope,
  hasLongSelectors,
  MAX_KEPT_REQUIREMENTS,
  MAX_KEPT_SELECTORS_LENGTH,
  scopeFrom,
  scopeOf,
} from '../feeds/collection-scope.ts'

export interface ReadHead {
  readonly method: string
  readonly info: RequestInfo | undefined
  readonly query: RequestQuery
  readonly headers: RequestHeaders
}

/** One object of a resource that all readers see alike. */
export type NamedObject = Pick<
  ResourceRequest,
  'apiGroup' | 'apiVersion' | 'resource' | 'isInNamespace' | 'namespace' | 'name'
>

interface Read {
  readonly info: ResourceRequest
  readonly scope: CollectionScope
  readonly output: NegotiatedOutput
}

export interface ObjectRead extends Read {
  readonly kind: 'get'
  readonly name: string
}

export interface CollectionRead extends Read {
  readonly kind: 'list' | 'watch'
  readonly options: CollectionOptions
}

export type Reading = ObjectRead | CollectionRead

/** Undefined for what is not the replica's. */
export function readingOf(head: ReadHead): Reading | undefined {
  const { method, info, query, headers } = head
  if (method !== 'GET' || info?.kind !== 'resource' || info.subresource !== '' || !query.isText) return undefined
  // Before anything of it is read: nobody knows yet who asks. A name is a selector, too.
  if (info.name.length > MAX_KEPT_SELECTORS_LENGTH || hasLongSelectors(info)) return undefined
  if (info.parts.length > 2 || speaksForAnother(headers)) return undefined
  try {
    const reading = read(info, head)
    return reading !== undefined && reading.scope.requirements.size <= MAX_KEPT_REQUIREMENTS ? reading : undefined
  } catch (error) {
    // The API server says itself what is wrong with it.
    if (error instanceof ApiError) return undefined
    throw error
  }
}

function read(info: ResourceRequest, { query, headers }: ReadHead): Reading | undefined {
  const builtIn = findResource(info.apiGroup, info.apiVersion, info.resource)
  // There is no such path, as the API server says itself.
  if (builtIn?.namespaced === false && info.isInNamespace) return undefined
  const negotiate = (stream: boolean, isObject: boolean): NegotiatedOutput =>
    negotiateOutput(
      {
        accept: headers.get('accept'),
        userAgent: headers.get('user-agent'),
        pretty: query.first('pretty'),
        includeObject: query.first('includeObject'),
        stream,
      },
      builtIn === undefined ? CUSTOM_RESOURCE : isObject ? BUILT_IN_OBJECT : BUILT_IN_COLLECTION,
    )
  if (info.verb === 'get')
    return { kind: 'get', info, name: info.name, scope: scopeOfObject(info), output: negotiate(false, true) }
  if (info.verb !== 'list' && info.verb !== 'watch') return undefined
  const isWatch = info.verb === 'watch'
  const options = readCollectionOptions({ info, query }, builtIn?.kind ?? '', isWatch)
  return { kind: info.verb, info, scope: scopeOf(info), options, output: negotiate(isWatch, false) }
}

const writingVerbs: ReadonlySet<string> = new Set(['create', 'update', 'patch'])

/** What a request writes whole and for good; undefined for what reads, deletes, tries, or means a part. */
export function writingOf({ info, query, headers }: ReadHead): ResourceRequest | undefined {
  if (info?.kind !== 'resource' || !writingVerbs.has(info.verb) || info.subresource !== '') return undefined
  const isTried = query.first('dryRun') !== undefined
  return isTried || info.parts.length > 2 || speaksForAnother(headers) ? undefined : info
}

/** The collection of this one object: what a list with its name would give. */
export function scopeOfObject(info: NamedObject): CollectionScope {
  const fieldSelector = `metadata.name=${escapeFieldValue(info.name)}`
  const namespace = info.isInNamespace ? info.namespace : ''
  return scopeFrom({ ...info, namespace, labelSelector: '', fieldSelector, owner: '' })
}

/** Whether it asks to be taken for somebody else than whoever sends it. */
export function speaksForAnother(headers: RequestHeaders): boolean {
  for (const name of headers.names()) if (name.startsWith('impersonate-')) return true
  return false
}
