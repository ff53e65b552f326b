/**
 * How a request continues what its client already has: a list gives it everything, and so does a watch with initial
 * events; any other watch resumes from what it was given before.
 */
import { hash } from 'node:crypto'
import type { ResourceRequest } from '../../kube/request-info.ts'
import { firstValue, isSet, parseQuery, type Query } from '../../kube/request-info-query.ts'
import { ApiError } from '../../kube/status/status.ts'
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
  const options = readQuery(query)
  if (options === undefined || info.verb === 'get') return { kind: 'apart', key: '' }
  const selectors = [firstValue(options, 'labelSelector') ?? '', firstValue(options, 'fieldSelector') ?? '']
  const { apiGroup, apiVersion, resource, namespace, name } = info
  const parts = [caller, component, apiGroup, apiVersion, resource, namespace, name, ...selectors]
  return { kind: kindOf(info, options), key: hash('sha256', JSON.stringify(parts)) }
}

function kindOf({ verb }: ResourceRequest, options: Query): ReadingKind {
  if (verb === 'list') return (firstValue(options, 'continue') ?? '') === '' ? 'whole' : 'page'
  if (isSet(options, 'sendInitialEvents')) return 'whole'
  const resourceVersion = firstValue(options, 'resourceVersion') ?? ''
  if (resourceVersion !== '' && resourceVersion !== '0') return 'resumed'
  // Without a version an API server sends what there is first, unless it is told not to.
  return options.has('sendInitialEvents') ? 'apart' : 'whole'
}

/** undefined for a query that cannot be read: what it is worth the API server says. */
function readQuery(query: string): Query | undefined {
  try {
    return parseQuery(query)
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}
