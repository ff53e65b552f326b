/**
 * What objects of one resource have that no two may have, such as the ClusterIP of a Service: an allocator gives it out,
 * and the writer calls it around every create, update and delete of that resource. Strategies (`kinds/`) are the pure
 * rules of one kind; an allocator knows all objects, and has entries of its own in the store.
 *
 * The order of one write: `offer`, then the strategy and validation, then `confirm`, then `plan` as often as the commit
 * is tried, then `release` if the object did not come to be stored. Nobody calls when a request is refused between
 * `offer` and the commit: what was given out has to expire by itself.
 */
import type { KubeObject } from '../../../kube/objects.ts'
import type { Resource } from '../../objects/resource.ts'
import type { Condition, Write } from '../../storage/store.ts'
import type { AdmissionRequest } from '../admission.ts'

/** One write of one object, for which the store must be as it was when the write was decided. */
export interface ObjectChange {
  readonly key: string
  /** The object that is stored under the key, as far as it is known; absent for a create. */
  readonly before: KubeObject | undefined
  /** The object to be; absent for a delete. */
  readonly after: KubeObject | undefined
}

/** What has to be committed together with an object. */
export interface AllocationPlan {
  readonly conditions: readonly Condition[]
  readonly writes: readonly Write[]
}

export interface Allocator {
  /** Whose objects it serves. */
  readonly resource: Pick<Resource, 'keyPrefix'>
  /** What it gives out, for messages: `addresses or ports`. */
  readonly gives: string
  /** Gives the object what it lacks, in place, and refuses what another one has. Everybody else has admitted it. */
  offer(request: AdmissionRequest): Promise<void> | void
  /** All checks have passed: from here on nobody may take away what was offered. Throws if somebody has. */
  confirm(request: AdmissionRequest): void
  /**
   * The entries that keep other servers on the same store away. What they took first is replaced in `after`, in place;
   * throws when the client wanted that very one.
   */
  plan(change: ObjectChange, timestamp: string): AllocationPlan
  /** The object was not stored: what was given to it is for others. */
  release(key: string, object: KubeObject): void
}
