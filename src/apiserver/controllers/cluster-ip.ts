/**
 * ClusterIPs and node ports of Services, given out while a Service is admitted. What stored Services have is known from
 * their collection; what requests under way want is claimed in memory, so no two of them get the same.
 */
import { type FieldError, internalError, invalidField } from '../../kube/status/index.ts'
import type { Clock } from '../../telemetry/clock.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import type { Item } from '../core/item.ts'
import type { ObjectCache } from '../core/object-cache.ts'
import { isHeadless } from '../kinds/core/service-addresses.ts'
import { dropForeignFields, keepAllocations, nameClusterIps } from '../kinds/core/service-allocations.ts'
import { type Fields, struct, text, texts } from '../kinds/fields.ts'
import { AllocationTable } from './allocation-table.ts'
import { placeOf } from './controller.ts'
import type { ServiceRange } from './ip-range.ts'
import { NodePorts } from './node-ports.ts'
import { completeFamilies } from './service-families.ts'
import { refuseService, SERVICES, type ServiceRequest, serviceRequestOf } from './service-request.ts'

/** The only Service that may have the first address of the range. */
const kubernetesService = 'default/kubernetes'

export interface ServiceAllocatorOptions {
  readonly cache: ObjectCache
  readonly clock: Clock
  readonly range: ServiceRange
}

export class ServiceAllocator implements AdmissionPlugin {
  readonly name = 'ServiceAllocator'
  readonly #cache: ObjectCache
  readonly #range: ServiceRange
  readonly #addresses: AllocationTable<string>
  readonly #ports: NodePorts
  #isFollowing = false

  constructor({ cache, clock, range }: ServiceAllocatorOptions) {
    this.#cache = cache
    this.#range = range
    this.#addresses = new AllocationTable(clock)
    this.#ports = new NodePorts(clock)
  }

  admit(admission: AdmissionRequest): void {
    const request = serviceRequestOf(admission)
    if (request === undefined) return
    this.#follow()
    completeFromOld(admission)
    refuseService(request, completeFamilies(request.spec, request.old))
    this.#giveAddress(request)
    this.#ports.give(request)
  }

  /** All checks have passed: from here on nobody may take away what was offered. */
  validate(admission: AdmissionRequest): void {
    const request = serviceRequestOf(admission)
    if (request === undefined || request.dryRun) return
    const { owner, spec } = request
    const lost = addressesOf(spec).find((address) => !this.#addresses.confirm(address, owner))
    if (lost !== undefined) refuseService(request, [addressTaken(spec, lost)])
    this.#ports.confirm(request)
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
    const address = given ?? this.#pick(request)
    if (!dryRun) this.#addresses.offer(address, owner)
    spec['clusterIP'] = address
    spec['clusterIPs'] = [address]
  }

  #pick({ name }: ServiceRequest): string {
    const isFree = (address: string): boolean => address !== this.#range.first && this.#addresses.isFree(address)
    const address = this.#range.pick(isFree)
    if (address !== undefined) return address
    throw internalError(`failed to allocate a serviceIP for Service ${JSON.stringify(name)}: range is full`)
  }

  #check(spec: Fields, address: string, owner: string): FieldError[] {
    if (!this.#range.contains(address)) {
      return [addressRefused(spec, address, 'the provided network does not match the current range')]
    }
    const isReserved = address === this.#range.first && owner !== kubernetesService
    return isReserved || !this.#addresses.isAvailable(address, owner) ? [addressTaken(spec, address)] : []
  }
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

function addressesOf(spec: Fields): string[] {
  return text(spec, 'type') === 'ExternalName' ? [] : texts(spec, 'clusterIPs').filter((address) => address !== 'None')
}

function addressRefused(spec: Fields, address: string, why: string): FieldError {
  return invalidField('spec.clusterIPs', texts(spec, 'clusterIPs'), `failed to allocate IP ${address}: ${why}`)
}

function addressTaken(spec: Fields, address: string): FieldError {
  return addressRefused(spec, address, 'provided IP is already allocated')
}
