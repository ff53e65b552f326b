/**
 * The entries in the store that keep what a Service has from all others, on this server and on others: an IPAddress for
 * each ClusterIP, as the API has it, and a private record for each node port. They are written and deleted in one
 * transaction with the Service, on the condition that nobody has them, so there is no moment at which two Services have
 * the same and none at which a lock has no owner.
 */
import { randomUUID } from 'node:crypto'
import type { KubeObject } from '../../kube/objects.ts'
import type { ObjectCache } from '../core/object-cache.ts'
import type { AllocationPlan } from '../core/write/allocator.ts'
import { struct, text } from '../kinds/fields.ts'
import { type Item, storedValue } from '../objects/item.ts'
import { builtIn, keyOf } from '../objects/resource.ts'
import { recordKey, recordPrefix, recordValue } from '../storage/private-records.ts'
import type { Condition, Write } from '../storage/store.ts'
import type { ServiceClaim } from './service-claims.ts'

export const IP_ADDRESSES = builtIn('networking.k8s.io/v1', 'ipaddresses')

const managedBy = 'ipallocator.k8s.io'
const managedByLabel = 'ipaddress.kubernetes.io/managed-by'
const familyLabel = 'ipaddress.kubernetes.io/ip-family'
const portPrefix = recordPrefix('node-ports')

/** The locks that have to be written together with a Service. */
export interface LockPlan extends AllocationPlan {
  /** What somebody else has: while there is any, the plan cannot be carried out. */
  readonly taken: readonly ServiceClaim[]
}

/** Reads the locks that are stored, and plans those that are to be written with a Service. */
export class ServiceLocks {
  readonly #cache: ObjectCache

  constructor(cache: ObjectCache) {
    this.#cache = cache
  }

  /** Whether somebody has it, or somebody other than this owner, as far as this server knows. */
  isTaken(claim: ServiceClaim, fromOwner?: string): boolean {
    const lock = this.#find(claim)
    return lock !== undefined && (fromOwner === undefined || ownerOfLock(lock) !== fromOwner)
  }

  /** Locks what the owner newly has, and also what it had and nobody locked; unlocks what it has no more. */
  plan(owner: string, before: readonly ServiceClaim[], after: readonly ServiceClaim[], now: string): LockPlan {
    const conditions: Condition[] = []
    const writes: Write[] = []
    const taken: ServiceClaim[] = []
    const had = new Set(before.map(lockKeyOf))
    for (const claim of after) {
      const key = lockKeyOf(claim)
      const lock = this.#find(claim)
      if (lock === undefined) {
        conditions.push({ key, modRevision: 0 })
        writes.push({ type: 'put', key, value: lockValue(claim, owner, now) })
        // What it had before stays with it: an update must not fail because of a lock that is wrong.
      } else if (ownerOfLock(lock) !== owner && !had.has(key)) taken.push(claim)
    }
    const has = new Set(after.map(lockKeyOf))
    for (const claim of before) {
      const key = lockKeyOf(claim)
      const lock = this.#find(claim)
      if (has.has(key) || lock === undefined || ownerOfLock(lock) !== owner) continue
      conditions.push({ key, modRevision: lock.revision })
      writes.push({ type: 'delete', key })
    }
    return { conditions, writes, taken }
  }

  #find(claim: ServiceClaim): Item | undefined {
    const prefix = claim.type === 'address' ? IP_ADDRESSES.keyPrefix : portPrefix
    return this.#cache.collection(prefix).get(lockKeyOf(claim))
  }
}

/** `namespace/name` of the Service that a lock is for; undefined when it is not one of ours. */
export function ownerOfLock(lock: Item): string | undefined {
  const object = lock.object()
  if (lock.key.startsWith(portPrefix)) return text(object, 'service')
  if (object.metadata?.labels?.[managedByLabel] !== managedBy) return undefined
  const parent = struct(struct(object, 'spec'), 'parentRef')
  return `${text(parent, 'namespace')}/${text(parent, 'name')}`
}

function lockKeyOf(claim: ServiceClaim): string {
  return claim.type === 'address' ? keyOf(IP_ADDRESSES, '', claim.address) : recordKey('node-ports', String(claim.port))
}

/** What a lock is for, from its key. */
export function claimOfLock({ key }: Item): ServiceClaim {
  const name = key.slice(key.lastIndexOf('/') + 1)
  return key.startsWith(portPrefix) ? { type: 'port', port: Number(name) } : { type: 'address', address: name }
}

function lockValue(claim: ServiceClaim, owner: string, now: string): Buffer {
  return claim.type === 'port'
    ? recordValue(String(claim.port), { service: owner })
    : storedValue(ipAddress(claim.address, owner, now))
}

/** As `conform` would leave it, fields in order; made by hand because every Service pays for it. */
function ipAddress(address: string, owner: string, now: string): KubeObject {
  const [namespace, name] = owner.split('/')
  const labels = { [familyLabel]: address.includes(':') ? 'IPv6' : 'IPv4', [managedByLabel]: managedBy }
  const { kind, apiVersion } = IP_ADDRESSES.stored
  return {
    kind,
    apiVersion,
    metadata: { name: address, uid: randomUUID(), creationTimestamp: now, labels },
    spec: { parentRef: { resource: 'services', namespace, name } },
  }
}
