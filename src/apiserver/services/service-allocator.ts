/**
 * ClusterIPs and node ports of Services. What stored Services have is known from their collection and their locks; what
 * requests under way want is claimed in memory, so no two of them choose the same. That keeps requests on one server
 * apart. Between servers on one store the locks decide, which are committed with the Service: whoever was too late
 * chooses again.
 */

import type { KubeObject } from '../../kube/objects.ts'
import { internalError, serviceUnavailable } from '../../kube/status/availability-errors.ts'
import { type FieldError, invalidField } from '../../kube/status/field-error.ts'
import type { Clock } from '../../runtime/clock.ts'
import { placeOf } from '../controllers/controller.ts'
import type { AdmissionRequest } from '../core/admission.ts'
import type { ObjectCache } from '../core/object-cache.ts'
import type { AllocationPlan, Allocator, ObjectChange } from '../core/write/allocator.ts'
import { isHeadless } from '../kinds/core/service-addresses.ts'
import { dropForeignFields, keepAllocations, nameClusterIps } from '../kinds/core/service-allocations.ts'
import { type Fields, struct, text, texts } from '../kinds/fields.ts'
import type { Item } from '../objects/item.ts'
import type { Store } from '../storage/store.ts'
import { AllocationTable } from './allocation-table.ts'
import type { ServiceRange } from './ip-range.ts'
import { NodePorts } from './node-ports.ts'
import { addressesOf, claimsOf, type ServiceClaim } from './service-claims.ts'
import { completeFamilies } from './service-families.ts'
import { ServiceLocks } from './service-locks.ts'
import { refuseService, SERVICES, type ServiceRequest, serviceRequestOf } from './service-request.ts'

/** The only Service that may have the first address of the range. */
const kubernetesService = 'default/kubernetes'

export interface ServiceAllocatorOptions {
  readonly cache: ObjectCache
  readonly clock: Clock
  readonly range: ServiceRange
  /** Absent when no other server uses the same store. */
  readonly store?: Store | undefined
}

export class ServiceAllocator implements Allocator {
  readonly resource = SERVICES
  readonly gives = 'addresses or ports'
  readonly #cache: ObjectCache
  readonly #range: ServiceRange
  readonly #locks: ServiceLocks
  readonly #addresses: AllocationTable<string>
  readonly #ports: NodePorts
  readonly #store: Store | undefined
  #isFollowing = false

  constructor({ cache, clock, range, store }: ServiceAllocatorOptions) {
    this.#cache = cache
    this.#range = range
    this.#locks = new ServiceLocks(cache)
    this.#addresses = new AllocationTable(clock)
    this.#ports = new NodePorts(clock, this.#locks)
    this.#store = store
  }

  async offer(admission: AdmissionRequest): Promise<void> {
    const request = serviceRequestOf(admission)
    if (request === undefined) return
    this.#follow()
    completeFromOld(admission)
    // What seems to be taken may have been given back on another server, whose answer the client has seen.
    if (this.#store !== undefined && this.#wantsTaken(request)) await this.#catchUp(this.#store)
    refuseService(request, completeFamilies(request.spec, request.old))
    this.#giveAddress(request)
    this.#ports.give(request)
  }

  confirm(admission: AdmissionRequest): void {
    const request = serviceRequestOf(admission)
    if (request === undefined || request.dryRun) return
    const { owner, spec } = request
    const lost = addressesOf(spec).find((address) => !this.#addresses.confirm(address, owner))
    if (lost !== undefined) refuseService(request, [addressTaken(spec, lost)])
    this.#ports.confirm(request)
  }

  plan({ key, before, after }: ObjectChange, timestamp: string): AllocationPlan {
    const owner = ownerOf(key)
    const had = claimsOf(before)
    const plan = this.#locks.plan(owner, had, claimsOf(after), timestamp)
    if (after === undefined || plan.taken.length === 0) return plan
    for (const claim of plan.taken) this.#replace(after, owner, claim)
    // What was picked instead has no lock, and nothing happens in between.
    return this.#locks.plan(owner, had, claimsOf(after), timestamp)
  }

  release(key: string, service: KubeObject): void {
    const owner = ownerOf(key)
    for (const claim of claimsOf(service)) {
      if (claim.type === 'address') this.#addresses.release(claim.address, owner)
      else this.#ports.release(claim.port, owner)
    }
  }

  /** Puts another address or port in place of one that another server got; throws when the client wanted that very one. */
  #replace(service: KubeObject, owner: string, lost: ServiceClaim): void {
    const spec = struct(service, 'spec') ?? {}
    const name = service.metadata?.name ?? ''
    if (lost.type === 'address') this.#replaceAddress(spec, owner, name, lost.address)
    else this.#ports.replace(spec, { owner, name }, lost.port)
  }

  #replaceAddress(spec: Fields, owner: string, name: string, lost: string): void {
    if (!this.#addresses.wasPicked(lost, owner)) refuseService({ name }, [addressTaken(spec, lost)])
    this.#addresses.release(lost, owner)
    const address = this.#pick(name)
    this.#addresses.offer(address, owner, true)
    this.#addresses.confirm(address, owner)
    spec['clusterIP'] = address
    spec['clusterIPs'] = [address]
  }

  async #catchUp(store: Store): Promise<void> {
    const revision = await store.revision().catch((error: unknown) => {
      throw serviceUnavailable(`the store is unavailable: ${(error as Error).message}`, 1)
    })
    await this.#cache.waitFor(revision, new AbortController().signal)
  }

  #wantsTaken({ owner, spec }: ServiceRequest): boolean {
    return claimsOf({ spec }).some((claim) =>
      claim.type === 'address' ? !this.#isAvailable(claim.address, owner) : !this.#ports.isAvailable(claim.port, owner),
    )
  }

  #isAvailable(address: string, owner: string): boolean {
    return this.#addresses.isAvailable(address, owner) && !this.#locks.isTaken({ type: 'address', address }, owner)
  }

  /** Begins with the first request, because the cache is loaded by then. */
  #follow(): void {
    if (this.#isFollowing) return
    this.#isFollowing = true
    const collection = this.#cache.collection(SERVICES.keyPrefix)
    for (const item of collection.list(SERVICES.keyPrefix)) this.#hold(item, item)
    collection.listen({ changed: ({ before, after }) => this.#hold(after ?? before, after) })
  }

  #hold(item: Item | undefined, present: Item | undefined): void {
    if (item === undefined) return
    const { namespace, name } = placeOf(item)
    const spec = struct(present?.object(), 'spec') ?? {}
    this.#addresses.hold(`${namespace}/${name}`, addressesOf(spec))
    this.#ports.hold(`${namespace}/${name}`, spec)
  }

  #giveAddress(request: ServiceRequest): void {
    const { owner, spec, old, dryRun } = request
    if (text(spec, 'type') === 'ExternalName' || isHeadless(spec)) return
    // An address is for life: what an update says about it is for validation to judge.
    if (old !== undefined && texts(old, 'clusterIPs').length > 0) return
    const [given] = texts(spec, 'clusterIPs')
    if (given !== undefined) refuseService(request, this.#check(spec, given, owner))
    const address = given ?? this.#pick(request.name)
    if (!dryRun) this.#addresses.offer(address, owner, given === undefined)
    spec['clusterIP'] = address
    spec['clusterIPs'] = [address]
  }

  #pick(name: string): string {
    const isFree = (address: string): boolean =>
      address !== this.#range.first &&
      this.#addresses.isFree(address) &&
      !this.#locks.isTaken({ type: 'address', address })
    const address = this.#range.pick(isFree)
    if (address !== undefined) return address
    throw internalError(`failed to allocate a serviceIP for Service ${JSON.stringify(name)}: range is full`)
  }

  #check(spec: Fields, address: string, owner: string): FieldError[] {
    if (!this.#range.contains(address)) {
      return [addressRefused(spec, address, 'the provided network does not match the current range')]
    }
    const isReserved = address === this.#range.first && owner !== kubernetesService
    return isReserved || !this.#isAvailable(address, owner) ? [addressTaken(spec, address)] : []
  }
}

/** `namespace/name` of a Service. */
function ownerOf(key: string): string {
  return key.slice(SERVICES.keyPrefix.length)
}

/** What the strategy does later, too: only afterwards can be seen what is left to allocate. */
function completeFromOld({ object, old }: AdmissionRequest): void {
  if (object === undefined) return
  if (old !== undefined) {
    keepAllocations(object, old)
    dropForeignFields(object, old)
  }
  nameClusterIps(object)
}

function addressRefused(spec: Fields, address: string, why: string): FieldError {
  return invalidField('spec.clusterIPs', texts(spec, 'clusterIPs'), `failed to allocate IP ${address}: ${why}`)
}

function addressTaken(spec: Fields, address: string): FieldError {
  return addressRefused(spec, address, 'provided IP is already allocated')
}
