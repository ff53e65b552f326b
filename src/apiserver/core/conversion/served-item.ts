/** Stored items in the version that a resource serves. Each is converted once, however many clients read and watch it. */
import { printJson } from '../../../kube/codec/index.ts'
import { Item } from '../item.ts'
import type { Resource } from '../resource.ts'
import { fromStored } from './conversion.ts'

const converted = new WeakMap<Item, Map<string, Item>>()

export function servedItem(item: Item, { apiVersion, storedApiVersion }: Resource): Item {
  if (apiVersion === storedApiVersion) return item
  const known = converted.get(item) ?? new Map<string, Item>()
  converted.set(item, known)
  let served = known.get(apiVersion)
  if (served === undefined) {
    served = new Item(item.key, item.revision, Buffer.from(printJson(fromStored(item.object(), apiVersion))))
    known.set(apiVersion, served)
  }
  return served
}
