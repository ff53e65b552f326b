/** How far a CertificateSigningRequest has come. */

import { parseTime } from '../../kube/codec/time.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { type Fields, struct, structs, text } from '../kinds/fields.ts'
import { builtIn } from '../objects/resource.ts'

export const CERTIFICATE_REQUESTS = builtIn('certificates.k8s.io/v1', 'certificatesigningrequests')

/** The condition of this type, if it is true; one without a status counts, as old clients left it out. */
export function trueCondition(request: KubeObject, type: string): Fields | undefined {
  return conditionsOf(request).find(
    (condition) => text(condition, 'type') === type && ['True', ''].includes(text(condition, 'status')),
  )
}

export function conditionsOf(request: KubeObject): Fields[] {
  return structs(struct(request, 'status'), 'conditions')
}

export function isIssued(request: KubeObject): boolean {
  return text(struct(request, 'status'), 'certificate') !== ''
}

/** Approved, not denied. */
export function isApproved(request: KubeObject): boolean {
  return trueCondition(request, 'Approved') !== undefined && trueCondition(request, 'Denied') === undefined
}

export function withCondition(request: KubeObject, condition: Fields): KubeObject {
  const status = struct(request, 'status')
  return { ...request, status: { ...status, conditions: [...conditionsOf(request), condition] } }
}

/** The PEM text inside. */
export function requestPem(request: KubeObject): Buffer {
  return Buffer.from(text(struct(request, 'spec'), 'request'), 'base64')
}

/** undefined where there is no time, or none that can be read. */
export function timeMs(value: unknown): number | undefined {
  const instant = typeof value === 'string' ? parseTime(value) : undefined
  return instant === undefined ? undefined : instant.seconds * 1000
}
