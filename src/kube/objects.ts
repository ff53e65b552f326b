/**
 * The few Kubernetes types that the program itself touches. Objects of every other kind travel as `KubeObject`: open,
 * with unknown fields kept.
 */
export interface TypeMeta {
  apiVersion?: string
  kind?: string
}

export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

export interface ObjectMeta {
  name?: string
  generateName?: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
  finalizers?: string[]
  managedFields?: unknown[]
}

export interface ListMeta {
  resourceVersion?: string
  continue?: string
  remainingItemCount?: number
}

/** What can be told apart and followed through its versions, whatever else it holds. */
export interface Versioned {
  readonly metadata?: ObjectMeta
}

export interface KubeObject extends TypeMeta {
  metadata?: ObjectMeta
  [field: string]: unknown
}

export interface KubeList<T extends Versioned = KubeObject> extends TypeMeta {
  metadata: ListMeta
  items: T[]
}

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'

export interface WatchEvent<T = KubeObject> {
  type: WatchEventType
  object: T
}
