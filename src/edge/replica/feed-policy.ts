/** Which collections an edge keeps, and which of them all readers share. */
import type { ResourceRequest } from '../../kube/request-info.ts'
import { findResource } from '../../kube/schema/catalogue.ts'

export interface FeedPolicy {
  /** Whether the replica has anything to do with it at all. */
  keeps(info: ResourceRequest): boolean
  /** Whether all who may read it see the same: so it is with what the API server itself serves. */
  isShared(info: ResourceRequest): boolean
}

/** Many, short-lived, and of no use to programs of a node that is cut off. */
const NEVER_KEPT: ReadonlySet<string> = new Set(['events'])

export const USUAL_FEED_POLICY: FeedPolicy = {
  keeps: ({ resource }) => !NEVER_KEPT.has(resource),
  isShared: ({ apiGroup, apiVersion, resource }) => findResource(apiGroup, apiVersion, resource) !== undefined,
}
