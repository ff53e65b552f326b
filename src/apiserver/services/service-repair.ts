/**
 * Puts locks on what stored Services have where there are none, because they come from an older version or because
 * somebody deleted an IPAddress; and takes locks away whose Service does not have, or no longer has, what they lock.
 */
import type { Logger } from '../../telemetry/logger.ts'
import { type Controller, placeOf } from '../controllers/controller.ts'
import type { ObjectCache } from '../core/object-cache.ts'
import type { Item } from '../objects/item.ts'
import { recordPrefix } from '../storage/private-records.ts'
import type { Store } from '../storage/store.ts'
import { claimsOf, type ServiceClaim } from './service-claims.ts'
import { claimOfLock, IP_ADDRESSES, ownerOfLock, type ServiceLocks } from './service-locks.ts'
import { SERVICES } from './service-request.ts'

export interface ServiceRepairOptions {
  readonly store: Store
  readonly cache: ObjectCache
  readonly locks: ServiceLocks
  readonly logger: Logger
  /** Now, as objects write it. */
  readonly timestamp: () => string
}

/** A key is a Service, `namespace/name`, or a lock, by its key in the store, which has more slashes. */
export function serviceRepairController(options: ServiceRepairOptions): Controller {
  const keyOfLock = (item: Item): string[] => {
    const owner = ownerOfLock(item)
    // The owner too: whoever deletes a lock leaves a Service without one.
    return owner === undefined ? [] : [item.key, owner]
  }
  return {
    name: 'service-locks',
    sources: [
      {
        resource: SERVICES,
        keysOf(item) {
          const { namespace, name } = placeOf(item)
          return [`${namespace}/${name}`]
        },
      },
      { resource: IP_ADDRESSES, keysOf: keyOfLock },
      { resource: { keyPrefix: recordPrefix('node-ports') }, keysOf: keyOfLock },
    ],
    async reconcile(key) {
      if (key.split('/').length === 2) await lockAgain(options, key)
      else await unlockOrphan(options, key)
      return undefined
    },
  }
}

async function lockAgain({ store, cache, locks, logger, timestamp }: ServiceRepairOptions, owner: string) {
  const key = `${SERVICES.keyPrefix}${owner}`
  const service = cache.collection(SERVICES.keyPrefix).get(key)
  if (service === undefined) return
  const { conditions, writes, taken } = locks.plan(owner, [], claimsOf(service.object()), timestamp())
  if (taken.length > 0) {
    const what = taken.map((claim) => (claim.type === 'address' ? claim.address : claim.port))
    logger.error({ service: owner, taken: what }, 'the Service has what belongs to another one; make it anew')
  }
  // If somebody was faster there will be a change to look at.
  const stillThere = { key, modRevision: service.revision }
  if (writes.length > 0) await store.commit({ conditions: [stillThere, ...conditions], writes })
}

/** On the condition that the Service is still what it was: one that is being written with this lock keeps it. */
async function unlockOrphan({ store, cache }: ServiceRepairOptions, key: string): Promise<void> {
  const prefix = key.slice(0, key.lastIndexOf('/') + 1)
  const lock = cache.collection(prefix).get(key)
  const owner = lock === undefined ? undefined : ownerOfLock(lock)
  if (lock === undefined || owner === undefined) return
  const serviceKey = `${SERVICES.keyPrefix}${owner}`
  const service = cache.collection(SERVICES.keyPrefix).get(serviceKey)
  if (claimsOf(service?.object()).some((claim) => sameClaim(claim, claimOfLock(lock)))) return
  await store.commit({
    conditions: [
      { key, modRevision: lock.revision },
      { key: serviceKey, modRevision: service?.revision ?? 0 },
    ],
    writes: [{ type: 'delete', key }],
  })
}

function sameClaim(one: ServiceClaim, other: ServiceClaim): boolean {
  return one.type === 'address'
    ? other.type === 'address' && one.address === other.address
    : other.type === 'port' && one.port === other.port
}
