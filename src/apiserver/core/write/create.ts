/** Create: a new object under a name of the client's choosing or of ours. */
import { randomUUID } from 'node:crypto'
import type { KubeObject } from '../../../kube/objects.ts'
import { badRequest } from '../../../kube/status/request-errors.ts'
import { alreadyExists, generateNameConflict } from '../../../kube/status/resource-errors.ts'
import { Turns } from '../../../runtime/turns.ts'
import type { Item } from '../../objects/item.ts'
import { keyOf } from '../../objects/resource.ts'
import { generateName } from './generate-name.ts'
import { placeInNamespace, type WriteRequest } from './write-request.ts'
import type { Writer } from './writer.ts'

/** A generated name that is taken is drawn again so often before the client is told. */
const maxNameTries = 8

/** Takes `given` over and changes it: a caller that needs it afterwards hands in a copy. */
export async function createObject(writer: Writer, given: KubeObject, request: WriteRequest): Promise<Item> {
  const { resource } = request
  placeInNamespace(given, request)
  const { name = '', generateName: base = '', resourceVersion = '' } = given.metadata ?? {}
  if (resourceVersion !== '') throw badRequest('resourceVersion should not be set on objects to be created')
  const isGenerated = name === '' && base !== ''
  for (let attempt = 1; ; attempt++) {
    const object = isGenerated ? structuredClone(given) : given
    if (isGenerated && object.metadata !== undefined) object.metadata.name = generateName(base)
    const ready = await prepare(writer, object, request)
    const readyName = ready.metadata?.name ?? ''
    const key = keyOf(resource, request.namespace, readyName)
    const taken = request.dryRun && (await writer.current(key, request)) !== undefined
    const item = taken ? undefined : await writer.put(key, ready, 0, request)
    if (item !== undefined) return item
    if (!isGenerated) throw alreadyExists(resource.groupResource, readyName)
    if (attempt === maxNameTries) throw generateNameConflict(resource.groupResource, readyName, 1)
  }
}

async function prepare(writer: Writer, object: KubeObject, request: WriteRequest): Promise<KubeObject> {
  const { admission, clock, maker } = writer.parts
  const strategy = writer.parts.strategyOf(request.resource)
  const turns = new Turns(clock)
  if (!request.hasDefaults) strategy.applyDefaults?.(object)
  // Before the strategy takes fields away: a plugin must see everything that the client tried to set.
  const asked = writer.admissionRequest(request, 'CREATE', object, undefined)
  await admission.admit(asked, turns)
  // After admission: things are given out only to what everybody else lets pass.
  const allocator = writer.allocatorOf(request.resource)
  await allocator?.offer(asked)
  // A Job makes its selector from the uid.
  own(object, writer.timestamp(), strategy.generation?.initial ?? 0)
  const made = await maker.finish(object, undefined, request, writer.writeContext(request))
  for (const warning of made.warnings) request.warnings.add(warning)
  if (turns.isOver) await turns.next()
  const judged = { ...asked, object: made.object }
  await admission.validate(judged, turns)
  allocator?.confirm(judged)
  return made.object
}

/** What only the server may say about a new object. */
function own(object: KubeObject, now: string, generation: number): void {
  const metadata = object.metadata ?? {}
  const { deletionTimestamp: _at, deletionGracePeriodSeconds: _grace, managedFields: _fields, ...kept } = metadata
  object.metadata = { ...kept, uid: randomUUID(), creationTimestamp: now }
  if (generation > 0) object.metadata.generation = generation
  else delete object.metadata.generation
}
