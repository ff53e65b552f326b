/** What the verbs can be told, in the API server's own words, and how a call is made. */
import type { KubeObject } from '../objects.ts'
import type { Resource } from './kinds.ts'
import { apiVersionOf } from './kinds.ts'
import { type PathParts, type QueryValue, queryString, resourcePath } from './paths.ts'
import type { TransportRequest } from './transport.ts'

/** How a call is made, as opposed to what it asks. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** How often to wait and repeat when the server asks for it; see retry.ts. */
  readonly maxRetries?: number
  /** Another representation than the client's own, such as `application/json;as=Table;g=meta.k8s.io;v=v1`. */
  readonly accept?: string
}

export interface GetQuery {
  readonly resourceVersion?: string
}

export interface ListQuery {
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly resourceVersion?: string
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan'
  readonly limit?: number
  readonly continue?: string
  readonly timeoutSeconds?: number
}

export interface WatchQuery extends Omit<ListQuery, 'limit' | 'continue'> {
  readonly allowWatchBookmarks?: boolean
  readonly sendInitialEvents?: boolean
}

export interface WriteQuery {
  readonly dryRun?: 'All'
  readonly fieldManager?: string
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict'
}

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground'
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
  readonly dryRun?: readonly 'All'[]
}

export interface ClientRequest extends TransportRequest {
  /** How often `fetch` waits and repeats when the server asks for it. */
  readonly maxRetries?: number | undefined
  /** For the wording of errors: which resource and object the request is about. */
  readonly about?: { readonly resource?: { group: string; resource: string }; readonly name?: string | undefined }
}

export function resourceRequest(
  method: string,
  resource: Resource,
  parts: PathParts,
  query: object,
  { signal, maxRetries, accept }: CallOptions,
): ClientRequest {
  return {
    method,
    path: resourcePath(resource, parts) + queryString(query as Readonly<Record<string, QueryValue>>),
    about: {
      resource: { group: resource.group, resource: resource.resource },
      name: parts.name,
    },
    headers: accept === undefined ? undefined : [['accept', accept]],
    signal,
    maxRetries,
  }
}

/** Adds `apiVersion` and `kind` where the caller left them away. */
export function withKind(object: KubeObject, { kind, ...resource }: Pick<Resource, 'group' | 'version' | 'kind'>) {
  if (object.kind !== undefined || kind === undefined) return object
  return { apiVersion: apiVersionOf(resource), kind, ...object }
}
