/** Which collections an edge keeps, for whom, and which of them all readers share. */
import type { ResourceRequest } from '../../kube/request-info.ts'
import { findResource } from '../../kube/schema/catalogue.ts'
import { type FeedPattern, matches, type NamedCollection } from './feed-patterns.ts'

export interface FeedPolicy {
  /** Nothing at all is kept: every request goes up. */
  readonly isOff: boolean
  /** Whether the replica has anything to do with what this reader reads. */
  keeps(collection: NamedCollection, isOfNode: boolean): boolean
  /** Whether all who may read it see the same: so it is with what the API server itself serves, as far as that is known. */
  isShared(info: Pick<ResourceRequest, 'apiGroup' | 'apiVersion' | 'resource'>): boolean
}

/** `all`: whatever anybody reads. `node`: what the node's own programs read, kubelet and kube-proxy. `off`: nothing. */
export const FEED_MODES = ['all', 'node', 'off'] as const
export type FeedMode = (typeof FEED_MODES)[number]

export interface FeedChoice {
  readonly mode: FeedMode
  /** Kept in any case, for everybody. */
  readonly include: readonly FeedPattern[]
  /** Not kept, unless included. */
  readonly exclude: readonly FeedPattern[]
}

/** Many, short-lived, and of no use to programs of a node that is cut off. */
const usuallyExcluded: readonly FeedPattern[] = [{ resource: 'events', group: undefined, namespace: undefined }]

export function feedPolicy({ mode, include, exclude }: FeedChoice): FeedPolicy {
  const excluded = [...usuallyExcluded, ...exclude]
  return {
    isOff: mode === 'off' && include.length === 0,
    keeps: (collection, isOfNode) => {
      if (include.some((pattern) => matches(pattern, collection))) return true
      if (excluded.some((pattern) => matches(pattern, collection))) return false
      return mode === 'all' || (mode === 'node' && isOfNode)
    },
    isShared: ({ apiGroup, apiVersion, resource }) => findResource(apiGroup, apiVersion, resource) !== undefined,
  }
}

/** The same, where all readers also share what the API server is known to serve itself: custom resources. */
export function sharingLocal(policy: FeedPolicy, isLocal: FeedPolicy['isShared']): FeedPolicy {
  return { ...policy, isShared: (info) => policy.isShared(info) || isLocal(info) }
}

export const USUAL_FEED_POLICY: FeedPolicy = feedPolicy({ mode: 'all', include: [], exclude: [] })
