/** Deletes CertificateSigningRequests that have served their purpose, or that nobody took care of. */
import { readCertificates } from '../../identity/certificate.ts'
import { IdentityError } from '../../identity/errors.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { struct, text } from '../kinds/fields.ts'
import { CERTIFICATE_REQUESTS, conditionsOf, isIssued, timeMs } from './certificate-request-state.ts'
import { type Controller, nameOfItem } from './controller.ts'
import type { InternalClient } from './internal-client.ts'

const hourMs = 60 * 60 * 1000
/** For requests that are done: issued, denied or failed. */
export const DONE_LIFE_MS = hourMs
/** For requests that wait for an approval or for a signature. */
export const WAITING_LIFE_MS = 24 * hourMs

export function certificateCleanupController(client: InternalClient): Controller {
  return {
    name: 'certificate-cleanup',
    sources: [{ resource: CERTIFICATE_REQUESTS, keysOf: (item) => [nameOfItem(item)] }],
    async reconcile(name, signal) {
      const place = { resource: CERTIFICATE_REQUESTS, namespace: '', name }
      const request = client.get(place)
      const endMs = request === undefined ? undefined : endOfLifeMs(request)
      if (request === undefined || endMs === undefined) return undefined
      // The wall clock may be set meanwhile, so it is asked again at least every hour.
      if (client.nowMs <= endMs) return Math.min(endMs - client.nowMs + 1, hourMs)
      await client.delete(place, signal, { preconditions: { uid: request.metadata?.uid ?? '' } })
      return undefined
    },
  }
}

/** After this time the request is not needed any more. undefined: for ever, because it has no date. */
function endOfLifeMs(request: KubeObject): number | undefined {
  const conditions = conditionsOf(request)
  if (conditions.length === 0) {
    const createdMs = timeMs(request.metadata?.creationTimestamp)
    return createdMs === undefined ? undefined : createdMs + WAITING_LIFE_MS
  }
  const ends = conditions.flatMap((condition) => {
    const updatedMs = timeMs(condition['lastUpdateTime'])
    const lifeMs = lifeAfter(text(condition, 'type'), isIssued(request))
    return updatedMs === undefined || lifeMs === undefined ? [] : [updatedMs + lifeMs]
  })
  ends.push(...certificateEndMs(request))
  return ends.length === 0 ? undefined : Math.min(...ends)
}

function lifeAfter(type: string, issued: boolean): number | undefined {
  if (type === 'Denied' || type === 'Failed') return DONE_LIFE_MS
  if (type === 'Approved') return issued ? DONE_LIFE_MS : WAITING_LIFE_MS
  return undefined
}

/** A certificate that has expired is of no use to anybody. */
function certificateEndMs(request: KubeObject): number[] {
  const encoded = text(struct(request, 'status'), 'certificate')
  if (encoded === '') return []
  try {
    const [certificate] = readCertificates(Buffer.from(encoded, 'base64'), 'status.certificate')
    return [certificate.notAfterMs]
  } catch (error) {
    // Other signers may write what we cannot read; then only the hour counts.
    if (error instanceof IdentityError) return []
    throw error
  }
}
