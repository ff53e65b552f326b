/** Stored items in the version that a resource serves. Each is converted once, however many clients read and watch it. */
import { printJson } from '../../../kube/codec/json.ts'
import { Item } from '../item.ts'
import type { Resource } from '../resource.ts'
import { fromStored } from './conversion.ts'

type Versions = Pick<Resource, 'apiVersion' | 'storedApiVersion'>

const converted = new WeakMap<Item, Map<string, Item>>()

/** The item in the served version, converted here and now unless somebody has done it before. */
export function servedItem(item: Item, versions: Versions): Item {
  const known = knownItem(item, versions)
  if (known !== undefined) return known
  const { apiVersion } = versions
  return keepServed(item, apiVersion, Buffer.from(printJson(fromStored(item.object(), apiVersion))))
}

/** undefined where it has to be converted first. */
export function knownItem(item: Item, { apiVersion, storedApiVersion }: Versions): Item | undefined {
  return apiVersion === storedApiVersion ? item : converted.get(item)?.get(apiVersion)
}

/** What the item is in this version, whoever has converted it. */
export function keepServed(item: Item, apiVersion: string, json: Buffer): Item {
  const known = converted.get(item) ?? new Map<string, Item>()
  converted.set(item, known)
  const served = new Item(item.key, item.revision, json)
  known.set(apiVersion, served)
  return served
}
