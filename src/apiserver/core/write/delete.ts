/** Delete: at once, after a grace period, or when the last finalizer is gone. */

import { formatTime } from '../../../kube/codec/time.ts'
import type { KubeObject, ObjectMeta } from '../../../kube/objects.ts'
import { conflict, notFound } from '../../../kube/status/resource-errors.ts'
import { Turns } from '../../../runtime/turns.ts'
import { conform } from '../../objects/decode-body.ts'
import type { Item } from '../../objects/item.ts'
import { keyOf, type Resource } from '../../objects/resource.ts'
import type { WriteRequest } from './write-request.ts'
import type { Writer } from './writer.ts'

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number | undefined
  /** Orphan, Background or Foreground. */
  readonly propagationPolicy?: string | undefined
  readonly orphanDependents?: boolean | undefined
  /** What the object must be, or nothing is deleted. */
  readonly preconditions?: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
}

export type Deleted =
  | { readonly outcome: 'gone'; readonly item: Item }
  /** Something still holds the object: the client gets its new state. */
  | { readonly outcome: 'waiting'; readonly item: Item }

/** Resources whose deletion is answered with the last state of the object; all others answer with a Status. */
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

/** Deletes the object, or marks it as going. Decides anew when somebody was faster. Throws an ApiError where it is refused. */
export async function deleteObject(writer: Writer, request: WriteRequest, options: DeleteOptions): Promise<Deleted> {
  const { resource, namespace, name } = request
  const key = keyOf(resource, namespace, name)
  for (let attempt = 1; ; attempt++) {
    const current = await writer.current(key, request)
    if (current === undefined) throw notFound(resource.groupResource, name)
    const doomed = new DoomedObject(current)
    checkPreconditions(doomed.metadata, request, options)
    await validate(writer, doomed, request)
    const deleted = await attemptDelete(writer, key, doomed, request, options)
    if (deleted !== undefined) return deleted
    if (attempt === maxTries) throw conflict(resource.groupResource, name, 'too many concurrent changes')
  }
}

/** Most objects go without anybody reading more of them than their metadata; reading a large one takes a while. */
class DoomedObject {
  readonly item: Item
  readonly metadata: ObjectMeta
  #object: KubeObject | undefined

  constructor(item: Item) {
    this.item = item
    this.metadata = item.metadata()
  }

  get object(): KubeObject {
    this.#object ??= this.item.object()
    return this.#object
  }
}

async function validate(writer: Writer, doomed: DoomedObject, request: WriteRequest): Promise<void> {
  const asked = {
    ...writer.admissionRequest(request, 'DELETE', undefined, undefined),
    get old() {
      return doomed.object
    },
  }
  await writer.parts.admission.validate(asked, new Turns(writer.parts.clock))
}

function checkPreconditions(
  { uid, resourceVersion }: ObjectMeta,
  { resource, name }: WriteRequest,
  { preconditions }: DeleteOptions,
): void {
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
  doomed: DoomedObject,
  request: WriteRequest,
  options: DeleteOptions,
): Promise<Deleted | undefined> {
  const { item: current, metadata } = doomed
  const isNamespace = request.resource.kind === 'Namespace'
  const graceSeconds = graceOf(writer, doomed, request, options)
  metadata.finalizers = finalizersFor(metadata.finalizers ?? [], options)
  if (metadata.finalizers.length === 0) delete metadata.finalizers
  const isHeld = (metadata.finalizers?.length ?? 0) > 0 || (isNamespace && isInUse(doomed.object))
  if (!isHeld && graceSeconds === 0) {
    return (await writer.remove(key, current.revision, request)) ? { outcome: 'gone', item: current } : undefined
  }
  const status: { status?: object } = {}
  if (metadata.deletionTimestamp === undefined || graceSeconds < (metadata.deletionGracePeriodSeconds ?? 0)) {
    const nowSeconds = Math.floor(writer.parts.clock.nowMs() / 1000)
    metadata.deletionTimestamp = formatTime(nowSeconds + graceSeconds) ?? ''
    // A namespace goes when its contents have gone; no clock runs for it.
    if (!isNamespace) metadata.deletionGracePeriodSeconds = graceSeconds
    if (metadata.generation !== undefined) metadata.generation += 1
    if (isNamespace) status.status = { ...(doomed.object['status'] as object), phase: 'Terminating' }
  }
  const marked = { ...doomed.object, metadata: inOrder(metadata, request), ...status }
  const item = await writer.put(key, marked, current.revision, request)
  return item === undefined ? undefined : { outcome: 'waiting', item }
}

/** The metadata with its fields in the order of the type; all the rest of the object is as it was stored. */
function inOrder(metadata: ObjectMeta, { resource }: WriteRequest): ObjectMeta {
  return conform({ metadata }, resource.stored, 'Ignore').object.metadata ?? {}
}

function graceOf(
  writer: Writer,
  doomed: DoomedObject,
  { resource }: WriteRequest,
  { gracePeriodSeconds }: DeleteOptions,
): number {
  const strategy = writer.parts.strategyOf(resource)
  const usual = strategy.defaultGracePeriodSeconds === undefined ? 0 : strategy.defaultGracePeriodSeconds(doomed.object)
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

function isInUse(namespace: KubeObject): boolean {
  const spec = namespace['spec'] as { finalizers?: unknown[] } | undefined
  return (spec?.finalizers?.length ?? 0) > 0
}
