/** Delete of many: some at a time, so that the store makes several deletions durable at once. */
import { setMaxListeners } from 'node:events'
import { isNotFound } from '../../../kube/status/predicates.ts'
import { Turns } from '../../../runtime/turns.ts'
import { type Item, namespaceOf } from '../../objects/item.ts'
import { type DeleteOptions, deleteObject } from './delete.ts'
import type { WriteRequest } from './write-request.ts'
import type { Writer } from './writer.ts'

/** Deletions of one request at a time. A kube-apiserver has one unless told otherwise (`--delete-collection-workers`). */
export const MAX_PARALLEL_COLLECTION_DELETES = 16

/** Throws the first refusal, and deletes no further then. What somebody else deletes meanwhile is just as well. */
export async function deleteItems(
  writer: Writer,
  items: readonly Item[],
  base: WriteRequest,
  options: DeleteOptions,
): Promise<void> {
  const { signal } = base
  // Each deletion listens to the signal of the request: so many listeners are no leak.
  setMaxListeners(2 * MAX_PARALLEL_COLLECTION_DELETES, signal)
  const turns = new Turns(writer.parts.clock)
  const rest = items.values()
  let hasFailed = false
  const deleteSome = async (): Promise<void> => {
    for (const item of rest) {
      if (turns.isOver) await turns.next()
      signal.throwIfAborted()
      if (hasFailed) return
      await deleteItem(writer, item, base, options)
    }
  }
  const failing = async (): Promise<void> => {
    try {
      await deleteSome()
    } catch (error) {
      hasFailed = true
      throw error
    }
  }
  const workers = Array.from({ length: Math.min(items.length, MAX_PARALLEL_COLLECTION_DELETES) }, failing)
  // All workers have ended before anybody hears of the first failure: nothing is deleted after the answer.
  const ended = await Promise.allSettled(workers)
  const failed = ended.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

async function deleteItem(writer: Writer, item: Item, base: WriteRequest, options: DeleteOptions): Promise<void> {
  const namespace = base.resource.namespaced ? namespaceOf(item) : ''
  try {
    await deleteObject(writer, { ...base, name: item.name, namespace }, options)
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}
