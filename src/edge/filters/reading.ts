/**
 * How a request continues what its client already has: a list gives it everything, and so does a watch with initial
 * events; any other watch resumes from what it was given before.
 */
import { hash } from 'node:crypto'
import type { ResourceRequest } from '../../kube/request-info.ts'
import type { RequestQuery } from '../../kube/request-query.ts'
import type { Component } from './filter.ts'
import type { FilterRequest } from './filter-plan.ts'

/**
 * - `whole`: everything is given, or the first page of it.
 * - `page`: one more page of a list.
 * - `resumed`: a watch from where the client left off.
 * - `apart`: nothing is said about what the client has.
 */
type ReadingKind = 'whole' | 'page' | 'resumed' | 'apart'

export interface Reading {
  readonly kind: ReadingKind
  /** Who reads what; a hash, because selectors are as long as their client likes. */
  readonly key: string
}

/** Selectors are compared as texts: clients list and watch with the same ones. */
export function readingOf({ caller, query }: FilterRequest, info: ResourceRequest, component: Component): Reading {
  if (!query.isText || info.verb === 'get') return { kind: 'apart', key: '' }
  const selectors = [query.first('labelSelector') ?? '', query.first('fieldSelector') ?? '']
  const { apiGroup, apiVersion, resource, namespace, name } = info
  const parts = [caller, component, apiGroup, apiVersion, resource, namespace, name, ...selectors]
  return { kind: kindOf(info, query), key: hash('sha256', JSON.stringify(parts)) }
}

function kindOf({ verb }: ResourceRequest, query: RequestQuery): ReadingKind {
  if (verb === 'list') return (query.first('continue') ?? '') === '' ? 'whole' : 'page'
  if (query.isSet('sendInitialEvents')) return 'whole'
  const resourceVersion = query.first('resourceVersion') ?? ''
  if (resourceVersion !== '' && resourceVersion !== '0') return 'resumed'
  // Without a version an API server sends what there is first, unless it is told not to.
  return query.has('sendInitialEvents') ? 'apart' : 'whole'
}
