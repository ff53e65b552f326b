/**
 * Update: a new state of an object that exists. `produce` makes it from the present one, and is asked again when somebody
 * else was faster and the client did not insist on a version.
 */
import type { KubeObject, ObjectMeta } from '../../../kube/objects.ts'
import { invalidField } from '../../../kube/status/field-error.ts'
import { conflict, invalid, notFound } from '../../../kube/status/resource-errors.ts'
import { Turns } from '../../../runtime/turns.ts'
import { Item, storedValue } from '../../objects/item.ts'
import { keyOf } from '../../objects/resource.ts'
import { placeInNamespace, type WriteRequest } from './write-request.ts'
import type { Writer } from './writer.ts'

/** Under contention every round has one winner; this many rounds lose only if as many others win. */
const maxTries = 10

const modified = 'the object has been modified; please apply your changes to the latest version and try again'

export interface Updated {
  /** The new state; the last one where the update let the object go, because its last finalizer was taken away. */
  readonly item: Item
  readonly created: boolean
}

export async function updateObject(
  writer: Writer,
  request: WriteRequest,
  produce: (current: Item) => KubeObject | Promise<KubeObject>,
  createInstead?: () => Promise<Item>,
): Promise<Updated> {
  const { resource, namespace, name } = request
  const key = keyOf(resource, namespace, name)
  for (let attempt = 1; ; attempt++) {
    const current = await writer.current(key, request)
    if (current === undefined) {
      if (createInstead === undefined) throw notFound(resource.groupResource, name)
      return { item: await createInstead(), created: true }
    }
    // Each of these steps takes a while where the object is large.
    const turns = new Turns(writer.parts.clock)
    const produced = await produce(current)
    if (turns.isOver) await turns.next()
    const old = current.object()
    const insists = checkPreconditions(writer, produced, old, request)
    const next = await prepare(writer, produced, { item: current, object: old }, request, turns)
    if (turns.isOver) await turns.next()
    const item = await settle(writer, key, current, next, request)
    if (item !== undefined) return { item, created: false }
    if (insists || attempt === maxTries) throw conflict(resource.groupResource, name, modified)
  }
}

/** For an update that creates: the version that its sender has seen is gone, and means nothing for the new object. */
export function withoutVersion(object: KubeObject): KubeObject {
  delete object.metadata?.resourceVersion
  return object
}

/** True when the client named the version that it wants to replace. */
function checkPreconditions(writer: Writer, object: KubeObject, old: KubeObject, request: WriteRequest): boolean {
  const { resource, name } = request
  const given = object.metadata ?? {}
  const present = old.metadata ?? {}
  if (given.uid !== undefined && given.uid !== '' && given.uid !== present.uid) {
    const why = `Precondition failed: UID in precondition: ${given.uid}, UID in object meta: ${present.uid}`
    throw conflict(resource.groupResource, name, why)
  }
  const version = given.resourceVersion ?? ''
  // Kinds that several writers share are replaced only by those who say which version they have seen.
  if (
    version === '' &&
    request.bodyBytes > 0 &&
    writer.parts.strategyOf(resource).allowsUnconditionalUpdate === false
  ) {
    const error = invalidField('metadata.resourceVersion', 0, 'must be specified for an update')
    throw invalid({ group: resource.group, kind: resource.row.resource }, name, [error])
  }
  if (version !== '' && version !== present.resourceVersion) throw conflict(resource.groupResource, name, modified)
  return version !== ''
}

/** The present state, as it is kept and as it is read. */
interface Present {
  readonly item: Item
  readonly object: KubeObject
}

async function prepare(
  writer: Writer,
  object: KubeObject,
  old: Present,
  request: WriteRequest,
  turns: Turns,
): Promise<KubeObject> {
  const { admission, maker } = writer.parts
  placeInNamespace(object, request)
  keepOwned(object, old.object)
  if (turns.isOver) await turns.next()
  if (!request.hasDefaults) writer.parts.strategyOf(request.resource).applyDefaults?.(object)
  if (turns.isOver) await turns.next()
  // Before the strategy takes fields away: a plugin must see everything that the client tried to set.
  const asked = writer.admissionRequest(request, 'UPDATE', object, old.object)
  await admission.admit(asked, turns)
  // After admission: things are given out only to what everybody else lets pass.
  const allocator = writer.allocatorOf(request.resource)
  await allocator?.offer(asked)
  const made = await maker.finish(object, old.item, request, writer.writeContext(request))
  for (const warning of made.warnings) request.warnings.add(warning)
  if (turns.isOver) await turns.next()
  const judged = { ...asked, object: made.object }
  await admission.validate(judged, turns)
  allocator?.confirm(judged)
  return made.object
}

/** What a client may repeat or leave out, but never change. */
const ownedFields = [
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
] as const

function keepOwned(object: KubeObject, old: KubeObject): void {
  const metadata: ObjectMeta = { ...object.metadata }
  const present = old.metadata ?? {}
  for (const field of ownedFields) {
    delete metadata[field]
    if (present[field] !== undefined) Object.assign(metadata, { [field]: present[field] })
  }
  if (present.resourceVersion !== undefined) metadata.resourceVersion = present.resourceVersion
  delete metadata.managedFields
  object.metadata = metadata
}

/** Writes the new state, unless there is nothing new or nothing left to wait for. undefined: somebody was faster. */
async function settle(
  writer: Writer,
  key: string,
  current: Item,
  next: KubeObject,
  request: WriteRequest,
): Promise<Item | undefined> {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = next.metadata ?? {}
  const value = storedValue(next)
  const isReleased = deletionTimestamp !== undefined && finalizers.length === 0 && specFinalizers(next).length === 0
  if (isReleased && deletionGracePeriodSeconds === 0) {
    const { revision } = current
    if (!(await writer.remove(key, revision, request))) return undefined
    return Item.fromEntry({ key, value, createRevision: revision, modRevision: revision })
  }
  if (current.holds(value)) return current
  return await writer.put(key, next, current.revision, request, value)
}

/** The finalizers that a Namespace has in its spec, besides those in its metadata; none for all other kinds. */
function specFinalizers(object: KubeObject): readonly unknown[] {
  const spec = object['spec'] as { finalizers?: unknown[] } | undefined
  return object.kind === 'Namespace' ? (spec?.finalizers ?? []) : []
}
