/**
 * One filter: which objects it looks at, for whom, and what it decides about each. A decision is pure and speaks of
 * fields, never of bytes: JSON and protobuf, gets, lists and watches all share it.
 */
import { isDeepStrictEqual } from 'node:util'
import type { DocumentType, FieldEdit, FieldPath, ObjectIdentity } from '../../kube/walker/walker.ts'
import type { LocalPod } from '../local-pods/local-pod.ts'

/** Where clients on this node reach the API server: an IP address in its canonical form, without brackets. */
export interface FilterEndpoint {
  readonly address: string
  readonly port: number
}

/** What the kubelet has said of the pods of this node that the API server could not be told. Changes under a running watch. */
export interface LocalPodsView {
  readonly node: string
  readonly size: number
  /** Another one after each change; empty while there never was a pod. */
  readonly revision: string
  of(uid: string): LocalPod | undefined
  /** Whether a Service wants its pods to be found before they are ready; undefined where the Service is not known. */
  publishesNotReady(namespace: string, service: string): boolean | undefined
}

export const NO_LOCAL_PODS: LocalPodsView = {
  node: '',
  size: 0,
  revision: '',
  of: () => undefined,
  publishesNotReady: () => undefined,
}

/** An object as the API server sent it. Every filter sees that, whatever those before it decided. */
export interface ObjectView {
  readonly identity: ObjectIdentity
  read(path: FieldPath): unknown
}

/**
 * Edits are carried out in order. A dropped object is not in lists, is not found by a get and is DELETED in a watch,
 * whatever happens to it.
 */
export type Decision = 'keep' | 'drop' | readonly FieldEdit[]

/** The programs that filters are meant for; others are named by the part of their User-Agent before the slash. */
export type Component = string

/** Filters look at what is read, never at what is written. */
export type FilteredVerb = 'get' | 'list' | 'watch'

export interface FilteredResource extends DocumentType {
  /** As in paths, in the plural. */
  readonly resource: string
}

export interface ObjectFilter {
  /** Lower case, as in `--disabled-resource-filters`. */
  readonly name: string
  readonly resources: readonly FilteredResource[]
  readonly verbs: readonly FilteredVerb[]
  readonly components: readonly Component[] | 'all'
  /** Its decisions depend on the pods of this node, and not on the endpoint; without such pods it keeps everything. */
  readonly showsLocalPods?: true
  /** `endpoint` is undefined while there is none: a filter that writes its address keeps everything then. */
  decide(object: ObjectView, endpoint: FilterEndpoint | undefined, localPods: LocalPodsView): Decision
}

export const READ_VERBS: readonly FilteredVerb[] = ['get', 'list', 'watch']

/** Writes a value over one that is there and differs; what is absent, null or an empty text stays so. */
export function overwrite(path: FieldPath, wanted: string | number | readonly string[]): FieldEdit {
  return {
    path,
    replace: (value) => {
      const isThere = value !== undefined && value !== null && value !== ''
      return isThere && !isDeepStrictEqual(value, wanted) ? wanted : value
    },
  }
}
