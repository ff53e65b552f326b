/**
 * Commits one change of one object, together with the entries that its allocator wants written. If another server was
 * faster with what was allocated here, the allocator chooses again; if somebody was faster with the object, the writer is
 * told, and decides anew.
 */
import type { KubeObject } from '../../../kube/objects.ts'
import { serviceUnavailable } from '../../../kube/status/availability-errors.ts'
import { storedValue } from '../../objects/item.ts'
import type { Write } from '../../storage/store.ts'
import type { Allocator } from './allocator.ts'
import type { WriteRequest } from './write-request.ts'
import type { Writer } from './writer.ts'

/** Each round is lost only to another server that took the very same; so many in a row mean that something is wrong. */
export const MAX_ALLOCATION_TRIES = 16

export interface IntendedChange {
  readonly key: string
  /** The change happens only if the key still has this revision; 0 for none. */
  readonly ifRevision: number
  /** Absent for a delete. The allocator may change it until it is committed. */
  readonly after: KubeObject | undefined
  /** What the store keeps of `after`, for whoever has printed it already. */
  readonly printed?: Buffer | undefined
}

/** The revision of the change; undefined when the object is not what it was. */
export async function commitChange(
  writer: Writer,
  change: IntendedChange,
  request: WriteRequest,
): Promise<number | undefined> {
  const allocator = writer.allocatorOf(request.resource)
  if (allocator !== undefined) return await commitAllocated(writer, allocator, change, request)
  const { key, ifRevision, after, printed } = change
  const conditions = [{ key, modRevision: ifRevision }]
  const result = await writer.commit({ conditions, writes: [writeOf(key, after, printed)] }, request)
  return result.committed ? result.revision : undefined
}

async function commitAllocated(
  writer: Writer,
  allocator: Allocator,
  { key, ifRevision, after }: IntendedChange,
  request: WriteRequest,
): Promise<number | undefined> {
  const before = storedAt(writer, key, ifRevision, request)
  for (let attempt = 1; attempt <= MAX_ALLOCATION_TRIES; attempt++) {
    const plan = allocator.plan({ key, before, after }, writer.timestamp())
    const conditions = [{ key, modRevision: ifRevision }, ...plan.conditions]
    // Printed anew each time: the allocator may have changed the object.
    const result = await writer.commit({ conditions, writes: [writeOf(key, after), ...plan.writes] }, request)
    if (result.committed) return result.revision
    const isObjectUnchanged = (result.found[0]?.modRevision ?? 0) === ifRevision
    if (isObjectUnchanged) continue
    if (after !== undefined) allocator.release(key, after)
    return undefined
  }
  throw contended(allocator, key, request)
}

function writeOf(key: string, after: KubeObject | undefined, printed?: Buffer): Write {
  return after === undefined ? { type: 'delete', key } : { type: 'put', key, value: printed ?? storedValue(after) }
}

/** The object at the revision that the change is for. If it is already another one, the change will not come to be. */
function storedAt(writer: Writer, key: string, revision: number, { resource }: WriteRequest): KubeObject | undefined {
  const item = writer.parts.cache.collection(resource.keyPrefix).get(key)
  return item?.revision === revision ? item.object() : undefined
}

function contended({ gives }: Allocator, key: string, { resource }: WriteRequest): Error {
  const who = `${resource.kind} ${JSON.stringify(key.slice(resource.keyPrefix.length))}`
  return serviceUnavailable(`${who}: other servers took its ${gives} ${MAX_ALLOCATION_TRIES} times; try again`, 1)
}
