/**
 * Changes that the server makes to a stored object on its own account, past the rules for clients: a client may not move
 * a pod to a node, a binding does exactly that.
 */
import type { KubeObject } from '../../../kube/objects.ts'
import { conflict, notFound, OBJECT_MODIFIED } from '../../../kube/status/resource-errors.ts'
import { Turns } from '../../../runtime/turns.ts'
import type { Item } from '../../objects/item.ts'
import { keyOf } from '../../objects/resource.ts'
import type { WriteRequest } from '../write/write-request.ts'
import type { Writer } from '../write/writer.ts'

/** Every lost round means that somebody else's write succeeded. */
const maxTries = 10

/** `change` alters the object in place or throws; it sees each newer state again until one of its changes is kept. */
export async function changeStored(
  writer: Writer,
  request: WriteRequest,
  change: (object: KubeObject) => void,
): Promise<Item> {
  const { resource, namespace, name } = request
  const key = keyOf(resource, namespace, name)
  for (let attempt = 1; ; attempt++) {
    const current = await writer.current(key, request)
    if (current === undefined) throw notFound(resource.groupResource, name)
    // Each of these steps takes a while where the object is large.
    const turns = new Turns(writer.parts.clock)
    const object = current.object()
    change(object)
    if (turns.isOver) await turns.next()
    const ready = writer.inOrder(object, request)
    if (turns.isOver) await turns.next()
    const item = await writer.put(key, ready, current.revision, request)
    if (item !== undefined) return item
    if (attempt === maxTries) throw conflict(resource.groupResource, name, OBJECT_MODIFIED)
  }
}
