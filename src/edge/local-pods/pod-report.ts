/**
 * What a patch of a pod's status says about the pod: the patch as it was sent, applied to the very object that its sender was
 * given. Nothing is taken from a patch that an API server would refuse.
 */

import { isJsonObject, type JsonObject } from '../../kube/patch/json-value.ts'
import { applyPatch, PATCH_MEDIA_TYPES, type PatchKind } from '../../kube/patch/patch.ts'
import { findKind } from '../../kube/schema/schema.ts'
import { ApiError } from '../../kube/status/status.ts'
import { type LocalPod, localPodOf } from './local-pod.ts'

export interface StatusPatch {
  readonly kind: PatchKind
  readonly body: Uint8Array
}

/** `foreign`: the pod is another, or that of another node. `malformed`: an API server would not take it. */
export type ReportFault = 'foreign' | 'malformed'

/** Kubelets send strategic merges; those that write statuses by other means know merge patches. */
const reportingKinds: readonly PatchKind[] = ['strategic', 'merge']

/** Undefined for what is no patch of a kind that statuses are reported with. */
export function reportingKind(contentType: string): PatchKind | undefined {
  const mediaType = contentType.split(';', 1)[0]?.trim().toLowerCase()
  return reportingKinds.find((kind) => PATCH_MEDIA_TYPES[kind] === mediaType)
}

/** `served` is the Pod as whoever sent the patch could read it here, and `node` the node it has to run on. */
export function readReport(served: JsonObject, { kind, body }: StatusPatch, node: string): LocalPod | ReportFault {
  if (field(field(served, 'spec'), 'nodeName') !== node) return 'foreign'
  const patched = patchedPod(served, kind, body)
  if (patched === undefined) return 'malformed'
  const uid = field(field(served, 'metadata'), 'uid')
  // An API server compares it, too: the name may have gone to another pod.
  if (field(field(patched, 'metadata'), 'uid') !== uid) return 'foreign'
  // Of the subresource only the status counts.
  return localPodOf({ ...served, status: patched['status'] }) ?? 'malformed'
}

function patchedPod(served: JsonObject, type: PatchKind, patch: Uint8Array): JsonObject | undefined {
  try {
    return applyPatch({ type, patch, object: served, message: findKind('v1', 'Pod')?.message })
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

function field(value: unknown, key: string): unknown {
  return isJsonObject(value) ? value[key] : undefined
}
