/** Whether what a token speaks of still is: a token ends with its ServiceAccount and with the object it is bound to. */

import type { ClaimedObject, KubernetesClaims } from '../../../identity/service-account/claims.ts'
import { RefusedTokenError } from '../../../identity/service-account/refused-token.ts'
import { parseTime } from '../../../kube/codec/time.ts'
import { goQuote } from '../../../kube/status/go-text.ts'
import type { FindObject, TokenObject } from './find-object.ts'

/** Clocks of servers differ, and a container that is being stopped still has things to say. */
export const LEEWAY_MS = 60_000

/** Throws a RefusedTokenError if the token is no good any more. */
export async function checkLiveObjects(claims: KubernetesClaims, find: FindObject, nowMs: number): Promise<void> {
  const { namespace, pod, secret, node } = claims
  await checkServiceAccount(claims, find, nowMs)
  if (secret !== undefined) checkBound(await find('secrets', namespace, secret.name), 'secret', secret, nowMs)
  if (pod !== undefined) checkBound(await find('pods', namespace, pod.name), 'pod', pod, nowMs)
  // The node of a pod is only told; the pod may outlive it.
  else if (node !== undefined) checkBound(await find('nodes', '', node.name), 'node', node, nowMs)
}

async function checkServiceAccount(
  { namespace, serviceAccount: { name, uid } }: KubernetesClaims,
  find: FindObject,
  nowMs: number,
): Promise<void> {
  if (name === '') throw new RefusedTokenError('resource name may not be empty')
  const object = await find('serviceaccounts', namespace, name)
  if (object === undefined) throw new RefusedTokenError(`serviceaccounts ${goQuote(name)} not found`)
  const liveUid = object.metadata?.uid ?? ''
  if (liveUid !== uid) throw new RefusedTokenError(`service account UID (${liveUid}) does not match claim (${uid})`)
  if (isLongDeleted(object, nowMs)) throw new RefusedTokenError(`service account ${namespace}/${name} has been deleted`)
}

function checkBound(object: TokenObject | undefined, kind: string, { uid }: ClaimedObject, nowMs: number): void {
  const invalidated = 'service account token has been invalidated'
  if (object === undefined) throw new RefusedTokenError(invalidated)
  const liveUid = object.metadata?.uid ?? ''
  if (liveUid !== uid) {
    const mismatch = `${kind} UID (${liveUid}) does not match service account ${kind} ref claim (${uid})`
    throw new RefusedTokenError(mismatch)
  }
  if (isLongDeleted(object, nowMs)) throw new RefusedTokenError(invalidated)
}

/** A deletion time lies in the future while a pod has time left to stop. */
function isLongDeleted({ metadata }: TokenObject, nowMs: number): boolean {
  const deleted = parseTime(metadata?.deletionTimestamp ?? '')
  return deleted !== undefined && deleted.seconds * 1000 < nowMs - LEEWAY_MS
}
