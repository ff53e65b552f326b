/** How plugins refuse: a 403 about the object of the request, named as the API server names it. */

import type { GroupResource } from '../../kube/status/group-names.ts'
import { forbidden } from '../../kube/status/resource-errors.ts'
import type { ApiError } from '../../kube/status/status.ts'
import type { AdmissionRequest } from '../core/admission.ts'

/** What an object without any name is called. */
const nameless = 'Unknown'

/** For `validate`, when the object has its final name. */
export function refusal(request: AdmissionRequest, why: string): ApiError {
  const { name, object } = request
  return forbidden(request.resource.groupResource, name || object?.metadata?.generateName || nameless, why)
}

/**
 * For `admit`. The API server draws names only after this step, so an object that leaves its name to the server is called
 * by the base of it: that is what users know from the events of their controllers.
 */
export function earlyRefusal(request: AdmissionRequest, why: string): ApiError {
  const base = request.object?.metadata?.generateName ?? ''
  const isDrawn = request.operation === 'CREATE' && base !== '' && request.name.startsWith(base)
  return isDrawn ? forbidden(request.resource.groupResource, base, why) : refusal(request, why)
}

export function concerns({ resource }: AdmissionRequest, wanted: GroupResource): boolean {
  return resource.group === wanted.group && resource.row.resource === wanted.resource
}

/** The object itself, not a subresource of it. */
export function concernsObject(request: AdmissionRequest, wanted: GroupResource): boolean {
  return request.subresource === '' && concerns(request, wanted)
}
