/**
 * Writes Services together with the locks on what they have; everything else as it comes. Admission has chosen addresses
 * and ports by what this server knows. If another server was faster, what was chosen here is chosen again, and what the
 * client asked for by name is refused.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { serviceUnavailable } from '../../kube/status/availability-errors.ts'
import { Item, storedValue } from '../core/item.ts'
import type { WriteRequest } from '../core/write/write-request.ts'
import { Writer, type WriterParts } from '../core/write/writer.ts'
import type { Write } from '../storage/store.ts'
import type { ServiceAllocator } from './service-allocator.ts'
import { claimsOf, type ServiceClaim } from './service-claims.ts'
import { ServiceLocks } from './service-locks.ts'
import { SERVICES } from './service-request.ts'

/** Each round is lost only to another server that took the very same; so many in a row mean that something is wrong. */
const MAX_LOCK_TRIES = 16

export class ServiceWriter extends Writer {
  readonly #allocator: ServiceAllocator
  readonly #locks: ServiceLocks

  constructor(parts: WriterParts, allocator: ServiceAllocator) {
    super(parts)
    this.#allocator = allocator
    this.#locks = new ServiceLocks(parts.cache)
  }

  override async put(
    key: string,
    object: KubeObject,
    ifRevision: number,
    request: WriteRequest,
    printed?: Buffer,
  ): Promise<Item | undefined> {
    if (request.dryRun || !isService(key)) return await super.put(key, object, ifRevision, request, printed)
    const before = this.#claimsAt(key, ifRevision)
    for (let attempt = 1; attempt <= MAX_LOCK_TRIES; attempt++) {
      const value = storedValue(object)
      const outcome = await this.#try({ type: 'put', key, value }, ifRevision, before, claimsOf(object), request)
      if (typeof outcome === 'number')
        return Item.fromEntry({ key, value, createRevision: outcome, modRevision: outcome })
      if (outcome === 'late') {
        this.#allocator.release(ownerOf(key), claimsOf(object))
        return undefined
      }
      for (const claim of outcome) this.#allocator.replace(object, ownerOf(key), claim)
    }
    throw contended(key)
  }

  override async remove(key: string, ifRevision: number, request: WriteRequest): Promise<boolean> {
    if (request.dryRun || !isService(key)) return await super.remove(key, ifRevision, request)
    const before = this.#claimsAt(key, ifRevision)
    for (let attempt = 1; attempt <= MAX_LOCK_TRIES; attempt++) {
      const outcome = await this.#try({ type: 'delete', key }, ifRevision, before, [], request)
      if (typeof outcome === 'number') return true
      if (outcome === 'late') return false
    }
    throw contended(key)
  }

  /** The revision when it is done; `late` when the Service has changed; or what others took away, maybe nothing. */
  async #try(
    write: Write,
    ifRevision: number,
    before: readonly ServiceClaim[],
    after: readonly ServiceClaim[],
    request: WriteRequest,
  ): Promise<number | 'late' | readonly ServiceClaim[]> {
    const plan = this.#locks.plan(ownerOf(write.key), before, after, this.timestamp())
    if (plan.taken.length > 0) return plan.taken
    const condition = { key: write.key, modRevision: ifRevision }
    const transaction = { conditions: [condition, ...plan.conditions], writes: [write, ...plan.writes] }
    const result = await this.commit(transaction, request)
    if (result.committed) return result.revision
    return (result.found[0]?.modRevision ?? 0) === ifRevision ? [] : 'late'
  }

  /** What the Service has at this revision. If it is already another one, the transaction will not come to be. */
  #claimsAt(key: string, revision: number): ServiceClaim[] {
    const item = this.parts.cache.collection(SERVICES.keyPrefix).get(key)
    return item?.revision === revision ? claimsOf(item.object()) : []
  }
}

function isService(key: string): boolean {
  return key.startsWith(SERVICES.keyPrefix)
}

function ownerOf(key: string): string {
  return key.slice(SERVICES.keyPrefix.length)
}

function contended(key: string): Error {
  const who = `Service ${JSON.stringify(ownerOf(key))}`
  return serviceUnavailable(`${who}: other servers took its addresses or ports ${MAX_LOCK_TRIES} times; try again`, 1)
}
