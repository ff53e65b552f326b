/** A request to write a Service, as far as the allocation of addresses and ports is concerned. */
import type { FieldError } from '../../kube/status/field-error.ts'
import { invalid } from '../../kube/status/resource-errors.ts'
import type { AdmissionRequest } from '../core/admission.ts'
import { ensureStruct, type Fields, struct } from '../kinds/fields.ts'
import { builtIn } from '../objects/resource.ts'

export const SERVICES = builtIn('v1', 'services')

export interface ServiceRequest {
  /** `namespace/name`: who will have what is allocated. */
  readonly owner: string
  readonly name: string
  /** The spec of the Service, filled in place. */
  readonly spec: Fields
  /** The spec before an update. */
  readonly old: Fields | undefined
  readonly dryRun: boolean
}

/** The request as the allocator sees it; undefined for one that allocates nothing. */
export function serviceRequestOf(request: AdmissionRequest): ServiceRequest | undefined {
  const { operation, resource, subresource, namespace, name, object, old, dryRun } = request
  const isWrite = operation === 'CREATE' || operation === 'UPDATE'
  if (!isWrite || subresource !== '' || resource.keyPrefix !== SERVICES.keyPrefix || object === undefined)
    return undefined
  const oldSpec = old === undefined ? undefined : (struct(old, 'spec') ?? {})
  return { owner: `${namespace}/${name}`, name, spec: ensureStruct(object, 'spec'), old: oldSpec, dryRun }
}

/** Throws a 422 about the Service, if there is anything wrong with it. */
export function refuseService({ name }: Pick<ServiceRequest, 'name'>, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid(SERVICES.groupKind, name, errors)
}
