/**
 * Objects that several hubs write at once. Nobody holds a lock: who creates first or replaces the version it has read wins,
 * and everybody else looks at the winner's and thinks again.
 */

import type { ResourceClient } from '../../kube/client/resource-client.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { presentFields } from '../../kube/present-fields.ts'
import { isAlreadyExists, isConflict, isNotFound } from '../../kube/status/predicates.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'

/** In each round at least one writer gets through, so this is also how many may write one object at the same instant. */
export const MAX_WRITE_ROUNDS = 32
/** The longest wait between two rounds doubles up to this; writers that lost together do not return together. */
const MAX_ROUND_WAIT_MS = 250
const firstRoundWaitMs = 4

/** The object, or `undefined` if there is none. */
export async function getIfPresent<T extends KubeObject>(
  objects: ResourceClient<T>,
  name: string,
): Promise<T | undefined> {
  try {
    return await objects.get(name)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** The object of that name; if there is none, the one that `make` makes, or that of whoever was faster. */
export async function createIfAbsent<T extends KubeObject>(
  objects: ResourceClient<T>,
  name: string,
  make: () => Promise<T>,
): Promise<T> {
  const present = await getIfPresent(objects, name)
  if (present !== undefined) return present
  const made = await make()
  try {
    return await objects.create(made)
  } catch (error) {
    if (isAlreadyExists(error)) return await objects.get(name)
    throw error
  }
}

export interface SharedWriting {
  readonly clock: Clock
  readonly random: Random
}

/**
 * Brings an object from the state it is in to the one that `change` wants; `undefined` leaves it as it is. `change` is asked
 * again with a fresh state after every lost race, so it must decide by that state alone.
 */
export async function changeShared<T extends KubeObject>(
  objects: ResourceClient<T>,
  name: string,
  change: (present: T | undefined) => Promise<T | undefined> | T | undefined,
  { clock, random }: SharedWriting,
): Promise<T | undefined> {
  for (let round = 1; ; round++) {
    const present = await getIfPresent(objects, name)
    const wanted = await change(present)
    if (wanted === undefined) return present
    try {
      if (present === undefined) return await objects.create(wanted)
      return await objects.update(withIdentity(wanted, present))
    } catch (error) {
      if (!isLostRace(error, present !== undefined) || round === MAX_WRITE_ROUNDS) throw error
    }
    await clock.sleep(random.fraction() * Math.min(MAX_ROUND_WAIT_MS, firstRoundWaitMs * 2 ** round))
  }
}

/**
 * The same for an object that is probably not there: one request where that is right. What the guess would refuse, and what
 * somebody else has created, is decided by the object as it is.
 */
export async function createOrChange<T extends KubeObject>(
  objects: ResourceClient<T>,
  name: string,
  change: (present: T | undefined) => T | undefined,
  writing: SharedWriting,
): Promise<T | undefined> {
  const guess = ifAllowed(() => change(undefined))
  try {
    if (guess !== undefined) return await objects.create(guess)
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
  }
  return await changeShared(objects, name, change, writing)
}

function ifAllowed<T>(decide: () => T): T | undefined {
  try {
    return decide()
  } catch {
    return undefined
  }
}

/** Replaces exactly the version that was read, and no later object of the same name either. */
function withIdentity<T extends KubeObject>(wanted: T, { metadata }: T): T {
  const { uid, resourceVersion } = metadata ?? {}
  return {
    ...wanted,
    metadata: presentFields({
      ...wanted.metadata,
      uid,
      resourceVersion,
    }),
  }
}

/** A 404 answers an update of what was deleted meanwhile; for a create it means that the namespace is missing. */
function isLostRace(error: unknown, isUpdate: boolean): boolean {
  return isAlreadyExists(error) || isConflict(error) || (isUpdate && isNotFound(error))
}

/** Removes exactly the version that was read. False if somebody changed or removed it first. */
export async function removeUnchanged<T extends KubeObject>(
  objects: ResourceClient<T>,
  { metadata }: T,
): Promise<boolean> {
  const { name = '', uid, resourceVersion } = metadata ?? {}
  const preconditions = presentFields({ uid, resourceVersion })
  try {
    await objects.delete(name, { preconditions })
    return true
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return false
    throw error
  }
}
