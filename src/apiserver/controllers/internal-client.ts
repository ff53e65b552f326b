/**
 * How the server's own controllers read and write objects: from the collections, and the same way as requests,
 * so that defaults, checks and admission hold for them too.
 */
import type { KubeObject, ObjectMeta } from '../../kube/objects.ts'
import { isAlreadyExists, isConflict, isNotFound } from '../../kube/status/predicates.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Turns } from '../../runtime/turns.ts'
import type { ObjectCache } from '../core/object-cache.ts'
import { createObject } from '../core/write/create.ts'
import { type DeleteOptions, deleteObject } from '../core/write/delete.ts'
import { updateObject } from '../core/write/update.ts'
import type { WriteRequest } from '../core/write/write-request.ts'
import type { Writer } from '../core/write/writer.ts'
import type { Item } from '../objects/item.ts'
import { collectionPrefix, keyOf, type Resource } from '../objects/resource.ts'
import { MASTERS_GROUP, type UserInfo } from '../request/user.ts'

const INTERNAL_USER: UserInfo = { name: 'system:apiserver', uid: '', groups: [MASTERS_GROUP], extra: {} }

export interface Place {
  readonly resource: Resource
  /** Empty for what lives outside of namespaces. */
  readonly namespace: string
  readonly name: string
}

/** Returns the wanted state, made from the present one; undefined when it is fine as it is. */
export type Change = (present: KubeObject) => KubeObject | undefined | Promise<KubeObject | undefined>

/** What is known of a change beforehand. */
export interface ChangeFacts {
  /** About how large it makes the object, where that may be much. */
  readonly bytes?: number
  /** Whether it leaves nothing to be filled in by defaults. */
  readonly isComplete?: boolean
}

export class InternalClient {
  readonly #writer: Writer
  readonly #cache: ObjectCache

  constructor(writer: Writer, cache: ObjectCache) {
    this.#writer = writer
    this.#cache = cache
  }

  get cache(): ObjectCache {
    return this.#cache
  }

  get clock(): Clock {
    return this.#writer.parts.clock
  }

  get nowMs(): number {
    return this.#writer.parts.clock.nowMs()
  }

  /** Now, as objects write it. */
  timestamp(): string {
    return this.#writer.timestamp()
  }

  get({ resource, namespace, name }: Place): KubeObject | undefined {
    return this.#cache
      .collection(resource.keyPrefix)
      .get(keyOf(resource, namespace, name))
      ?.object()
  }

  list(resource: Resource, namespace = ''): KubeObject[] {
    return this.items(resource, namespace).map((item) => item.object())
  }

  /** The objects of a collection unread: whoever needs little of many, or has time, reads them by himself. */
  items(resource: Resource, namespace = ''): Item[] {
    return this.#cache.collection(resource.keyPrefix).list(collectionPrefix(resource, namespace))
  }

  /** False when somebody else made it first: whoever looks at it next sees theirs. */
  async create(resource: Resource, object: KubeObject, signal: AbortSignal): Promise<boolean> {
    const { namespace = '', name = '' } = object.metadata ?? {}
    try {
      await createObject(
        this.#writer,
        structuredClone(object),
        this.#request({ resource, namespace, name }, '', signal),
      )
      return true
    } catch (error) {
      if (isAlreadyExists(error)) return false
      throw error
    }
  }

  /** Changes what is there, if it is there and needs it. Writers in between are taken into account. */
  async update(
    place: Place,
    signal: AbortSignal,
    change: Change,
    subresource = '',
    { bytes = 0, isComplete = false }: ChangeFacts = {},
  ): Promise<void> {
    const turns = new Turns(this.clock)
    const present = this.get(place)
    if (present === undefined || (await change(present)) === undefined) return
    if (turns.isOver) await turns.next()
    const request = { ...this.#request(place, subresource, signal), bodyBytes: bytes, hasDefaults: isComplete }
    try {
      await updateObject(this.#writer, request, async (current) =>
        withoutVersion((await change(current.object())) ?? current.object()),
      )
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }

  /** Creates it, or brings what is there in order. */
  async ensure(resource: Resource, wanted: KubeObject, signal: AbortSignal, change: Change): Promise<void> {
    const { namespace = '', name = '' } = wanted.metadata ?? {}
    const place = { resource, namespace, name }
    if (this.get(place) === undefined && (await this.create(resource, wanted, signal))) return
    await this.update(place, signal, change)
  }

  /** Nothing happens to an object that has gone, or that took the place of the one that was meant. */
  async delete(place: Place, signal: AbortSignal, options: DeleteOptions = {}): Promise<void> {
    try {
      await deleteObject(this.#writer, this.#request(place, '', signal), options)
    } catch (error) {
      const wasReplaced = isConflict(error) && options.preconditions !== undefined
      if (!isNotFound(error) && !wasReplaced) throw error
    }
  }

  #request({ resource, namespace, name }: Place, subresource: string, stopped: AbortSignal): WriteRequest {
    const user = INTERNAL_USER
    // One of its own for each write: many run side by side, and one signal with as many listeners looks like a leak.
    const signal = AbortSignal.any([stopped])
    const own = { dryRun: false, warnings: new Set<string>(), bodyBytes: 0, hasDefaults: false }
    return { resource, subresource, namespace, name, user, signal, ...own }
  }
}

/** Without a version the update is tried again by itself when somebody else was faster. */
function withoutVersion(object: KubeObject): KubeObject {
  const { resourceVersion: _version, ...metadata }: ObjectMeta = object.metadata ?? {}
  return { ...object, metadata }
}
