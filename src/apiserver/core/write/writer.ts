/**
 * Writes to the store on behalf of requests: what all writes share. A write is prepared, judged, committed under the
 * condition that nobody was faster, and visible in memory before it is answered.
 */

import { formatTime } from '../../../kube/codec/time.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { insufficientStorage, serviceUnavailable } from '../../../kube/status/availability-errors.ts'
import { requestEntityTooLarge } from '../../../kube/status/request-errors.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { KindStrategy, WriteContext } from '../../kinds/strategy.ts'
import { inOrder } from '../../objects/decode-body.ts'
import { Item, storedValue } from '../../objects/item.ts'
import type { Resource } from '../../objects/resource.ts'
import type { Store, Transaction, TransactionResult } from '../../storage/store.ts'
import { StoreFullError, StoreTooLargeError, StoreUnavailableError } from '../../storage/store-errors.ts'
import type { Admission, AdmissionRequest } from '../admission.ts'
import type { ObjectCache } from '../object-cache.ts'
import type { Allocator } from './allocator.ts'
import { commitChange } from './commit-change.ts'
import type { Maker } from './maker.ts'
import type { WriteRequest } from './write-request.ts'

export interface WriterParts {
  readonly store: Store
  readonly cache: ObjectCache
  readonly clock: Clock
  readonly admission: Admission
  readonly maker: Maker
  /** At most one for a resource, for those whose objects have what no two may have. */
  readonly allocators: readonly Allocator[]
  strategyOf(resource: Resource): KindStrategy
}

export class Writer {
  readonly parts: WriterParts

  constructor(parts: WriterParts) {
    this.parts = parts
  }

  allocatorOf({ keyPrefix }: Resource): Allocator | undefined {
    return this.parts.allocators.find(({ resource }) => resource.keyPrefix === keyPrefix)
  }

  /** The present item, at least as new as every write that was answered before. */
  async current(key: string, request: WriteRequest): Promise<Item | undefined> {
    const { cache, store } = this.parts
    await cache.waitFor(await store.revision(), request.signal)
    return cache.collection(request.resource.keyPrefix).get(key)
  }

  /**
   * Puts the object under its key if the key still has this revision; undefined when somebody was faster. `printed` is
   * what the store keeps of it, for whoever has printed it already.
   */
  async put(
    key: string,
    object: KubeObject,
    ifRevision: number,
    request: WriteRequest,
    printed?: Buffer,
  ): Promise<Item | undefined> {
    if (request.dryRun) {
      const value = printed ?? storedValue(object)
      return Item.fromEntry({ key, value, createRevision: ifRevision, modRevision: ifRevision })
    }
    const revision = await commitChange(this, { key, ifRevision, after: object, printed }, request)
    if (revision === undefined) return undefined
    const present = this.parts.cache.collection(request.resource.keyPrefix).get(key)
    // By now somebody else may have written again; the answer is what this request wrote.
    if (present?.revision === revision) return present
    const value = storedValue(object)
    return Item.fromEntry({ key, value, createRevision: revision, modRevision: revision })
  }

  /** True when it is gone; false when somebody was faster. */
  async remove(key: string, ifRevision: number, request: WriteRequest): Promise<boolean> {
    if (request.dryRun) return true
    return (await commitChange(this, { key, ifRevision, after: undefined }, request)) !== undefined
  }

  /** Resolves when the store has decided and the cache shows it; throws what a client may be told of a store in trouble. */
  async commit(transaction: Transaction, { signal }: WriteRequest): Promise<TransactionResult> {
    try {
      const result = await this.parts.store.commit(transaction)
      await this.parts.cache.waitFor(result.revision, signal)
      return result
    } catch (error) {
      if (error instanceof StoreTooLargeError)
        throw Object.assign(requestEntityTooLarge(`the object could not be stored: ${error.message}`), { cause: error })
      if (error instanceof StoreFullError)
        throw Object.assign(insufficientStorage(`the object could not be stored: ${error.message}`), { cause: error })
      if (error instanceof StoreUnavailableError)
        throw serviceUnavailable(`the store is unavailable: ${error.message}`, 1)
      throw error
    }
  }

  /** The object as its type prints it. Strategies and admission leave new fields wherever they put them. */
  inOrder(object: KubeObject, { resource }: WriteRequest): KubeObject {
    return inOrder(object, resource.stored)
  }

  writeContext({ user, subresource }: WriteRequest): WriteContext {
    return { nowMs: this.parts.clock.nowMs(), user, subresource }
  }

  admissionRequest(
    request: WriteRequest,
    operation: AdmissionRequest['operation'],
    object: KubeObject | undefined,
    old: KubeObject | undefined,
  ): AdmissionRequest {
    const { resource, subresource, namespace, user, dryRun, warnings } = request
    const name = object?.metadata?.name ?? old?.metadata?.name ?? request.name
    const warn = (text: string): void => void warnings.add(text)
    return { operation, resource, subresource, namespace, name, user, dryRun, object, old, warn }
  }

  /** Now, as objects write it. */
  timestamp(): string {
    return formatTime(Math.floor(this.parts.clock.nowMs() / 1000)) ?? ''
  }
}
