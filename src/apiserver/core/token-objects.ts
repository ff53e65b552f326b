/** The objects that tokens are about, as they are now. */

import type { KubeObject } from '../../kube/objects.ts'
import type { FindObject, PodSpec, TokenObject } from '../auth/tokens/find-object.ts'
import { Item } from '../objects/item.ts'
import type { Store } from '../storage/store.ts'
import type { ObjectCache } from './object-cache.ts'

/** No object has a longer name, so the store need not be asked for one. */
const maxNameCharacters = 253

/**
 * Looks into memory first. What is not there may have been written by another API server a moment ago, and its token be
 * used here already: then the store itself decides.
 */
export function objectLookup(cache: ObjectCache, store: Pick<Store, 'get'>): FindObject {
  const parsed = new WeakMap<Item, TokenObject>()
  const objectOf = (item: Item): TokenObject => {
    const known = parsed.get(item)
    if (known !== undefined) return known
    const object = relevantPart(item.object())
    parsed.set(item, object)
    return object
  }
  return async (resource, namespace, name) => {
    if (name.length > maxNameCharacters || name.includes('\0')) return undefined
    const prefix = `core/${resource}/`
    const key = resource === 'nodes' ? `${prefix}${name}` : `${prefix}${namespace}/${name}`
    const item = cache.collection(prefix).get(key)
    if (item !== undefined) return objectOf(item)
    const { entry } = await store.get(key)
    return entry === undefined ? undefined : relevantPart(Item.fromEntry(entry).object())
  }
}

/** Every request asks for these objects: they are parsed once, and only what tokens are checked against is kept. */
function relevantPart({ metadata = {}, spec, data }: KubeObject): TokenObject {
  const { name, namespace, uid, deletionTimestamp, labels } = metadata
  const { serviceAccountName, nodeName } = (spec ?? {}) as PodSpec
  const { token } = (data ?? {}) as { readonly token?: string }
  return {
    metadata: { name, namespace, uid, deletionTimestamp, labels },
    spec: { serviceAccountName, nodeName },
    data: { token },
  }
}
