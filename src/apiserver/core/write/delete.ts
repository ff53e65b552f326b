/** Delete: at once, after a grace period, or when the last finalizer is gone. */

import { formatTime } from '../../../kube/codec/time.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { conflict, notFound } from '../../../kube/status/resource-errors.ts'
import type { Item } from '../item.ts'
import { keyOf, type Resource } from '../resource.ts'
import type { WriteRequest } from './write-request.ts'
import type { Writer } from './writer.ts'

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number
  /** Orphan, Background or Foreground. */
  readonly propagationPolicy?: string
  readonly orphanDependents?: boolean
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
}

export type Deleted =
  | { readonly outcome: 'gone'; readonly item: Item }
  /** Something still holds the object: the client gets its new state. */
  | { readonly outcome: 'waiting'; readonly item: Item }

/** Whose deletion is answered with the last state of the object; that of all others with a Status. */
const shownWhenGone: Readonly<Record<string, readonly string[]>> = {
  '': [
    'namespaces',
    'persistentvolumeclaims',
    'persistentvolumes',
    'pods',
    'podtemplates',
    'resourcequotas',
    'serviceaccounts',
    'services',
  ],
  'resource.k8s.io': [
    'deviceclasses',
    'devicetaintrules',
    'resourceclaims',
    'resourceclaimtemplates',
    'resourceslices',
  ],
  'storage.k8s.io': ['csidrivers', 'csinodes', 'storageclasses', 'volumeattachments', 'volumeattributesclasses'],
}

export function isShownWhenGone({ group, row }: Resource): boolean {
  return shownWhenGone[group]?.includes(row.resource) === true
}

const maxTries = 10

export async function deleteObject(writer: Writer, request: WriteRequest, options: DeleteOptions): Promise<Deleted> {
  const { resource, namespace, name } = request
  const key = keyOf(resource, namespace, name)
  for (let attempt = 1; ; attempt++) {
    const current = await writer.current(key, request)
    if (current === undefined) throw notFound(resource.groupResource, name)
    const old = current.object()
    checkPreconditions(old, request, options)
    await writer.parts.admission.validate(writer.admissionRequest(request, 'DELETE', undefined, old))
    const deleted = await attemptDelete(writer, key, current, old, request, options)
    if (deleted !== undefined) return deleted
    if (attempt === maxTries) throw conflict(resource.groupResource, name, 'too many concurrent changes')
  }
}

function checkPreconditions(old: KubeObject, { resource, name }: WriteRequest, { preconditions }: DeleteOptions): void {
  const { uid, resourceVersion } = old.metadata ?? {}
  const check = (what: string, wanted: string | undefined, present: string | undefined): void => {
    if (wanted === undefined || wanted === present) return
    const why = `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${present}`
    throw conflict(resource.groupResource, name, why)
  }
  check('UID', preconditions?.uid, uid)
  check('ResourceVersion', preconditions?.resourceVersion, resourceVersion)
}

async function attemptDelete(
  writer: Writer,
  key: string,
  current: Item,
  old: KubeObject,
  request: WriteRequest,
  options: DeleteOptions,
): Promise<Deleted | undefined> {
  const marked = structuredClone(old)
  const metadata = marked.metadata ?? {}
  marked.metadata = metadata
  const graceSeconds = graceOf(writer, old, request, options)
  metadata.finalizers = finalizersFor(metadata.finalizers ?? [], options)
  if (metadata.finalizers.length === 0) delete metadata.finalizers
  const isHeld = (metadata.finalizers?.length ?? 0) > 0 || isNamespaceInUse(marked)
  if (!isHeld && graceSeconds === 0) {
    return (await writer.remove(key, current.revision, request)) ? { outcome: 'gone', item: current } : undefined
  }
  if (metadata.deletionTimestamp === undefined || graceSeconds < (metadata.deletionGracePeriodSeconds ?? 0)) {
    const nowSeconds = Math.floor(writer.parts.clock.nowMs() / 1000)
    metadata.deletionTimestamp = formatTime(nowSeconds + graceSeconds) ?? ''
    // A namespace goes when its contents have gone; no clock runs for it.
    if (marked.kind !== 'Namespace') metadata.deletionGracePeriodSeconds = graceSeconds
    if (metadata.generation !== undefined) metadata.generation += 1
    if (marked.kind === 'Namespace') marked['status'] = { ...(marked['status'] as object), phase: 'Terminating' }
  }
  const item = await writer.put(key, writer.inOrder(marked, request), current.revision, request)
  return item === undefined ? undefined : { outcome: 'waiting', item }
}

function graceOf(
  writer: Writer,
  old: KubeObject,
  { resource }: WriteRequest,
  { gracePeriodSeconds }: DeleteOptions,
): number {
  const usual = writer.parts.strategyOf(resource).defaultGracePeriodSeconds?.(old) ?? 0
  // A kind without a grace period has none to shorten or lengthen. What is less than nothing is a moment.
  const wanted = gracePeriodSeconds ?? usual
  return usual === 0 ? 0 : wanted < 0 ? 1 : wanted
}

function finalizersFor(present: readonly string[], options: DeleteOptions): string[] {
  const policy = options.propagationPolicy ?? (options.orphanDependents === true ? 'Orphan' : undefined)
  if (policy === undefined) return [...present]
  const others = present.filter((name) => name !== 'orphan' && name !== 'foregroundDeletion')
  if (policy === 'Orphan') return [...others, 'orphan']
  return policy === 'Foreground' ? [...others, 'foregroundDeletion'] : others
}

function isNamespaceInUse(object: KubeObject): boolean {
  const spec = object['spec'] as { finalizers?: unknown[] } | undefined
  return object.kind === 'Namespace' && (spec?.finalizers?.length ?? 0) > 0
}
