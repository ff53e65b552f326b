/**
 * What every controller is: collections to follow, which keys a changed object concerns, and how one key is brought in
 * order. All objects are looked at on start, so nothing that happened before is missed.
 */
import type { Clock } from '../../runtime/clock.ts'
import { componentLogger, type Logger } from '../../telemetry/logger.ts'
import type { ObjectCache } from '../core/object-cache.ts'
import type { Item } from '../objects/item.ts'
import type { Resource } from '../objects/resource.ts'
import { type KeyHandler, WorkQueue } from './work-queue.ts'

export interface Source {
  /** A resource, or records that the cache follows like one. */
  readonly resource: Pick<Resource, 'keyPrefix'>
  /** The keys to look at when this object is there, changes or goes. */
  readonly keysOf: (item: Item) => readonly string[]
}

export interface Controller {
  readonly name: string
  readonly sources: readonly Source[]
  /** Keys to look at on start although no object calls for them. */
  readonly firstKeys?: readonly string[]
  readonly reconcile: KeyHandler
}

export interface RunningController {
  stop(): Promise<void>
}

export interface ControllerSurroundings {
  /** Already loaded. */
  readonly cache: ObjectCache
  readonly clock: Clock
  readonly logger: Logger
}

export function runController(controller: Controller, surroundings: ControllerSurroundings): RunningController {
  const { cache, clock, logger } = surroundings
  const queue = new WorkQueue({
    clock,
    logger: componentLogger(logger, `controllers/${controller.name}`),
    handle: controller.reconcile,
  })
  const leave = controller.sources.map(({ resource, keysOf }) => {
    const collection = cache.collection(resource.keyPrefix)
    const addKeys = (item: Item | undefined): void => {
      if (item !== undefined) for (const key of keysOf(item)) queue.add(key)
    }
    for (const item of collection.list(resource.keyPrefix)) addKeys(item)
    return collection.listen({
      changed({ before, after }) {
        addKeys(before)
        addKeys(after)
      },
    })
  })
  for (const key of controller.firstKeys ?? []) queue.add(key)
  return {
    async stop() {
      for (const unlisten of leave) unlisten()
      await queue.stop()
    },
  }
}

/** The namespace and name of a namespaced item: its key ends in `/namespace/name`. */
export function placeOf(item: Item): { readonly namespace: string; readonly name: string } {
  const [name = '', namespace = ''] = item.key.split('/').toReversed()
  return { namespace, name }
}

/** The last part of the key: the name. */
export function nameOfItem(item: Item): string {
  return item.key.slice(item.key.lastIndexOf('/') + 1)
}
