/** What all subresources check: the kind of what is sent to them, and that it belongs to the object in the path. */

import type { KubeObject } from '../../../kube/objects.ts'
import { findKind } from '../../../kube/schema/schema.ts'
import { genericServerResponse } from '../../../kube/status/generic-response.ts'
import { badRequest } from '../../../kube/status/request-errors.ts'
import type { ApiError } from '../../../kube/status/status.ts'
import type { ExpectedKind } from '../../objects/decode-body.ts'

/** A kind that every release has. */
export function kindOf(apiVersion: string, kind: string): ExpectedKind {
  const found = findKind(apiVersion, kind)
  if (found === undefined) throw new Error(`the schema has no ${kind} in ${apiVersion}`)
  return found
}

/** What is sent to a subresource belongs to the object in the path, and must say so. */
export function checkSameName(object: KubeObject, name: string, namespace: string): void {
  const { name: own = '', namespace: ownNamespace = '' } = object.metadata ?? {}
  if (own === '') {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
  }
  if (own !== name) throw badRequest(`the name of the object (${own}) does not match the name on the URL (${name})`)
  checkSameNamespace(ownNamespace, namespace)
}

export function checkSameNamespace(own: string, namespace: string): void {
  if (own !== '' && own !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
}

/** Paths that exist, but not for this method, are refused before anybody looks at what they name. */
export function methodNotAllowed(): ApiError {
  return genericServerResponse({ code: 405, method: '', serverMessage: '', unexpected: false })
}
