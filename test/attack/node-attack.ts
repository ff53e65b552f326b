/** One thing that root on an edge tries, and what it needs to know for that. */
export interface Attack {
  readonly what: string
  readonly method: string
  readonly target: string
  readonly body?: object | string
  readonly type?: string
  readonly headers?: readonly (readonly [string, string])[]
  /** Things that a node may do, which make the refusals of others mean something. */
  readonly isAllowed?: boolean
}

/** What differs from server to server. */
export interface Facts {
  readonly nodeUid: string
  readonly otherNodeUid: string
  readonly podUid: string
  readonly otherPodUid: string
}

export const MERGE = 'application/merge-patch+json'
export const TEAM = '/api/v1/namespaces/team'

export function lease(name: string): object {
  return { metadata: { name }, spec: { holderIdentity: name, leaseDurationSeconds: 40 } }
}
